// The test command: style, types and dead code first, then every test. `npm test -- FILE…` runs only those test files.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { hasPostgres, startServer } from './support/postgres.ts'
import { hasRedis, sharedRedis } from './support/redis.ts'
import { type Running, runFiles } from './support/run-files.ts'

const only = process.argv.slice(2)
const bin = (name: string) => `node_modules/.bin/${name}`

// Begun before all others, as each takes half a minute and more: none of them is left running alone at the end.
const LONG = [
  'chaos/kill-nine',
  'linear',
  'e2e/upstream/one-store/large-answers',
  'browser/every-dialog',
  'chaos/nodes',
  'chaos/node-stopped',
  'browser/every-page',
  'browser/conflicts',
  'browser/operator-day',
  'e2e/cli/one-store/migrate',
  'e2e/edge/one-store/slow',
  'e2e/streams/one-store/stalled',
  'e2e/nodes/one-store/key-changes',
  'e2e/nodes/one-store/redis-unavailable',
  'e2e/nodes/one-store/workers',
  'e2e/admin/catalog-guarded',
  'e2e/admin/catalog-credentials',
  'e2e/start/one-store/refused',
  'e2e/nodes/one-store/database-unavailable',
  'contract/store/hours',
  'contract/wires/recorded',
  'unit/support-witnesses',
]

// On a busy machine a test that waits for several processes may wait too long. Whatever fails beside others is named and has
// to pass alone, if it is not much; what is really broken fails there too.
const AGAIN_MAX = 5

// More than half of an e2e test is waiting, for a time to pass or for somebody to answer: five of them keep two cores busy.
// Those of chaos have several processes each: more of them at once would be measuring each other.
const WAITING = 5
const BUSY = 3

if (only.length > 0) {
  if ((await runFiles(only, { atOnce: BUSY })).length > 0) process.exit(1)
} else {
  const checks = await Promise.all([
    step('style', bin('biome'), ['check', '--error-on-warnings', '.']),
    step('types', bin('tsc'), []),
    step('types of the dashboard', bin('tsc'), ['-p', 'web']),
    step('dead code', bin('knip'), []),
    step('schemas of answers', process.execPath, ['test/support/schemas.ts']),
  ])
  if (checks.includes(false)) process.exit(1)
  const servers = await sharedServers()
  // Compiled once for all files. Not where coverage is taken: it is less exact for code that comes from a cache.
  const env = { ...process.env, ...servers, NODE_COMPILE_CACHE: resolve('node_modules/.cache/turnpike-tests') }
  // Coverage slows everything in a process down, so it is taken where the code runs in the test's own process. The life
  // of a request is tested against the real process, without it.
  Object.assign(process.env, servers)
  await tests('unit and contract tests, with coverage', found('{unit,contract}/**/*'), { atOnce: BUSY, coverage: true })
  await tests('e2e and client tests', found('{e2e/**/*,clients/*,*}'), { atOnce: WAITING, env })
  await tests('chaos and browser tests', found('{chaos,browser}/*'), { atOnce: BUSY, env })
  // Families hold what is true on either store. What concerns one store, brings servers of its own or ends before a store has its
  // say is in their folders `one-store`, and run once.
  const again = found('e2e/*/*')
  const shared = { ...env, TEST_STORE: 'shared' }
  if (servers !== undefined) await tests('e2e tests on Postgres and Redis', again, { atOnce: WAITING, env: shared })
}

function found(pattern: string): readonly string[] {
  const files = globSync(`test/${pattern}.test.ts`).sort()
  const long = LONG.map(name => `test/${name}.test.ts`).filter(file => files.includes(file))
  return [...long, ...files.filter(file => !long.includes(file))]
}

// One of each for all tests, which work in schemas and under keys of their own.
async function sharedServers(): Promise<Readonly<Record<string, string>> | undefined> {
  if (!hasPostgres() || !hasRedis()) return undefined
  return { DATABASE_URL: process.env.DATABASE_URL ?? (await startServer()).url, REDIS_URL: await sharedRedis() }
}

async function tests(what: string, files: readonly string[], running: Running): Promise<void> {
  const started = performance.now()
  const failed = await runFiles(files, running)
  report(what, started, failed.length === 0)
  if (failed.length === 0) return
  if (failed.length > AGAIN_MAX) process.exit(1)
  process.stderr.write(`\nFAILED BESIDE OTHERS, once more alone:\n${failed.join('\n')}\n\n`)
  const startedAgain = performance.now()
  const isMended = (await runFiles(failed, { ...running, atOnce: 1, coverage: false })).length === 0
  report(`${what}, once more alone`, startedAgain, isMended)
  if (!isMended) process.exit(1)
}

async function step(what: string, command: string, args: readonly string[]): Promise<boolean> {
  const started = performance.now()
  const [status] = await once(spawn(command, args, { stdio: 'inherit' }), 'exit')
  report(what, started, status === 0)
  return status === 0
}

function report(what: string, started: number, isGood: boolean): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  if (isGood) process.stdout.write(`${what}: ok, ${seconds} s\n`)
  else process.stderr.write(`\n${what}: failed after ${seconds} s\n`)
}
