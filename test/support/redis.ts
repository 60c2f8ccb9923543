// A Redis for this test process: the one of REDIS_URL, else our own from the installed binary (or Debian's package,
// where installing is allowed), on a free port, without persistence.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createClient } from '@redis/client'
import { freePort } from './free-port.ts'
import { installPackages } from './install.ts'
import { until } from './until.ts'

// Never missing if CI is set: there a missing server fails the tests.
export function hasRedis(): boolean {
  if (
    process.env.REDIS_URL ||
    binary() !== undefined ||
    (installPackages('redis-server') && binary() !== undefined) ||
    process.env.CI
  )
    return true
  process.stderr.write('\nRedis is not installed and REDIS_URL is not set: NOTHING IS TESTED ON REDIS\n\n')
  return false
}

export type RedisServer = AsyncDisposable & {
  readonly url: string
  readonly port: number
  // Like redis-cli.
  command(...args: string[]): Promise<unknown>
  // Hangs: connections stay open, and nothing answers.
  freeze(): void
  thaw(): void
  kill(): Promise<void>
  // On the same port, empty.
  start(): Promise<void>
}

let shared: Promise<string> | undefined

// For tests that only use it; their keys have their own names.
export function sharedRedis(): Promise<string> {
  shared ??= process.env.REDIS_URL ? Promise.resolve(process.env.REDIS_URL) : startRedis().then(({ url }) => url)
  return shared
}

// Our own even if REDIS_URL names another, for tests that stop it.
export async function startRedis({ password }: { readonly password?: string } = {}): Promise<RedisServer> {
  const port = await freePort()
  const url = `redis://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`
  const launched = async () => {
    const pid = await launch(port, password)
    await until('Redis answers', () => answers(url))
    return pid
  }
  let pid: number | undefined = await launched()
  const signal = (name: NodeJS.Signals) => void (pid !== undefined && process.kill(pid, name))
  async function kill(): Promise<void> {
    signal('SIGKILL')
    pid = undefined
    await until('Redis has ended', async () => !(await answers(url)))
  }

  return {
    url,
    port,
    command: (...args) => command(url, args),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    kill,
    async start() {
      pid = await launched()
    },
    [Symbol.asyncDispose]: kill,
  }
}

// The server ends with the process that holds the other end of this pipe, also if that one is killed.
const ON_A_LEASH = '"$@" >/dev/null & echo $!; read -r end; kill -KILL $! 2>/dev/null'

async function launch(port: number, password: string | undefined): Promise<number> {
  const path = binary()
  if (path === undefined) throw new Error('redis-server is not installed, and REDIS_URL is not set')
  const inMemory = ['--save', '', '--appendonly', 'no', '--dir', tmpdir(), '--bind', '127.0.0.1']
  const command = [path, '--port', String(port), ...inMemory, ...(password ? ['--requirepass', password] : [])]
  const catalogService = spawn('sh', ['-c', ON_A_LEASH, 'sh', ...command], { stdio: ['pipe', 'pipe', 'ignore'] })
  const [line] = (await once(catalogService.stdout, 'data')) as [Buffer]
  catalogService.unref()
  for (const end of [catalogService.stdin, catalogService.stdout])
    if ('unref' in end && typeof end.unref === 'function') end.unref()
  return Number(line.toString())
}

async function command(url: string, args: readonly string[]): Promise<unknown> {
  const client = createClient({ url, socket: { reconnectStrategy: false } })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await client.sendCommand([...args])
  } finally {
    client.destroy()
  }
}

function answers(url: string): Promise<boolean> {
  return command(url, ['PING']).then(
    () => true,
    () => false,
  )
}

function binary(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const names = ['redis-server', 'valkey-server']
  return folders.flatMap(folder => names.map(name => join(folder, name))).find(path => existsSync(path))
}
