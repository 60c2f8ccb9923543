// The test command. Without arguments: style, types and dead code, then every test. `npm test -- keys routing` runs families or folders,
// `npm test -- FILE…` runs files, `npm run test:quick` runs the checks, the unit tests and one e2e file of each family.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { relative, resolve } from 'node:path'
import { preferShell } from './support/chromium.ts'
import { hasPostgres, startServer } from './support/postgres.ts'
import { hasRedis, sharedRedis } from './support/redis.ts'
import { type Job, type Result, runJobs } from './support/run-files.ts'

// Unit tests that compute for several seconds: not in a quick run.
const SLOW_UNIT = /\/unit\/(request-work|targets|tokens|prompt)\.test\.ts$/

// One of each family, for a quick answer.
const QUICK = [
  'admin/audit-log',
  'chat/one-store/answer-stream',
  'cli/one-store/closed-pipe',
  'edge/one-store/express-path',
  'keys/revoke',
  'limits/headers',
  'money/exact',
  'nodes/one-store/changes',
  'routing/failover',
  'start/drain',
  'streams/leave',
  'upstream/interrupted',
]

// Started before all others, because each takes half a minute or more: none of them is left running alone at the end.
const LONG = [
  'clients/agents',
  'chaos/kill-nine',
  'linear',
  'browser/every-dialog',
  'chaos/nodes',
  'browser/portal',
  'e2e/start/one-store/image',
  'e2e/start/one-store/drain-unsettled',
  'e2e/upstream/one-store/large-answers',
  'e2e/webhooks/one-store/flood',
  'browser/conflicts',
  'browser/every-page',
  'clients/snippets',
  'e2e/nodes/one-store/workers',
  'browser/operator-day',
  'e2e/cli/one-store/terminal',
  'e2e/cli/one-store/migrate',
  'chaos/node-stopped',
  'e2e/start/one-store/idle-memory',
  'e2e/webhooks/one-store/nodes',
  'e2e/edge/one-store/slow',
  'e2e/streams/one-store/stalled',
  'e2e/streams/one-store/backpressure',
  'e2e/nodes/one-store/key-changes',
  'e2e/nodes/one-store/redis-unavailable',
  'e2e/admin/catalog-guarded',
  'e2e/admin/catalog-credentials',
  'e2e/start/one-store/refused',
  'e2e/nodes/one-store/database-unavailable',
  'contract/store/hours',
  'contract/wires/recorded',
].map(name => `test/${name}.test.ts`)

// An e2e file spends half of its time waiting, so two of them keep a core busy. The others compute, or have several processes
// each: fewer at once, or they would measure each other. More at once take longer: the cores are busy already.
const SLOTS = 2 * Math.max(2, availableParallelism()) + 1
const slotsOf = (file: string) => (MEASURING.test(file) ? 4 : /^test\/(e2e|clients)\//.test(file) ? 1 : 2)

// Files that measure processor time, latency or memory need most of the machine.
const MEASURING =
  /\/(linear|request-work|large-answers|idle-memory|streams\/one-store\/memory|webhooks\/one-store\/flood)\.test\.ts$/

// A file that fails while others run is run once more alone, if there are not many: on a busy machine a test that waits for several
// processes may wait too long. It is reported as flaky, and more than a few of them fail the command.
const RETRIED_MAX = 8
const FLAKY_MAX = 2

// How many of the slowest files the summary of a whole run names.
const SLOWEST = 15

const args = process.argv.slice(2)
const isQuick = args.includes('--quick')
const only = args.filter(arg => arg !== '--quick')
const isAll = only.length === 0 && !isQuick

const started = performance.now()
if (only.length === 0 && !(await check())) process.exit(1)
process.exitCode = (await runTests(await jobs())) ? 0 : 1

async function check(): Promise<boolean> {
  const bin = (name: string) => `node_modules/.bin/${name}`
  const steps = [
    step('style', bin('biome'), ['check', '--error-on-warnings', '.']),
    step('types', bin('tsc'), []),
    step('types of the dashboard', bin('tsc'), ['-p', 'web']),
    ...(isAll ? [step('dead code', bin('knip'), [])] : []),
    ...(isAll ? [step('schemas of answers', process.execPath, ['test/support/schemas.ts'])] : []),
  ]
  return !(await Promise.all(steps)).includes(false)
}

async function step(what: string, command: string, args: readonly string[]): Promise<boolean> {
  const from = performance.now()
  const [status] = await once(spawn(command, args, { stdio: 'inherit' }), 'exit')
  process.stdout.write(`${status === 0 ? '✔' : '✖'} ${what} (${secondsSince(from)} s)\n`)
  return status === 0
}

async function jobs(): Promise<readonly Job[]> {
  const files = isQuick
    ? [
        ...found('unit/**/*').filter(file => !SLOW_UNIT.test(file)),
        'test/tidy.test.ts',
        ...QUICK.map(name => `test/e2e/${name}.test.ts`),
      ]
    : []
  if (isAll) files.push(...found('**/*'))
  for (const name of only) files.push(...filesOf(name))
  const servers = files.every(file => file.startsWith('test/unit/')) ? undefined : await sharedServers()
  if (isAll) preferShell()
  // Compiled once for all files.
  const env = { ...servers, NODE_COMPILE_CACHE: resolve('node_modules/.cache/turnpike-tests') }
  const once = inOrder(files).map(file => ({ file, slots: slotsOf(file), env }))
  // The files of a family hold on either store. Those that concern one store, bring servers of their own, end before a store is
  // involved or assert only what the CLI prints or how dialects are translated are in its folder one-store, and run once. A file that is named is run on the embedded store.
  const again = servers === undefined || isQuick ? [] : files.filter(file => /^test\/e2e\/[^/]+\/[^/]+$/.test(file))
  const shared = { ...env, TEST_STORE: 'shared' }
  const onShared = inOrder(again)
    .filter(file => !only.some(name => resolve(name) === resolve(file)))
    .map(file => ({ file, slots: slotsOf(file), env: shared, note: ' on Postgres and Redis' }))
  // Families that touch HTTP are run once more without the fast path, where Node's HTTP server and undici do all of the work.
  // What is measured is the fast path.
  const http = isAll ? found('e2e/{edge,streams,upstream}/**/*').filter(file => !MEASURING.test(file)) : []
  const withoutFastPath = inOrder(http).map(file => ({
    file,
    slots: slotsOf(file),
    env: { ...env, TURNPIKE_FAST_PATH: '0' },
    note: ' without the fast path',
  }))
  return [...once, ...onShared, ...withoutFastPath]
}

function found(pattern: string): string[] {
  return globSync(`test/${pattern}.test.ts`)
}

// A family of e2e tests, a folder of test/, or a file.
function filesOf(name: string): readonly string[] {
  for (const folder of [`e2e/${name}`, name]) if (existsSync(`test/${folder}`)) return found(`${folder}/**/*`)
  const file = relative('.', name)
  if (statSync(file, { throwIfNoEntry: false })?.isFile()) return [file]
  const families = globSync('test/e2e/*').map(folder => folder.slice('test/e2e/'.length))
  process.stderr.write(`Unknown test ${name}. Pass files or families: ${families.sort().join(', ')}.\n`)
  process.exit(2)
}

function inOrder(files: readonly string[]): readonly string[] {
  const rank = (file: string) => (LONG.includes(file) ? LONG.indexOf(file) : LONG.length)
  return [...new Set(files)].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
}

// One of each for all tests of this run, which work in schemas and under keys of their own.
async function sharedServers(): Promise<Readonly<Record<string, string>> | undefined> {
  if (!hasPostgres() || !hasRedis()) return undefined
  return { DATABASE_URL: process.env.DATABASE_URL ?? (await startServer()).url, REDIS_URL: await sharedRedis() }
}

async function runTests(jobs: readonly Job[]): Promise<boolean> {
  const isVerbose = only.length > 0
  const results = await runJobs(jobs, SLOTS, result => report(result, isVerbose))
  const failed = results.filter(({ passed }) => !passed)
  const isRetried = failed.length <= RETRIED_MAX
  const retried = isRetried ? await retry(failed) : failed
  const broken = retried.filter(({ passed }) => !passed)
  const flaky = retried.filter(({ passed }) => passed)

  summarize(results)
  list('Failed', broken)
  list(`Flaky: failed with other files and passed alone (at most ${FLAKY_MAX} are accepted)`, flaky)
  return broken.length === 0 && flaky.length <= FLAKY_MAX
}

async function retry(failed: readonly Result[]): Promise<readonly Result[]> {
  if (failed.length > 0) process.stdout.write('\nRunning failed files again, alone:\n')
  return runJobs(
    failed.map(({ job }) => job),
    1,
    result => report(result, true),
  )
}

function report({ job, passed, seconds, cpuSeconds, tests, output }: Result, isVerbose: boolean): void {
  const name = `${job.file}${job.note ?? ''}`
  if (isVerbose || !passed) process.stdout.write(`\n${output.trimEnd()}\n`)
  process.stdout.write(
    `${passed ? '✔' : '✖'} ${name} (${tests} tests, ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s CPU)\n`,
  )
}

function summarize(results: readonly Result[]): void {
  const most = (figure: (result: Result) => number) =>
    [...results].sort((a, b) => figure(b) - figure(a)).slice(0, SLOWEST)
  const sum = (figure: (result: Result) => number) => results.reduce((sum, result) => sum + figure(result), 0)
  if (isAll) {
    list(
      'Slowest',
      most(({ seconds }) => seconds),
    )
    list(
      'Most processor time',
      most(({ cpuSeconds }) => cpuSeconds),
      ({ cpuSeconds }) => cpuSeconds,
    )
  }
  const files = `${results.length} ${results.length === 1 ? 'file' : 'files'}`
  const cpu = sum(({ cpuSeconds }) => cpuSeconds).toFixed(0)
  process.stdout.write(
    `\n${files}, ${sum(({ tests }) => tests)} tests, ${secondsSince(started)} s, ${cpu} s of processor time, without databases and most of the browsers\n`,
  )
}

function list(title: string, results: readonly Result[], figure = ({ seconds }: Result) => seconds): void {
  if (results.length === 0) return
  const lines = results.map(
    result => `  ${figure(result).toFixed(1).padStart(6)} s  ${result.job.file}${result.job.note ?? ''}`,
  )
  process.stdout.write(`\n${title}:\n${lines.join('\n')}\n`)
}

function secondsSince(from: number): string {
  return ((performance.now() - from) / 1000).toFixed(1)
}
