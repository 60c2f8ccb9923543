// The test command: style, types and dead code first, then every test. `npm test -- FILE…` runs only those test files.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { hasPostgres, startServer } from './kit/postgres.ts'
import { hasRedis, sharedRedis } from './kit/redis.ts'
import { type Running, runFiles } from './kit/run-files.ts'

const only = process.argv.slice(2)
const bin = (name: string) => `node_modules/.bin/${name}`

// Begun before all others, as each takes half a minute and more: none of them is left running alone at the end.
const LONG = [
  'chaos/kill-nine',
  'linear',
  'life/answers-large',
  'browser/every-dialog',
  'chaos/nodes',
  'chaos/node-stopped',
  'browser/every-page',
  'browser/trouble',
  'browser/operator-day',
  'life/migrate',
  'life/edge-slow',
  'life/streams-stalled',
  'life/keys-many-nodes',
  'life/redis-away',
  'life/workers',
  'life/catalog-guarded',
  'life/catalog-credentials',
  'life/start-refused',
  'life/nodes-away',
  'contract/store-hours',
  'contract/wires-recorded',
  'unit/kit-witnesses',
]

// Not run a second time: what is about the embedded store itself (its folder and files, a start that finds nothing, one
// process alone), what brings servers of its own, what ends before a store or a limit has its say (bytes at the edge, fields of a
// body, a vendor's words) or concerns neither (a terminal, a build), and ways of upstreams and readers that differ on the wire
// alone: their rows are those of upstream-broke, upstream-failover and streams-leave, which are run again.
const ONCE = [
  'addresses-forged',
  'addresses-proxies',
  'admin-broken-calls',
  'admin-sessions',
  'answers-large',
  'backup',
  'behind-nginx',
  'build-dashboard',
  'chat-answer-json',
  'chat-answer-stream',
  'chat-bounds',
  'chat-forwarding',
  'chat-hostile-body',
  'chat-messages',
  'cli',
  'cli-terminal',
  'closed-pipe',
  'connections',
  'damaged-database',
  'documented-bounds',
  'drain-unsettled',
  'edge-browsers',
  'edge-discard',
  'edge-expect',
  'edge-guard',
  'edge-headers',
  'edge-malformed',
  'edge-pipeline',
  'edge-pipeline-flood',
  'edge-slow',
  'edge-survived',
  'edge-too-large',
  'estimate',
  'first-start',
  'first-start-detect',
  'keys-flood-cold',
  'keys-many-nodes',
  'migrate',
  'migrate-killed',
  'nodes-away',
  'nodes-key-change',
  'nodes-news',
  'nodes-start',
  'one-process',
  'package',
  'postgres',
  'postgres-unsafe',
  'postgres-unwell',
  'redis-away',
  'redis-limits',
  'refused-for-faults-of-ours',
  'remote-media',
  'routing-poison',
  'start-refused',
  'store-hangs',
  'streams-backpressure',
  'streams-canaries',
  'streams-silence',
  'streams-stalled',
  'streams-thinking',
  'terminal-closed',
  'upstream-connections',
  'upstream-endless',
  'upstream-errors',
  'upstream-framing',
  'upstream-nonsense',
  'upstream-quirks',
  'upstream-twice',
  'upstream-unreachable',
  'wires-broken',
  'wires-missing',
  'wires-unsayable',
  'wires-vertex-account',
  'workers',
  'workers-restart',
]

// On a busy machine a test that waits for several processes may wait too long. Whatever fails beside others is named and has
// to pass alone, if it is not much; what is really broken fails there too.
const AGAIN_MAX = 5

// More than half of a life test is waiting, for a time to pass or for somebody to answer: five of them keep two cores busy.
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
    step('schemas of answers', process.execPath, ['test/kit/schemas.ts']),
  ])
  if (checks.includes(false)) process.exit(1)
  const servers = await sharedServers()
  // Compiled once for all files. Not where coverage is taken: it is less exact for code that comes from a cache.
  const env = { ...process.env, ...servers, NODE_COMPILE_CACHE: resolve('node_modules/.cache/turnpike-tests') }
  // Coverage slows everything in a process down, so it is taken where the code runs in the test's own process. The life
  // of a request is tested against the real process, without it.
  Object.assign(process.env, servers)
  await tests('unit and contract tests, with coverage', found('{unit,contract}/*'), { atOnce: BUSY, coverage: true })
  await tests('life and client tests', found('{life/*,clients/*,*}'), { atOnce: WAITING, env })
  await tests('chaos and browser tests', found('{chaos,browser}/*'), { atOnce: BUSY, env })
  const again = found('life/*').filter(file => !ONCE.includes(basename(file, '.test.ts')))
  const shared = { ...env, TEST_STORE: 'shared' }
  if (servers !== undefined) await tests('life tests on Postgres and Redis', again, { atOnce: WAITING, env: shared })
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
