// Starts, calls and stops the benchmark's processes, each pinned to a core; those still running when the benchmark ends are
// stopped, by their own ids.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export type Core = 'contestant' | 'others' | 'both'
export type Env = Readonly<Record<string, string>>

const CORES = { contestant: '0', others: '1', both: '0,1' } as const
const STOP_MS_MAX = 30_000
const LOG_TAIL_BYTES = 2_000

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGTERM')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

// A pinned process whose output goes to a log file. taskset becomes the command, so the id is the command's own. One of our own
// processes, which has a message channel.
export function startPinned(core: Core, command: readonly string[], log: string, env: Env = {}): ChildProcess {
  return spawnPinned(core, command, log, env, ['ipc'])
}

// As a person starts it.
export function startPlain(core: Core, command: readonly string[], log: string, env: Env): ChildProcess {
  return spawnPinned(core, command, log, env, [])
}

function spawnPinned(core: Core, command: readonly string[], log: string, env: Env, more: 'ipc'[]): ChildProcess {
  const out = openSync(log, 'a')
  const child = spawn('taskset', ['-c', CORES[core], ...command], {
    stdio: ['ignore', out, out, ...more],
    env: { ...plainEnv(), ...env },
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

// For a server that somebody else started; its later children stay on the core too. One that has ended needs no core.
export function pin(core: Core, pid: number): void {
  try {
    execFileSync('taskset', ['-a', '-c', '-p', CORES[core], String(pid)], { stdio: 'ignore' })
  } catch (error) {
    if (existsSync(`/proc/${pid}`)) throw error
  }
}

// Keeps both cores from halting, by a loop that yields to anything else. Waking a halted core of a virtual machine takes so long
// that an upstream's frames pile up before they are read: the cost of a stream then varies threefold from run to run with how
// often the core halted, most of all for nginx.
export function keepCoresAwake(log: string): readonly ChildProcess[] {
  const loop = 'const parent = process.ppid; while (process.ppid === parent) for (let i = 0; i < 1e6; i++);'
  const command = ['chrt', '--idle', '0', process.execPath, '-e', loop]
  return [startPinned('contestant', command, log), startPinned('others', command, log)]
}

// None of the person's own settings may reach what is measured, nor npm's additions to the path.
export function plainEnv(): Env {
  const folders = (process.env.PATH ?? '').split(':').filter(folder => !/node_modules|node-gyp-bin/.test(folder))
  return { PATH: folders.join(':'), HOME: process.env.HOME ?? '/', LANG: 'C.UTF-8' }
}

// The next message of a child, after sending it something.
export async function ask<Answer>(child: ChildProcess, question?: object): Promise<Answer> {
  const gone = new AbortController()
  const onExit = () => gone.abort(new Error(`a benchmark process ended unexpectedly: ${child.spawnargs.join(' ')}`))
  child.once('exit', onExit)
  try {
    const message = once(child, 'message', { signal: gone.signal })
    if (question !== undefined) child.send(question)
    return (await message)[0] as Answer
  } catch (error) {
    throw gone.signal.aborted ? gone.signal.reason : error
  } finally {
    child.off('exit', onExit)
  }
}

// Signals once, and again a little later for those that drain slowly; never leaves a process running.
export async function stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill(signal)
  const hurry = setTimeout(() => child.kill(signal), 500)
  const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
  await ended
  clearTimeout(hurry)
  clearTimeout(kill)
  if (child.signalCode === 'SIGKILL') throw new Error(`did not stop in ${STOP_MS_MAX} ms: ${child.spawnargs.join(' ')}`)
}

// Retries until it holds, while the child lives.
export async function until(holds: () => Promise<boolean>, child: ChildProcess, log: string): Promise<void> {
  const deadline = Date.now() + 15_000
  while (!(await holds())) {
    if (hasEnded(child) || Date.now() > deadline) {
      throw new Error(`did not start: ${child.spawnargs.join(' ')}\n${logTail(log)}`)
    }
    await sleep(20)
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

export function logTail(log: string): string {
  return readFileSync(log, 'utf8').slice(-LOG_TAIL_BYTES)
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
