// Three simulated upstreams through brown-outs, outages, flapping, slowness and limits: the results of each strategy,
// compared with a random choice and an oracle that knows the healthy ones. Printed, and checked against the guarantees.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOUNDS } from '../../src/config/limits.ts'
import { Failure } from '../../src/domain/failure.ts'
import { STRATEGIES, type Strategy } from '../../src/domain/routing.ts'
import { maintainTargets } from '../../src/route/probing.ts'
import { type Behaviour, chance, type Doing, type Member, openWorld } from '../support/simulated-targets.ts'

const SEEDS = [7, 19, 101]
const PER_SECOND = 25
// The operator's cost of a request there, and the usual time to its first byte.
const PLAIN = [
  { id: 'a', cost: 1, firstByteMs: 300, priority: 0 },
  { id: 'b', cost: 3, firstByteMs: 150, priority: 1 },
  { id: 'c', cost: 1, firstByteMs: 600, priority: 2 },
] as const
type Plain = (typeof PLAIN)[number]

// The fault of an upstream at a moment; undefined: it is healthy. A probe contains no caller's content.
type Fault = (nowMs: number, random: () => number, isOurs: boolean) => Doing | 'slow' | undefined
const between =
  (from: number, to: number, doing: Fault): Fault =>
  (nowMs, random, isOurs) =>
    nowMs >= from && nowMs < to ? doing(nowMs, random, isOurs) : undefined
const refused = { afterMs: 1, failure: new Failure('refused', 'refused') }
const unconnected = { afterMs: 1000, failure: new Failure('connect_timeout', 'no connection') }
const error = { afterMs: 200, failure: new Failure('status', 'status 500', { status: 500 }) }
const forbidden = { afterMs: 200, failure: new Failure('credential', 'status 403', { status: 403 }) }
const often =
  (doing: Doing): Fault =>
  (_, random) =>
    random() < 0.6 ? doing : undefined

type Scenario = {
  readonly fault: () => Fault
  // How many are faulty: the strategy's first choice, or its first two.
  readonly faulty: 1 | 2
  readonly seconds: number
  readonly endsMs: number
}

const MINUTE = { faulty: 1, seconds: 60, endsMs: 40_000 } as const
// The breaker of a target that is down for so long stays open for its maximum time, and then there are enough requests
// to show when it is called again.
const LONG = { faulty: 1, seconds: 130, endsMs: 90_000 } as const
const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'no fault': { ...MINUTE, fault: () => () => undefined },
  'one down': { ...MINUTE, fault: () => between(10_000, 40_000, () => refused) },
  'one cannot be connected to': { ...MINUTE, fault: () => between(10_000, 40_000, () => unconnected) },
  'a brown-out': { ...MINUTE, fault: () => between(10_000, 40_000, often(error)) },
  flapping: { ...MINUTE, fault: () => nowMs => (Math.floor(nowMs / 5000) % 2 === 1 ? refused : undefined) },
  'one slow': { ...MINUTE, fault: () => between(10_000, 40_000, () => 'slow') },
  'one limited': { ...MINUTE, fault: () => limitedTo(5) },
}
const LONG_SCENARIOS: Readonly<Record<string, Scenario>> = {
  'down for long': { ...LONG, fault: () => between(10_000, 90_000, () => refused) },
  'not connected to for long': { ...LONG, fault: () => between(10_000, 90_000, () => unconnected) },
  'a long brown-out': { ...LONG, fault: () => between(10_000, 90_000, often(error)) },
}
// Failures that the input may have caused open no breaker: only the budget protects the upstreams.
const FORBIDDING: Readonly<Record<string, Scenario>> = {
  'two forbid most': {
    ...MINUTE,
    faulty: 2,
    fault: () => (nowMs, random, isOurs) => (isOurs ? undefined : often(forbidden)(nowMs, random, isOurs)),
  },
}
const ALL = { ...SCENARIOS, ...LONG_SCENARIOS, ...FORBIDDING }

// The fault is in the strategy's first choice: it would hardly notice one in the others.
const bestOf = (strategy: Strategy): Plain['id'] => (strategy === 'fastest' ? 'b' : 'a')
const nextBest = { a: 'b', b: 'a' } as const

const figures = new Map<string, Figures[]>()
for (const [name, scenario] of Object.entries(ALL)) {
  for (const best of ['a', 'b'] as const) {
    const strategies = STRATEGIES.filter(strategy => bestOf(strategy) === best)
    for (const who of ['random', 'oracle', ...strategies] as const) {
      const all = []
      for (const seed of SEEDS) {
        const world: Place = { scenario, best, seed }
        all.push(who === 'random' || who === 'oracle' ? without(world, who) : await simulate(world, who))
      }
      figures.set(`${name}/${best}/${who}`, all)
    }
  }
}
print()

test('while one of three targets is down, 999 of 1000 requests are served, by every strategy', () => {
  for (const strategy of STRATEGIES) {
    for (const scenario of ['one down', 'one cannot be connected to', 'down for long', 'not connected to for long']) {
      for (const { success } of of(scenario, strategy))
        assert.ok(success >= 0.999, `${scenario}, ${strategy}: ${success}`)
    }
    for (const scenario of ['a brown-out', 'flapping', 'one slow', 'one limited', 'a long brown-out']) {
      for (const { success } of of(scenario, strategy))
        assert.ok(success >= 0.995, `${scenario}, ${strategy}: ${success}`)
    }
  }
})

test('with one faulty target of three, upstreams get at most a fifth more calls than there are requests', () => {
  for (const strategy of STRATEGIES) {
    for (const scenario of Object.keys({ ...SCENARIOS, ...LONG_SCENARIOS })) {
      for (const { extraLoad } of of(scenario, strategy))
        assert.ok(extraLoad <= 0.2, `${scenario}, ${strategy}: ${extraLoad}`)
    }
  }
})

test('with two of three failing in a way that opens no breaker, retries end with the budget', () => {
  const [scenario] = Object.values(FORBIDDING) as [Scenario]
  const requests = scenario.seconds * PER_SECOND
  const windows = scenario.seconds / BOUNDS.retryWindowSeconds + 1
  const most = (requests * BOUNDS.retryPercentMax) / 100 + windows * BOUNDS.retryReserveMax
  for (const strategy of STRATEGIES) {
    for (const { retries } of of('two forbid most', strategy)) {
      assert.ok(retries <= most, `${strategy}: ${retries} against ${most}`)
      assert.ok(retries >= (requests * BOUNDS.retryPercentMax) / 100 / 2, `${strategy}: hardly any, ${retries}`)
    }
  }
})

test('without faults no request is retried and no probe is sent', () => {
  for (const strategy of STRATEGIES) for (const { extraLoad } of of('no fault', strategy)) assert.equal(extraLoad, 0)
})

test('the cheapest costs at most a tenth more than an oracle would pay', () => {
  for (const scenario of Object.keys(SCENARIOS)) {
    for (const [ours, oracle] of compared(scenario, 'cheapest', 'oracle')) {
      assert.ok(ours.meanCost <= 1.1 * oracle.meanCost, `${scenario}: ${ours.meanCost} against ${oracle.meanCost}`)
    }
  }
})

test('the fastest begins sooner than a random choice, and leaves a target that has become slow', () => {
  for (const scenario of Object.keys(SCENARIOS)) {
    for (const [ours, random] of compared(scenario, 'fastest', 'random')) {
      assert.ok(ours.p95Ms < random.p95Ms, `${scenario}: ${ours.p95Ms} against ${random.p95Ms}`)
    }
  }
  for (const [ours, oracle] of compared('no fault', 'fastest', 'oracle')) assert.ok(ours.p95Ms < 1.5 * oracle.p95Ms)
})

test('every strategy serves more than a random choice during a fault', () => {
  for (const strategy of STRATEGIES) {
    for (const scenario of ['one down', 'a brown-out', 'flapping', 'one limited']) {
      for (const [ours, random] of compared(scenario, strategy, 'random')) {
        assert.ok(ours.success > random.success, `${scenario}, ${strategy}`)
      }
    }
  }
})

test('a recovered target is used again within its probe interval', () => {
  for (const strategy of STRATEGIES) {
    for (const [scenario, { seconds, endsMs }] of Object.entries(LONG_SCENARIOS)) {
      const most = BOUNDS.breakerOpenMsMax + 2000
      assert.ok(seconds * 1000 - endsMs > most, 'there are no requests to show it')
      for (const { backAfterMs } of of(scenario, strategy)) {
        assert.ok(backAfterMs <= most, `${scenario}, ${strategy}: ${backAfterMs} ms`)
      }
    }
  }
})

type Figures = {
  readonly success: number
  readonly meanCost: number
  readonly p95Ms: number
  readonly extraLoad: number
  readonly retries: number
  // From the end of the fault to the first answer of the faulty target.
  readonly backAfterMs: number
}

// Where all get the same test.
type Place = { readonly scenario: Scenario; readonly best: 'a' | 'b'; readonly seed: number }

async function simulate({ scenario, best, seed }: Place, strategy: Strategy): Promise<Figures> {
  const random = chance(seed)
  const faults = faultsOf(scenario, best)
  const members = PLAIN.map(plain => member(plain, faults.get(plain.id), random))
  const world = openWorld(members, { strategy, seed: seed + 1 })
  const told: { provider: string | undefined; tookMs: number; startedMs: number }[] = []
  const requests = scenario.seconds * PER_SECOND
  const arrive = (i: number) => {
    if (i === requests) return
    world.at((i + random()) * (1000 / PER_SECOND), () => {
      const startedMs = world.clock.monotonic()
      world.ask({ account: `account-${i % 7}` }).then(({ answer, tookMs }) => {
        told.push({ provider: answer.served?.provider, tookMs, startedMs })
      })
      arrive(i + 1)
    })
  }
  arrive(0)
  const tending = (atMs: number) => {
    if (atMs > scenario.seconds * 1000) return
    world.at(atMs, () => {
      maintainTargets(world.targets)
      tending(atMs + BOUNDS.targetsMaintainedEveryMs)
    })
  }
  tending(0)
  await world.run(scenario.seconds * 2000)

  assert.equal(told.length, requests)
  const back = told.filter(({ provider, startedMs }) => provider === best && startedMs >= scenario.endsMs)
  const probes = world.calls.filter(isProbe).length
  return figuresOf(
    told.map(({ provider, tookMs }) => ({ plain: PLAIN.find(({ id }) => id === provider), tookMs })),
    { calls: world.calls.length, probes },
    Math.min(...back.map(({ startedMs, tookMs }) => startedMs + tookMs - scenario.endsMs)),
  )
}

// One attempt each: at random, or by an oracle that takes the cheapest or the fastest healthy target.
function without({ scenario, best, seed }: Place, who: 'random' | 'oracle'): Figures {
  const random = chance(seed)
  const faults = faultsOf(scenario, best)
  const told: { plain: Plain | undefined; tookMs: number; cost: number }[] = []
  for (let i = 0; i < scenario.seconds * PER_SECOND; i++) {
    const nowMs = (i + random()) * (1000 / PER_SECOND)
    const doings = PLAIN.map(plain => ({
      plain,
      doing: doingOf(plain, faults.get(plain.id), { nowMs, isOurs: false }, random),
    }))
    if (who === 'random') {
      const { plain, doing } = doings[Math.floor(random() * 3)] as (typeof doings)[number]
      told.push({ plain: doing.failure ? undefined : plain, tookMs: doing.afterMs, cost: plain.cost })
    } else {
      const well = doings.filter(({ doing }) => doing.failure === undefined)
      const cost = Math.min(...well.map(({ plain }) => plain.cost))
      told.push({ plain: well[0]?.plain, tookMs: Math.min(...well.map(({ doing }) => doing.afterMs)), cost })
    }
  }
  const found = figuresOf(told, { calls: told.length, probes: 0 }, 0)
  return who === 'random' ? found : { ...found, meanCost: mean(told.map(({ cost }) => cost)) }
}

function faultsOf({ fault, faulty }: Scenario, best: 'a' | 'b'): ReadonlyMap<string, Fault> {
  return new Map([best, nextBest[best]].slice(0, faulty).map(id => [id, fault()]))
}

function isProbe({ requestId }: { readonly requestId: string }): boolean {
  return requestId.startsWith('probe-')
}

function member(plain: Plain, fault: Fault | undefined, random: () => number): Member {
  const cost = BigInt(plain.cost) * 1_000_000_000n
  const behave: Behaviour = (call, nowMs) => doingOf(plain, fault, { nowMs, isOurs: isProbe(call) }, random)
  return {
    id: plain.id,
    behave,
    target: {
      priority: plain.priority,
      cost: { prompt: cost, completion: cost, cacheRead: cost, cacheWrite: cost, request: 0n },
    },
  }
}

function doingOf(
  plain: Plain,
  fault: Fault | undefined,
  { nowMs, isOurs }: { readonly nowMs: number; readonly isOurs: boolean },
  random: () => number,
): Doing {
  const jitter = 0.5 + random()
  const found = fault?.(nowMs, random, isOurs)
  if (found !== undefined && found !== 'slow') return found
  return { afterMs: plain.firstByteMs * jitter * (found === 'slow' ? 20 : 1), lastsMs: 1000 }
}

// At most this number of calls a second; the others get a Retry-After.
function limitedTo(perSecond: number): Fault {
  let second = -1
  let taken = 0
  return nowMs => {
    if (Math.floor(nowMs / 1000) !== second) {
      second = Math.floor(nowMs / 1000)
      taken = 0
    }
    taken += 1
    if (taken <= perSecond) return undefined
    return { afterMs: 20, failure: new Failure('limited', 'status 429', { status: 429, retryAfter: 1 }) }
  }
}

function figuresOf(
  told: readonly { readonly plain: Plain | undefined; readonly tookMs: number }[],
  { calls, probes }: { readonly calls: number; readonly probes: number },
  backAfterMs: number,
): Figures {
  const served = told.filter(({ plain }) => plain !== undefined)
  const times = served.map(({ tookMs }) => tookMs).sort((a, b) => a - b)
  return {
    success: served.length / told.length,
    meanCost: mean(served.map(({ plain }) => plain?.cost ?? 0)),
    p95Ms: times[Math.floor(times.length * 0.95)] ?? 0,
    extraLoad: calls / told.length - 1,
    retries: calls - probes - told.length,
    backAfterMs,
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

// For each seed.
function of(scenario: string, strategy: Strategy): readonly Figures[] {
  return at(scenario, bestOf(strategy), strategy)
}

// A strategy and its references, all with the same fault.
function compared(scenario: string, strategy: Strategy, other: 'random' | 'oracle'): (readonly [Figures, Figures])[] {
  const others = at(scenario, bestOf(strategy), other)
  return of(scenario, strategy).map((ours, index) => [ours, others[index] as Figures])
}

function at(scenario: string, best: string, who: string): readonly Figures[] {
  const found = figures.get(`${scenario}/${best}/${who}`)
  assert.ok(found, `${scenario}/${best}/${who}`)
  return found
}

function print(): void {
  const lines = [...figures].map(([name, all]) => {
    const [scenario = '', best = '', who = ''] = name.split('/')
    const over = (read: (figures: Figures) => number) => mean(all.map(read))
    const cells = [
      (over(({ success }) => success) * 100).toFixed(2).padStart(9),
      over(({ meanCost }) => meanCost)
        .toFixed(2)
        .padStart(6),
      Math.round(over(({ p95Ms }) => p95Ms))
        .toString()
        .padStart(8),
      (over(({ extraLoad }) => extraLoad) * 100).toFixed(1).padStart(8),
    ]
    return `${scenario.padEnd(28)}${best.padEnd(4)}${who.padEnd(12)}${cells.join('  ')}`
  })
  const head = `${'scenario'.padEnd(28)}at  ${'by'.padEnd(12)}served, %    cost  p95, ms  extra, %`
  process.stdout.write(`${[head, ...lines].join('\n')}\n`)
}
