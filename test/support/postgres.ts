// A Postgres for this test process: the one of DATABASE_URL, else our own from the installed binaries (or Debian's
// package, where installing is allowed), started when the first test needs it. Each test works in its own schema.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { installPackages } from './install.ts'
import { until } from './until.ts'

// `dump` returns the contents of all tables as one text.
export type Schema = AsyncDisposable & { readonly url: string; dump(): Promise<string> }

// Never missing if CI is set: there a missing server fails the tests.
export function hasPostgres(): boolean {
  if (
    process.env.DATABASE_URL ||
    binary('initdb') !== undefined ||
    (installPackages('postgresql') && binary('initdb') !== undefined) ||
    process.env.CI
  )
    return true
  process.stderr.write('\nPostgres is not installed and DATABASE_URL is not set: NOTHING IS TESTED ON POSTGRES\n\n')
  return false
}

let server: Promise<string> | undefined

export async function freshSchema(): Promise<Schema> {
  server ??= process.env.DATABASE_URL ? Promise.resolve(process.env.DATABASE_URL) : startServer().then(({ url }) => url)
  const base = await server
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await run(base, `CREATE SCHEMA ${name}`)
  const url = new URL(base)
  url.searchParams.set('options', `-c search_path=${name}`)
  return {
    url: url.href,
    dump: () => dump(url.href, name),
    async [Symbol.asyncDispose]() {
      await run(base, `DROP SCHEMA ${name} CASCADE`)
    },
  }
}

async function dump(url: string, schema: string): Promise<string> {
  const tables = await run(url, `SELECT tablename AS line FROM pg_tables WHERE schemaname = '${schema}'`)
  const rows = await Promise.all(tables.map(table => run(url, `SELECT t::text AS line FROM ${table} t`)))
  return rows.flat().join('\n')
}

async function run(url: string, text: string): Promise<readonly string[]> {
  // Loaded only where a test uses Postgres.
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url })
  // A stopping server may send a notice between two queries, which nothing else would handle.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<{ line: string }>(text)).rows.map(({ line }) => line)
  } finally {
    await client.end()
  }
}

// Reached by a socket in its own folder, so that no port can be taken. It is not durable, because no test that uses it
// cuts the power.
const SETTINGS = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=200', 'jit=off']
const AS_UTF8 = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C', '--no-sync']

export type PostgresServer = {
  readonly url: string
  stop(): Promise<void>
  start(): Promise<void>
  // All of its processes stop until it is resumed: connections stay open, and nothing is answered.
  pause(): void
  goOn(): void
  // For existing connections as well.
  setReadOnly(isReadOnly: boolean): Promise<void>
}

// Our own even if DATABASE_URL names another, for tests that stop it, and with other settings for measurements.
export async function startServer(own: readonly string[] = SETTINGS): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-postgres-'))
  const user = postgresUser()
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  execFileSync(required('initdb'), [...AS_UTF8, '-D', data], { ...user, stdio: 'ignore' })
  const settings = own.flatMap(setting => ['-c', setting])
  const command = [required('postgres'), '-D', data, '-k', folder, '-h', '', ...settings]
  const catalogService = spawn('sh', ['-c', ON_A_LEASH, folder, ...command], {
    ...user,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  leash(catalogService)
  const url = `postgres://postgres@localhost/postgres?host=${encodeURIComponent(folder)}`
  const answers = () =>
    run(url, 'SELECT 1').then(
      () => true,
      () => false,
    )
  await until('Postgres answers', answers)
  return {
    url,
    async stop() {
      catalogService.stdin?.write('stop\n')
      await until('Postgres has stopped', async () => !(await answers()) && !existsSync(join(data, 'postmaster.pid')))
    },
    async start() {
      catalogService.stdin?.write('start\n')
      await until('Postgres answers', answers)
    },
    pause: () => signalAll(data, 'SIGSTOP'),
    goOn: () => signalAll(data, 'SIGCONT'),
    async setReadOnly(isReadOnly) {
      await run(url, `ALTER SYSTEM SET default_transaction_read_only = ${isReadOnly}`)
      await run(url, 'SELECT pg_reload_conf()')
    },
  }
}

function signalAll(data: string, signal: NodeJS.Signals): void {
  const first = Number.parseInt(readFileSync(join(data, 'postmaster.pid'), 'utf8'), 10)
  const children = readFileSync(`/proc/${first}/task/${first}/children`, 'latin1')
  for (const pid of [first, ...children.split(' ').filter(Boolean).map(Number)]) process.kill(pid, signal)
}

// The server ends with the process that holds the other end of this pipe, also if that one is killed.
const ON_A_LEASH = `"$@" & server=$!
  while read -r word; do
    if [ "$word" = stop ]; then kill -INT $server; wait $server; else "$@" & server=$!; fi
  done
  kill -QUIT $server; wait $server; rm -rf "$0"`

function leash(child: ChildProcess): void {
  child.unref()
  const { stdin } = child
  if (stdin !== null && 'unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
}

// Postgres refuses to run as root.
function postgresUser(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

function required(name: string): string {
  const path = binary(name)
  if (path === undefined) throw new Error(`${name} of Postgres is not installed, and DATABASE_URL is not set`)
  return path
}

// Debian keeps them out of the path, one folder per version.
function binary(name: string): string | undefined {
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...globSync('/usr/lib/postgresql/*/bin').sort().reverse(),
  ]
  return folders.map(folder => join(folder, name)).find(path => existsSync(path))
}
