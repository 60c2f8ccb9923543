// Coding agents and libraries that people use, each in a pinned version, installed once into node_modules/.cache: they are too
// large to be dependencies.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/turnpike-agents')
const INSTALL_MS_MAX = 600_000
const RUN_MS_MAX = 180_000

// The executable, or a message about why it could not be installed; if CI is set it throws, so that nothing is skipped.
export function installedAgent(pack: string, version: string, command: string): { readonly path: string } | string {
  const modules = installedModules(pack, version)
  return typeof modules === 'string' ? modules : { path: join(modules.path, '.bin', command) }
}

// The folder node_modules of a package that is no dependency, likewise.
export function installedModules(pack: string, version: string): { readonly path: string } | string {
  const folder = join(CACHE, `${pack.replaceAll('/', '+')}@${version}`)
  const path = join(folder, 'node_modules')
  if (existsSync(path)) return { path }
  // Installed beside its place and moved there: an interrupted installation is not taken for a complete one.
  const beside = `${folder}.${process.pid}`
  mkdirSync(beside, { recursive: true })
  const args = ['install', '--prefix', beside, '--no-audit', '--no-fund', `${pack}@${version}`]
  const { status, stderr } = spawnSync('npm', args, { encoding: 'utf8', timeout: INSTALL_MS_MAX })
  if (status === 0 && !existsSync(folder)) renameSync(beside, folder)
  rmSync(beside, { recursive: true, force: true })
  if (existsSync(path)) return { path }
  const problem = `${pack}@${version} cannot be installed: ${stderr.trim().split('\n').at(-1)}`
  if (process.env.CI !== undefined) throw new Error(problem)
  return problem
}

export type AgentRun = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

// In a folder and with a home of its own, and none of this machine's settings or credentials.
export async function runAgent(
  path: string,
  args: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<AgentRun> {
  const child = spawn(path, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, XDG_CONFIG_HOME: join(folder, '.config'), NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: RUN_MS_MAX,
  })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as number | null, stdout, stderr }
}
