// Starts the gateway's executable, waits until it is ready, and collects its output.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { httpCall } from './http-call.ts'

export type ServerProcess = {
  readonly pid: number
  readonly exited: Promise<number | null>
  signal(name: NodeJS.Signals): void
}

type Environment = Readonly<Record<string, string | undefined>>

export type ServerStart = {
  // Where the gateway is installed; this tree by default.
  readonly installed?: string | undefined
  readonly descriptorsMax?: number | undefined
  readonly cwd: string
  readonly env: Environment
  readonly nodeArgs: readonly string[]
  // Undefined: do not wait.
  readonly readyUrl: string | undefined
  readonly readyTimeoutMs: number
  readonly lines: string[]
}

// An aborted test run must not leave gateways running.
const alive = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

const ROOT = join(import.meta.dirname, '../..')

// Polling takes time from the process that is starting.
const READY_POLL_MS = 50

export async function startProcess(start: ServerStart): Promise<ServerProcess> {
  // Otherwise another process on the port would look like a ready gateway.
  if (start.readyUrl !== undefined && (await answers(start.readyUrl))) throw new Error(`taken: ${start.readyUrl}`)
  const child = launch(['serve'], start.cwd, start.env, start.nodeArgs, start)
  const from = start.lines.length
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on('line', line => start.lines.push(line))
  }
  let running = true
  alive.add(child)
  const exited = once(child, 'close').then(([code]) => {
    running = false
    alive.delete(child)
    return code as number | null
  })
  const signal = (name: NodeJS.Signals) => void (running && child.kill(name))
  const said = () => start.lines.slice(from).slice(-40).join('\n')

  if (start.readyUrl !== undefined) {
    const deadline = Date.now() + start.readyTimeoutMs
    while (!(await isReady(start.readyUrl))) {
      if (!running) throw new Error(`the gateway ended with ${await exited} before it was ready:\n${said()}`)
      if (Date.now() > deadline) {
        signal('SIGKILL')
        throw new Error(`the gateway was not ready after ${start.readyTimeoutMs} ms:\n${said()}`)
      }
      await setTimeout(READY_POLL_MS)
    }
  }
  return { pid: child.pid ?? -1, exited, signal }
}

export type ProcessResult = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

// Runs a command to its end, with `stdin` as its input; one that does not end is killed and has no code.
export async function runProcess(
  args: readonly string[],
  cwd: string,
  env: Environment,
  stdin?: string,
): Promise<ProcessResult> {
  const child = launch(args, cwd, env, [], { stdin: stdin === undefined ? 'ignore' : 'pipe' })
  const killer = globalThis.setTimeout(() => child.kill('SIGKILL'), 60_000)
  // A command that does not read its input may have ended before it is written.
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(stdin)
  const [stdout, stderr, [code]] = await Promise.all([
    child.stdout === null ? '' : text(child.stdout),
    child.stderr === null ? '' : text(child.stderr),
    once(child, 'close'),
  ])
  clearTimeout(killer)
  return { code: code as number | null, stdout, stderr }
}

// Only the necessary part of our own environment: a developer's OPENAI_API_KEY or DATABASE_URL must not leak in.
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ', 'NODE_V8_COVERAGE', 'TURNPIKE_FAST_PATH']
export function inheritedEnv(): Environment {
  return Object.fromEntries(INHERITED.map(name => [name, process.env[name]]))
}
// As a gateway would choose them, so that its process need not re-execute itself.
const CHOSEN_ENV = {
  MALLOC_ARENA_MAX: '2',
  GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1',
  NODE_OPTIONS: '--max-semi-space-size=12',
  // The tests' own Postgres is fast and not durable.
  TURNPIKE_ALLOW_UNSAFE_DATABASE: '1',
}

type Launch = {
  readonly installed?: string | undefined
  readonly stdin?: 'ignore' | 'pipe'
  readonly descriptorsMax?: number | undefined
}

function launch(
  args: readonly string[],
  cwd: string,
  env: Environment,
  nodeArgs: readonly string[],
  { installed = ROOT, stdin = 'ignore', descriptorsMax }: Launch,
): ChildProcess {
  const entry = join(installed, 'bin/turnpike.js')
  if (!existsSync(entry)) throw new Error(`no gateway to start: ${entry} is missing`)
  const command = [process.execPath, ...nodeArgs, entry, ...args]
  const limited = descriptorsMax === undefined ? [] : ['sh', '-c', `ulimit -n ${descriptorsMax}; exec "$@"`, 'sh']
  const [file, ...rest] = [...limited, ...command] as [string, ...string[]]
  return spawn(file, rest, {
    cwd,
    env: { ...inheritedEnv(), ...CHOSEN_ENV, ...env },
    stdio: [stdin, 'pipe', 'pipe'],
  })
}

async function isReady(url: string): Promise<boolean> {
  return (await statusOf(url)) === 200
}

async function answers(url: string): Promise<boolean> {
  return (await statusOf(url)) !== undefined
}

async function statusOf(url: string): Promise<number | undefined> {
  try {
    return (await httpCall(url, { timeoutMs: 1000 })).status
  } catch {
    return undefined
  }
}
