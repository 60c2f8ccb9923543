// A Python with the packages of a requirements file, created once and kept in node_modules/.cache. Debian's python3
// often comes without venv or pip: the available one is used, and as root or in CI a missing one is installed.
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages } from './install.ts'

export type Python = { readonly executable: string; readonly env: Readonly<Record<string, string>> }

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/turnpike-python')
const STEP_MS_MAX = 240_000

// Returns the Python, or a message about what is missing; if CI is set it throws, so that nothing is skipped.
export function pythonWith(requirements: string): Python | string {
  const folder = join(CACHE, hash('sha256', readFileSync(requirements)).slice(0, 16))
  const python = readyIn(folder) ?? alone(folder, () => readyIn(folder) ?? made(folder, requirements))
  if (typeof python === 'string' && process.env.CI !== undefined) throw new Error(python)
  return python
}

// One process at a time creates a folder; others that need it wait.
function alone<Result>(folder: string, work: () => Result): Result {
  const lock = `${folder}.lock`
  mkdirSync(CACHE, { recursive: true })
  while (!locked(lock)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250)
  try {
    return work()
  } finally {
    rmSync(lock, { force: true })
  }
}

function locked(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    removeStale(lock)
    return false
  }
}

// The lock of a process that was killed.
function removeStale(lock: string): void {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') rmSync(lock, { force: true })
  }
}

// The two places for packages: a virtual environment, or a folder next to the machine's Python.
function readyIn(folder: string): Python | undefined {
  const kind = join(folder, 'ready')
  if (!existsSync(kind)) return undefined
  const python = readFileSync(kind, 'utf8') === 'venv' ? venvIn(folder) : besideIn(folder)
  return succeeds(python.executable, ['--version']) ? python : undefined
}

function venvIn(folder: string): Python {
  return { executable: join(folder, 'venv/bin/python'), env: {} }
}

function besideIn(folder: string): Python {
  return { executable: 'python3', env: { PYTHONPATH: join(folder, 'packages') } }
}

function made(folder: string, requirements: string): Python | string {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const ways = [
    () => installIntoVenv(folder, requirements),
    () => installBeside(folder, requirements),
    () => installDebian() ?? installIntoVenv(folder, requirements),
  ]
  const problems: string[] = []
  for (const way of ways) {
    const problem = way()
    const python = readyIn(folder)
    if (python !== undefined) return python
    problems.push(problem ?? 'unknown')
  }
  return `Python with ${requirements} is missing (apt-get install python3-venv). Tried:\n${problems.join('\n')}`
}

function installIntoVenv(folder: string, requirements: string): string | undefined {
  const { executable } = venvIn(folder)
  return (
    attempt('python3', ['-m', 'venv', '--clear', join(folder, 'venv')]) ??
    attempt(executable, pipInstall(requirements)) ??
    markReady(folder, 'venv')
  )
}

function installBeside(folder: string, requirements: string): string | undefined {
  const target = ['--target', join(folder, 'packages')]
  return attempt('python3', [...pipInstall(requirements), ...target]) ?? markReady(folder, 'folder')
}

// Python compiles what it imports; compiling every file would take longer than the tests.
function pipInstall(requirements: string): string[] {
  const quiet = ['--quiet', '--disable-pip-version-check', '--no-input']
  return ['-m', 'pip', 'install', ...quiet, '--no-compile', '-r', requirements]
}

function markReady(folder: string, kind: 'venv' | 'folder'): undefined {
  writeFileSync(join(folder, 'ready'), kind)
}

function installDebian(): string | undefined {
  return installPackages('python3', 'python3-venv')
    ? undefined
    : '  apt-get: failed, or not tried (neither root nor CI)'
}

// The problem in one line, or undefined.
function attempt(command: string, args: readonly string[]): string | undefined {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const ran = spawnSync(command, args, { encoding: 'utf8', timeout: STEP_MS_MAX, env })
  if (ran.status === 0) return undefined
  const words = (ran.error?.message ?? `${ran.stderr}${ran.stdout}`).trim().split('\n').at(-1)
  return `  ${command} ${args.slice(0, 3).join(' ')}: ${words}`
}

function succeeds(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args).status === 0
}
