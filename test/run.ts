// The test command: style, types and dead code first, then every test. `npm test -- FILE…` runs only those test files.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { hasPostgres, startServer } from './kit/postgres.ts'
import { hasRedis, sharedRedis } from './kit/redis.ts'

type Env = Readonly<Record<string, string>>

const only = process.argv.slice(2)
const bin = (name: string) => `node_modules/.bin/${name}`

// Not run a second time: what is about the embedded store itself (its folder and files, a start that finds nothing, one
// process alone), and what brings servers of its own.
const ONCE = [
  'admin-sessions',
  'backup',
  'behind-nginx',
  'cli',
  'damaged-database',
  'first-start',
  'first-start-detect',
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
  'postgres-unwell',
  'redis-away',
  'redis-limits',
  'refused-for-faults-of-ours',
  'start-refused',
  'wires-missing',
  'workers',
  'workers-restart',
]

// On a busy machine a test that waits for several processes may wait too long. Whatever fails beside others is named and has
// to pass alone, if it is not much; what is really broken fails there too.
const AGAIN_MAX = 5

if (only.length > 0) {
  tests('tests', only, [])
} else {
  step('style', bin('biome'), ['check', '--error-on-warnings', '.'])
  step('types', bin('tsc'), [])
  step('types of the dashboard', bin('tsc'), ['-p', 'web'])
  step('dead code', bin('knip'), [])
  const servers = await sharedServers()
  // Coverage slows everything in a process down, so it is taken where the code runs in the test's own process. The life
  // of a request is tested against the real process, without it.
  const coverage = ['--experimental-test-coverage', '--test-coverage-include=src/**']
  tests('unit and contract tests, with coverage', globSync('test/{unit,contract}/*.test.ts').sort(), coverage, servers)
  const life = globSync('test/life/*.test.ts').sort()
  tests('life and client tests', [...life, ...globSync('test/{*,clients/*}.test.ts').sort()], [], servers)
  // These keep several processes each busy: three at once would be measuring each other.
  tests('chaos and browser tests', globSync('test/{chaos,browser}/*.test.ts').sort(), ['--test-concurrency=2'], servers)
  const shared = life.filter(file => !ONCE.includes(basename(file, '.test.ts')))
  if (servers !== undefined) tests('life tests on Postgres and Redis', shared, [], { ...servers, TEST_STORE: 'shared' })
}

// One of each for all tests, which work in schemas and under keys of their own.
async function sharedServers(): Promise<Env | undefined> {
  if (!hasPostgres() || !hasRedis()) return undefined
  return { DATABASE_URL: process.env.DATABASE_URL ?? (await startServer()).url, REDIS_URL: await sharedRedis() }
}

function tests(what: string, files: readonly string[], flags: readonly string[], env: Env = {}): void {
  const failed = join(mkdtempSync(join(tmpdir(), 'turnpike-tests-')), 'failed')
  const common = ['--test', '--test-concurrency=3', '--test-timeout=600000', ...flags]
  const spec = ['--test-reporter=spec', '--test-reporter-destination=stdout']
  const names = ['--test-reporter=./test/kit/failed-files.ts', `--test-reporter-destination=${failed}`]
  if (run(what, process.execPath, [...common, ...spec, ...names, ...files], env)) return
  const again = existsSync(failed) ? readFileSync(failed, 'utf8').split('\n').filter(Boolean) : []
  if (only.length > 0 || again.length === 0 || again.length > AGAIN_MAX) process.exit(1)
  process.stderr.write(`\nFAILED BESIDE OTHERS, once more alone:\n${again.join('\n')}\n\n`)
  step(`${what}, once more alone`, process.execPath, [...common, '--test-concurrency=1', ...again], env)
}

function step(what: string, command: string, args: readonly string[], env: Env = {}): void {
  if (!run(what, command, args, env)) process.exit(1)
}

function run(what: string, command: string, args: readonly string[], env: Env): boolean {
  const started = performance.now()
  const { status } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } })
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  if (status === 0) process.stdout.write(`${what}: ok, ${seconds} s\n`)
  else process.stderr.write(`\n${what}: failed after ${seconds} s\n`)
  return status === 0
}
