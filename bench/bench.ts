// The benchmark: what a proxied chat costs through nginx, a bare Node relay and Turnpike with all billing on, side by
// side on one core. `npm run bench -- --help` lists the options.
// Prints its results to stdout. A command of the repository, not a part of the server, which writes to its log alone.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Form } from './answer-reader.ts'
import { BUDGETED } from './budgets.ts'
import { CONTESTANTS } from './contestants.ts'
import { DIALECTS, type DialectContestant, EMBEDDINGS } from './dialects.ts'
import { dialectReport } from './dialects-table.ts'
import { hotAccounts } from './hot-account.ts'
import { findNginx, installNginx } from './nginx.ts'
import { TRACED } from './otel.ts'
import { startPostgres } from './postgres.ts'
import { measureBothOrders, measureRounds, type Plan } from './rounds.ts'
import { EMBEDDED, ONE_SLOW, startScale } from './scale.ts'
import { measureStartup } from './startup.ts'
import { boundText, isWithin, measuredText, type Report, type Results, reportOf } from './table.ts'
import { type Tenanted, tenanted } from './tenants.ts'
import { LIMITED_TENANTS, sampleText, tenantReport } from './tenants-table.ts'
import { BEFORE, ON_DISK, ROOT, turnpike, turnpikeBefore } from './turnpike.ts'

const HELP = `npm run bench -- [options]

  --gate               exit with 1 if Turnpike exceeds a limit
  --json               print machine-readable results
  --requests N         JSON requests per round (10000); a fifth as many streams
  --rounds N           number of rounds; the median is reported (9)
  --only LIST          json, streams (both)
  --before FOLDER      compare with another checkout of Turnpike instead of nginx; it must be installed and built
  --paced              1 ms between the chunks of a stream
  --halt               let idle cores halt; in a virtual machine streams then vary threefold between runs
  --contestants LIST   nginx, relay, turnpike, turnpike-in-memory (all); the last stores its data in /dev/shm
  --scale              only Turnpike: on the embedded store, on Postgres and Redis, then as one node and as two
                       workers, each on a slow core, with a load generator each; databases are where TMPDIR is
  --tenants LIST       only Turnpike: what a JSON chat costs when the keys in use belong to that many accounts, one key
                       each, drawn at random: 1,1000,10000,100000; on the embedded store
  --postgres           with --tenants: on Postgres, whose data is where TMPDIR is
  --hot-account        only Turnpike: one account called through three nodes on Postgres and Redis, and for comparison
                       through one node, and 1,000 accounts through both; data is where TMPDIR is
  --dialects           only Turnpike: cost of a request in each dialect, passed through and translated, against chat
  --budgets            only Turnpike: cost of a chat with a key that has two budgets, against one without
  --otel               only Turnpike: cost of a chat with OpenTelemetry, every request traced and a tenth, against without
  --profile            profile Turnpike; print with: node bench/profile.ts FOLDER
  --help`

const CONNECTIONS = 64

await main().catch(error => {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
})

async function main(): Promise<void> {
  const options = readOptions()
  if (options.help) {
    console.log(HELP)
    return
  }
  const { scale, dialects, budgets, otel, before, tenants, 'hot-account': hot } = options
  const isOnlyTurnpike = scale || hot || dialects || budgets || otel || before !== undefined || tenants !== undefined
  const names = isOnlyTurnpike ? [] : options.contestants.split(',')
  const named = CONTESTANTS.filter(({ name }) => names.includes(name.toLowerCase().replaceAll(' ', '-')))
  if (named.length !== names.length) throw new Error(`--contestants: unknown name in ${options.contestants}`)
  if (before !== undefined) named.push(turnpikeBefore(resolve(before)), turnpike)
  checkTenants(options)
  checkMachine(names)

  // On the checkout's disk: /tmp may be memory, where a durable write costs nothing.
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(ROOT, '.cache', 'bench-'))
  const plan: Plan = {
    contestants: named,
    forms: formsOf(options.only),
    rounds: countOf('rounds', options.rounds),
    connections: CONNECTIONS,
    requests: requestsOf(countOf('requests', options.requests)),
    paced: options.paced,
    halt: options.halt,
    drivers: 'others',
    alone: true,
    folder,
    profileFolder: options.profile ? mkdtempSync(join(ROOT, '.cache', 'profile-')) : undefined,
    say: line => console.error(line),
  }
  try {
    print(await measure(plan, options), options)
  } catch (error) {
    console.error(`The benchmark failed; logs and data are in ${folder}`)
    throw error
  }
  rmSync(folder, { recursive: true })
  if (plan.profileFolder !== undefined) {
    console.error(
      `Profiles (the figures above include the profiler's cost): node bench/profile.ts ${plan.profileFolder}`,
    )
  }
}

async function measure(plan: Plan, options: Options): Promise<readonly Report[]> {
  const { scale, before, tenants } = options
  if (options.dialects) return measureDialects(plan)
  if (options.budgets) return [await measureSideBySide(plan, plan.folder, BUDGETED, plan.forms)]
  if (options.otel) return [await measureSideBySide(plan, plan.folder, TRACED, plan.forms)]
  if (options['hot-account']) return [await measureTenants(plan, await hotAccounts(), true)]
  if (tenants !== undefined) return [await measureTenantCounts(plan, countsOf(tenants), options)]
  if (scale) return (await measureScale(plan)).map(reportOf)
  return [reportOf(before === undefined ? await measureAgainstNginx(plan) : await measureBefore(plan))]
}

async function measureBefore(plan: Plan): Promise<Results> {
  const samples = await measureBothOrders(plan)
  return { floor: BEFORE, forms: plan.forms, connections: plan.connections, samples, startup: undefined }
}

async function measureAgainstNginx(plan: Plan): Promise<Results> {
  const samples = await measureRounds(plan)
  const startup = samples.has(ON_DISK) ? await measureStartup(plan.folder) : undefined
  return { floor: 'nginx', forms: plan.forms, connections: plan.connections, samples, startup }
}

async function measureScale(plan: Plan): Promise<readonly Results[]> {
  const { stores, workers, placeDatabases } = await startScale()
  const common = { forms: plan.forms, connections: plan.connections, startup: undefined }
  placeDatabases('others')
  const rounds = await measureRounds({ ...plan, contestants: stores })
  placeDatabases('both')
  const slow = await measureRounds({ ...plan, contestants: workers, drivers: 'both', alone: false })
  return [
    { ...common, floor: EMBEDDED, samples: rounds },
    { ...common, floor: ONE_SLOW, samples: slow },
  ]
}

async function measureTenantCounts(plan: Plan, counts: readonly number[], options: Options): Promise<Report> {
  const { before, postgres: onPostgres } = options
  const postgres = onPostgres ? await startPostgres() : undefined
  postgres?.place('others')
  const gateways = tenanted(counts, before === undefined ? undefined : resolve(before), postgres)
  return measureTenants(plan, gateways, onPostgres)
}

async function measureTenants(plan: Plan, gateways: readonly Tenanted[], onPostgres: boolean): Promise<Report> {
  const samples = await measureRounds({
    ...plan,
    contestants: gateways,
    forms: ['json'],
    alone: false,
    onSample: (name, sample) => plan.say(sampleText(name, sample, onPostgres)),
  })
  return tenantReport({ gateways, samples, connections: plan.connections, onPostgres })
}

// In two parts, since there are no streams of embeddings.
async function measureDialects(plan: Plan): Promise<readonly Report[]> {
  const measureIn = (part: string, contestants: readonly DialectContestant[], forms: readonly Form[]) => {
    const folder = join(plan.folder, part)
    mkdirSync(folder)
    return measureSideBySide(plan, folder, contestants, forms)
  }
  const chats = await measureIn('chats', DIALECTS, plan.forms)
  return plan.forms.includes('json') ? [chats, await measureIn('embeddings', EMBEDDINGS, ['json'])] : [chats]
}

async function measureSideBySide(
  plan: Plan,
  folder: string,
  contestants: readonly DialectContestant[],
  forms: readonly Form[],
): Promise<Report> {
  const samples = await measureBothOrders({ ...plan, folder, contestants, forms, alone: false })
  return dialectReport({ contestants, samples, forms, connections: plan.connections })
}

type Options = ReturnType<typeof readOptions>

function readOptions() {
  const flag = { type: 'boolean', default: false } as const
  return parseArgs({
    options: {
      gate: flag,
      json: flag,
      paced: flag,
      halt: flag,
      profile: flag,
      scale: flag,
      dialects: flag,
      budgets: flag,
      otel: flag,
      postgres: flag,
      'hot-account': flag,
      help: flag,
      only: { type: 'string', default: 'json,streams' },
      before: { type: 'string' },
      tenants: { type: 'string' },
      requests: { type: 'string', default: '10000' },
      rounds: { type: 'string', default: '9' },
      contestants: { type: 'string', default: 'nginx,relay,turnpike,turnpike-in-memory' },
    },
  }).values
}

function checkMachine(names: readonly string[]): void {
  if (process.platform !== 'linux') throw new Error('the benchmark needs Linux: it reads /proc and pins cores')
  if (availableParallelism() < 2)
    throw new Error('the benchmark needs two cores: one is measured, the other generates the load')
  execFileSync('taskset', ['--version'], { stdio: 'ignore' })
  if (names.includes('nginx') && findNginx() === undefined) installNginx()
}

function formsOf(only: string): readonly Form[] {
  const forms = only.split(',').map(name => (name === 'streams' ? 'stream' : name))
  const unknown = forms.find(name => name !== 'json' && name !== 'stream')
  if (unknown !== undefined) throw new Error(`--only takes json, streams or both, not ${unknown}`)
  return (['json', 'stream'] as const).filter(form => forms.includes(form))
}

function countOf(name: string, text: string): number {
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 1) throw new Error(`--${name} takes a whole number above 0, not ${text}`)
  return count
}

function checkTenants({ tenants, scale, postgres, gate, before, 'hot-account': hot }: Options): void {
  if (hot && (tenants !== undefined || scale || before !== undefined || gate))
    throw new Error('--hot-account excludes --tenants, --scale, --before and --gate')
  if (tenants === undefined && postgres) throw new Error('--postgres needs --tenants')
  if (tenants === undefined) return
  if (scale) throw new Error('--scale and --tenants exclude each other')
  const counts = countsOf(tenants)
  if (gate && !(counts.includes(1) && counts.includes(LIMITED_TENANTS)))
    throw new Error(`the limits of --tenants compare 1 and ${LIMITED_TENANTS}: --gate needs both`)
}

// Ascending, so that the first is what the others are compared with.
function countsOf(list: string): readonly number[] {
  return [...new Set(list.split(',').map(text => countOf('tenants', text)))].sort((a, b) => a - b)
}

function requestsOf(json: number): Plan['requests'] {
  return { json, stream: Math.ceil(json / 5) }
}

function print(parts: readonly Report[], options: Options): void {
  const machine = `${cpus()[0]?.model.trim()}, Node ${process.version}${options.scale ? '' : ', one pinned core'}`
  if (options.json)
    console.log(JSON.stringify({ machine, paced: options.paced, parts: parts.map(({ json }) => json) }, null, 2))
  else
    console.log(
      `${machine}${options.paced ? ', 1 ms between chunks' : ''}\n\n${parts.map(({ text }) => text).join('\n\n')}`,
    )
  const broken = parts.flatMap(({ limits }) => limits).filter(limit => !isWithin(limit))
  for (const limit of broken)
    console.error(`Limit exceeded: ${limit.what} is ${measuredText(limit)}, allowed ${boundText(limit)}`)
  if (options.gate && broken.length > 0) process.exitCode = 1
}
