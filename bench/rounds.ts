// Measures the contestants, round after round, in alternating order and against one upstream. Rounds are short and many, and each
// figure is measured for one contestant after the other: on a shared machine only neighbouring windows are comparable.

import type { ChildProcess } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Form } from './answer-reader.ts'
import type { Contestant, Running } from './contestant.ts'
import { cpuSeconds, machineCpuSeconds, residentMb, stolenCpuSeconds } from './cpu.ts'
import type { Load, LoadReport } from './load.ts'
import { ask, type Core, keepCoresAwake, startPinned, stop } from './processes.ts'
import { countersOf, spentSince } from './spent.ts'
import type { Measure, Sample } from './table.ts'

export type Plan = {
  readonly contestants: readonly Contestant[]
  readonly forms: readonly Form[]
  readonly rounds: number
  readonly connections: number
  readonly requests: Readonly<Record<Form, number>>
  readonly paced: boolean
  readonly halt: boolean
  // The cores of the load and the upstream.
  readonly drivers: Core
  // Whether the latency at one connection is measured too.
  readonly alone: boolean
  readonly folder: string
  readonly profileFolder: string | undefined
  readonly say: (line: string) => void
  readonly onSample?: (name: string, sample: Sample) => void
}

type Bench = { readonly plan: Plan; readonly generators: readonly ChildProcess[]; readonly upstreamPort: number }
type Target = Pick<Running, 'port' | 'others' | 'paths' | 'headers' | 'tenants' | 'dialect'>

export async function measureRounds(plan: Plan): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const script = (name: string) => [process.execPath, join(import.meta.dirname, name)]
  const upstreamCommand = [...script('mock-upstream.ts'), ...(plan.paced ? ['--paced'] : [])]
  const upstream = startPinned(plan.drivers, upstreamCommand, join(plan.folder, 'upstream.log'))
  const { port: upstreamPort } = await ask<{ port: number }>(upstream)
  // One per process of a contestant: the bursts of a single one would be larger than those of real callers.
  const count = Math.max(...plan.contestants.map(({ processes = 1 }) => processes))
  const startGenerator = () => startPinned(plan.drivers, script('load.ts'), join(plan.folder, 'load.log'))
  const generators = Array.from({ length: count }, startGenerator)
  const loops = plan.halt ? [] : keepCoresAwake(join(plan.folder, 'loops.log'))
  try {
    return await runRounds({ plan, generators, upstreamPort })
  } finally {
    for (const child of [...loops, ...generators, upstream]) await stop(child)
  }
}

// In two halves, the second with the contestants started in the opposite order: of two equal processes the one that was started
// first may take a fifth more CPU, as long as they run.
export async function measureBothOrders(plan: Plan): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const rounds = Math.ceil(plan.rounds / 2)
  const samples = new Map<string, Sample[]>(plan.contestants.map(({ name }) => [name, []]))
  for (const [half, contestants] of [plan.contestants, plan.contestants.toReversed()].entries()) {
    const folder = join(plan.folder, `half-${half + 1}`)
    mkdirSync(folder)
    const measured = await measureRounds({ ...plan, contestants, rounds, folder })
    for (const [name, more] of measured) samples.get(name)?.push(...more)
  }
  return samples
}

// All of them run throughout and take turns, so that a slow hour of the machine is slow for each of them.
async function runRounds(bench: Bench): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const { plan, upstreamPort } = bench
  const path = '/v1/chat/completions'
  const direct: Target = { port: upstreamPort, paths: { json: path, stream: path }, headers: {} }
  for (const form of plan.forms)
    await drive(bench, direct, { form, connections: plan.connections, requests: plan.requests[form] })
  const entrants: Entrant[] = []
  try {
    for (const contestant of plan.contestants) entrants.push(await enter(bench, contestant))
    for (let round = 0; round < plan.rounds; round++) {
      plan.say(`round ${round + 1} of ${plan.rounds}`)
      await runRound(bench, round % 2 === 0 ? entrants : entrants.toReversed(), direct)
    }
    for (const { running, sent, answered } of entrants) await running.verify?.(sent, answered)
  } finally {
    for (const { running } of entrants) await running.stop()
  }
  return new Map(entrants.map(({ contestant, samples }) => [contestant.name, samples]))
}

type Entrant = {
  readonly contestant: Contestant
  readonly running: Running
  readonly samples: Sample[]
  // Since its start; fewer were answered where requests failed in a window that was repeated.
  sent: number
  answered: number
}

async function enter(bench: Bench, contestant: Contestant): Promise<Entrant> {
  const { plan, upstreamPort } = bench
  plan.say(`${contestant.name} starts and warms up`)
  const folder = join(plan.folder, contestant.name)
  mkdirSync(folder)
  const running = await contestant.start({ folder, upstreamPort, profileFolder: plan.profileFolder })
  const entrant: Entrant = { contestant, running, samples: [], sent: 0, answered: 0 }
  if (running.tenants !== undefined) await callWithEveryKey(bench, entrant, running.tenants)
  for (const form of plan.forms) await warmUp(bench, entrant, form)
  running.afterWarmUp?.()
  return entrant
}

async function runRound(bench: Bench, entrants: readonly Entrant[], direct: Target): Promise<void> {
  const { plan } = bench
  const measures = new Map<Entrant, Partial<Record<Form, Measure>>>(entrants.map(entrant => [entrant, {}]))
  for (const form of plan.forms) {
    for (const [entrant, measured] of measures) {
      measured[form] = await measureForm(bench, entrant, form, plan.requests[form])
    }
  }
  for (const [entrant, measured] of measures) {
    const addedP50Us = plan.alone ? await measureAlone(bench, entrant, direct) : Number.NaN
    const sample = { ...measured, residentMb: residentMbOf(entrant.running), addedP50Us }
    entrant.samples.push(sample)
    plan.onSample?.(entrant.contestant.name, sample)
  }
}

// Of all nodes.
function residentMbOf({ pid, others = [] }: Running): number {
  return others.reduce((sum, other) => sum + residentMb(other.pid), residentMb(pid))
}

async function measureAlone(bench: Bench, entrant: Entrant, direct: Target): Promise<number> {
  const alone = { form: 'json', connections: 1, requests: Math.ceil(bench.plan.requests.json / 10) } as const
  const directly = await drive(bench, direct, alone)
  const through = await drive(bench, entrant.running, alone)
  entrant.sent += alone.requests
  entrant.answered += alone.requests
  return through.p50Us - directly.p50Us
}

// Once, so that none is looked up for the first time in a measured window.
async function callWithEveryKey(bench: Bench, entrant: Entrant, tenants: number): Promise<void> {
  const { connections } = bench.plan
  await drive(bench, entrant.running, { form: 'json', connections, requests: tenants, inTurn: true })
  entrant.sent += tenants
  entrant.answered += tenants
}

// A contestant is warm when it gets no faster. The compilers run on the same cores: in windows of five seconds they settled after
// about 60,000 requests, and those of two workers after 180,000.
const WINDOW_ROUNDS = 2
const WINDOWS_MIN = 3
const WINDOWS_MAX = 20
const STEADY = 0.97

async function warmUp(bench: Bench, entrant: Entrant, form: Form): Promise<void> {
  let best = Number.POSITIVE_INFINITY
  for (let windows = 1; ; windows++) {
    const { measure, fault } = await measureWindow(bench, entrant, form, WINDOW_ROUNDS * bench.plan.requests[form])
    if (fault !== undefined) throw new Error(fault)
    const { cpuUs } = measure
    const isSteady = windows > WINDOWS_MIN && cpuUs > best * STEADY
    if (isSteady || windows === WINDOWS_MAX) return
    best = Math.min(best, cpuUs)
  }
}

// A window in which the host stole this share of a core is repeated, up to a limit. So is one in which requests were
// refused because of it: a stalled worker delays the others.
const STOLEN_MAX = 0.1
const TRIES_MAX = 5

async function measureForm(bench: Bench, entrant: Entrant, form: Form, each: number): Promise<Measure> {
  for (let tries = 1; ; tries++) {
    const stolenBefore = stolenCpuSeconds()
    const { measure, seconds, fault } = await measureWindow(bench, entrant, form, each)
    const stolen = (stolenCpuSeconds() - stolenBefore) / seconds
    const isLast = stolen <= STOLEN_MAX || tries === TRIES_MAX
    if (fault !== undefined && (isLast || !fault.includes('status 503'))) throw new Error(fault)
    if (stolen > STOLEN_MAX) {
      const then = isLast ? 'it counts all the same' : 'measured again'
      bench.plan.say(
        `  the host took ${(stolen * 100).toFixed(0)} % of a core away: ${then}${fault ? ` (${fault})` : ''}`,
      )
    }
    if (isLast) return measure
  }
}

type Window = { readonly measure: Measure; readonly seconds: number; readonly fault: string | undefined }

// The same number of requests for each process, so that the last ones, when connections run out of work, weigh the same.
async function measureWindow(bench: Bench, entrant: Entrant, form: Form, each: number): Promise<Window> {
  const { running, contestant } = entrant
  const requests = each * (contestant.processes ?? 1)
  const before = countersOf(running)
  const othersBefore = othersCpuSeconds()
  const load = { form, connections: bench.plan.connections, requests }
  const { seconds, p50Us, p99Us, completed, fault } = await tryToDrive(bench, running, load, contestant.processes)
  entrant.sent += requests
  entrant.answered += completed
  const othersShare = (othersCpuSeconds() - othersBefore) / seconds
  const spent = await spentSince(before, running, requests)
  if (othersShare > 0.1)
    bench.plan.say(`  not a quiet machine: others took ${(othersShare * 100).toFixed(0)} % of a core`)
  const busy = (spent.cpuUs * requests) / 1e6 / seconds / (running.cores ?? Number.NaN)
  const measure = { requestsPerSecond: requests / seconds, p50Us, p99Us, busy, ...spent }
  return { measure, seconds, fault }
}

// Other processes that ran meanwhile.
function othersCpuSeconds(): number {
  return machineCpuSeconds() - cpuSeconds(process.pid)
}

type Asked = Pick<Load, 'form' | 'connections' | 'requests' | 'inTurn'>
type Driven = Pick<LoadReport, 'seconds' | 'p50Us' | 'p99Us' | 'completed'> & { readonly fault: string | undefined }

async function drive(bench: Bench, target: Target, load: Asked): Promise<Driven> {
  const driven = await tryToDrive(bench, target, load)
  if (driven.fault !== undefined) throw new Error(driven.fault)
  return driven
}

// Connections are per generator, requests the total.
async function tryToDrive(
  { generators }: Bench,
  target: Target,
  { form, connections, requests, inTurn }: Asked,
  processes = 1,
): Promise<Driven> {
  const { port, others = [], headers, paths, tenants, dialect = 'chat' } = target
  const ports = [port, ...others.map(other => other.port)]
  const driving = generators.slice(0, processes).map((generator, i) => {
    const share = Math.floor(requests / processes) + (i < requests % processes ? 1 : 0)
    const asked = { form, dialect, connections, requests: share, tenants, inTurn }
    const load: Load = { ports, headers, path: paths[form], ...asked }
    return ask<LoadReport>(generator, load)
  })
  const reports = await Promise.all(driving)
  const failed = reports.find(({ failures }) => failures > 0)
  const worst = (of: (report: LoadReport) => number) => Math.max(...reports.map(of))
  return {
    seconds: worst(report => report.seconds),
    p50Us: worst(report => report.p50Us),
    p99Us: worst(report => report.p99Us),
    completed: reports.reduce((sum, { completed }) => sum + completed, 0),
    fault: failed && `${failed.failures} of ${requests} ${form} requests failed; the first: ${failed.firstFailure}`,
  }
}
