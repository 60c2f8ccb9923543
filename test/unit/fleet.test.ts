// A simulated fleet of three upstreams through brown-outs, outages, flapping, slowness and limits: what each strategy makes
// of it, in figures beside a random choice and an oracle that knows who is well. Printed, and held to what is promised.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOUNDS } from '../../src/config-bounds.ts'
import { Failure } from '../../src/domain/failure.ts'
import { STRATEGIES, type Strategy } from '../../src/domain/routing.ts'
import { type Behaviour, chance, type Doing, type Member, openWorld } from '../kit/fleet.ts'

const MINUTE = 60_000
const PER_SECOND = 25
// What a request costs the operator there, and how soon it usually begins to answer.
const PLAIN = [
  { id: 'a', cost: 1, firstByteMs: 300, priority: 0 },
  { id: 'b', cost: 3, firstByteMs: 150, priority: 1 },
  { id: 'c', cost: 1, firstByteMs: 600, priority: 2 },
] as const
type Plain = (typeof PLAIN)[number]

// What befalls an upstream at a moment; undefined: it is well.
type Trouble = (nowMs: number, random: () => number) => Doing | 'slow' | undefined
const between =
  (from: number, to: number, doing: Trouble): Trouble =>
  (nowMs, random) =>
    nowMs >= from && nowMs < to ? doing(nowMs, random) : undefined
const refused = { afterMs: 1, failure: new Failure('refused', 'refused') }
const unconnected = { afterMs: 1000, failure: new Failure('connect_timeout', 'no connection') }
const error = { afterMs: 200, failure: new Failure('status', 'status 500', { status: 500 }) }

// Trouble befalls the one that a strategy likes best: what befalls the others it would hardly notice.
const SCENES: Readonly<Record<string, () => Trouble>> = {
  'all well': () => () => undefined,
  'one down': () => between(10_000, 40_000, () => refused),
  'one cannot be connected to': () => between(10_000, 40_000, () => unconnected),
  'a brown-out': () => between(10_000, 40_000, (_, random) => (random() < 0.6 ? error : undefined)),
  flapping: () => nowMs => (Math.floor(nowMs / 5000) % 2 === 1 ? refused : undefined),
  'one slow': () => between(10_000, 40_000, () => 'slow'),
  'one limited': () => limitedTo(5),
}

const figures = new Map<string, Figures>()
for (const scene of Object.keys(SCENES)) {
  for (const who of ['random', 'oracle', ...STRATEGIES] as const) {
    const found = who === 'random' || who === 'oracle' ? without(scene, who) : await simulate(scene, who)
    figures.set(`${scene}/${who}`, found)
  }
}
print()

test('while one of three targets is down, 999 of 1000 requests are served, by every strategy', () => {
  for (const strategy of STRATEGIES) {
    for (const scene of ['one down', 'one cannot be connected to']) {
      const { success } = of(scene, strategy)
      assert.ok(success >= 0.999, `${scene}, ${strategy}: ${success}`)
    }
    for (const scene of ['a brown-out', 'flapping', 'one slow', 'one limited']) {
      const { success } = of(scene, strategy)
      assert.ok(success >= 0.995, `${scene}, ${strategy}: ${success}`)
    }
  }
})

test('whatever happens, upstreams get at most a fifth more calls than there are requests', () => {
  for (const [name, { extraLoad }] of figures) assert.ok(extraLoad <= 0.2, `${name}: ${extraLoad}`)
})

test('with all well nobody is called twice and nobody is asked questions', () => {
  for (const strategy of STRATEGIES) assert.equal(of('all well', strategy).extraLoad, 0)
})

test('the cheapest costs at most a tenth more than what an oracle would pay', () => {
  for (const scene of Object.keys(SCENES)) {
    const [ours, oracle] = [of(scene, 'cheapest').meanCost, of(scene, 'oracle').meanCost]
    assert.ok(ours <= 1.1 * oracle, `${scene}: ${ours} against ${oracle}`)
  }
})

test('the fastest begins sooner than a random choice, and leaves a target that has become slow', () => {
  for (const scene of Object.keys(SCENES)) {
    const [ours, random] = [of(scene, 'fastest').p95Ms, of(scene, 'random').p95Ms]
    assert.ok(ours < random, `${scene}: ${ours} against ${random}`)
  }
  assert.ok(of('all well', 'fastest').p95Ms < 1.5 * of('all well', 'oracle').p95Ms)
})

test('every strategy serves more than a random choice does when something is wrong', () => {
  for (const strategy of STRATEGIES) {
    for (const scene of ['one down', 'a brown-out', 'flapping', 'one limited']) {
      assert.ok(of(scene, strategy).success > of(scene, 'random').success, `${scene}, ${strategy}`)
    }
  }
})

test('a healed target is used again within its probe interval', () => {
  for (const strategy of STRATEGIES) {
    for (const scene of ['one down', 'one cannot be connected to', 'a brown-out']) {
      const { backAfterMs } = of(scene, strategy)
      assert.ok(backAfterMs <= BOUNDS.breakerOpenMsMax + 2000, `${scene}, ${strategy}: ${backAfterMs} ms`)
    }
  }
})

type Figures = {
  readonly success: number
  readonly meanCost: number
  readonly p95Ms: number
  readonly extraLoad: number
  // From the end of the trouble to the first answer of the one that had it.
  readonly backAfterMs: number
}

async function simulate(scene: string, strategy: Strategy): Promise<Figures> {
  const random = chance(7)
  const trouble = SCENES[scene]?.()
  const best = strategy === 'fastest' ? 'b' : 'a'
  const members = PLAIN.map(plain => member(plain, plain.id === best ? trouble : undefined, random))
  const world = openWorld(members, { strategy, seed: 11 })
  const told: { provider: string | undefined; tookMs: number; endedMs: number }[] = []
  for (let i = 0; i < PER_SECOND * 60; i++) {
    world.at((i + random()) * (1000 / PER_SECOND), () => {
      world.ask({ account: `account-${i % 7}` }).then(({ answer, tookMs }) => {
        told.push({ provider: answer.served?.provider, tookMs, endedMs: world.clock.monotonic() })
      })
    })
  }
  await world.run(2 * MINUTE)

  assert.equal(told.length, PER_SECOND * 60)
  const back = told.filter(({ provider, endedMs, tookMs }) => provider === best && endedMs - 1000 - tookMs > 40_000)
  return figuresOf(
    told.map(({ provider, tookMs }) => ({ plain: PLAIN.find(({ id }) => id === provider), tookMs })),
    world.calls.length,
    Math.min(...back.map(({ endedMs }) => endedMs - 40_000)),
  )
}

// One try each: at random, or by one who knows who is well, and takes the cheapest or the fastest of them.
function without(scene: string, who: 'random' | 'oracle'): Figures {
  const random = chance(7)
  const trouble = SCENES[scene]?.()
  const told: { plain: Plain | undefined; tookMs: number; cost: number }[] = []
  for (let i = 0; i < PER_SECOND * 60; i++) {
    const nowMs = (i + random()) * (1000 / PER_SECOND)
    const doings = PLAIN.map(plain => ({
      plain,
      doing: doingOf(plain, plain.id === 'a' ? trouble : undefined, nowMs, random),
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
  const figures = figuresOf(told, told.length, 0)
  return who === 'random' ? figures : { ...figures, meanCost: mean(told.map(({ cost }) => cost)) }
}

function member(plain: Plain, trouble: Trouble | undefined, random: () => number): Member {
  const cost = BigInt(plain.cost) * 1_000_000_000n
  const behave: Behaviour = (_, nowMs) => doingOf(plain, trouble, nowMs, random)
  return {
    id: plain.id,
    behave,
    target: {
      priority: plain.priority,
      cost: { prompt: cost, completion: cost, cacheRead: cost, cacheWrite: cost, request: 0n },
    },
  }
}

function doingOf(plain: Plain, trouble: Trouble | undefined, nowMs: number, random: () => number): Doing {
  const jitter = 0.5 + random()
  const found = trouble?.(nowMs, random)
  if (found !== undefined && found !== 'slow') return found
  return { afterMs: plain.firstByteMs * jitter * (found === 'slow' ? 20 : 1), lastsMs: 1000 }
}

// So many calls a second; the others are told to come back later.
function limitedTo(perSecond: number): Trouble {
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
  calls: number,
  backAfterMs: number,
): Figures {
  const served = told.filter(({ plain }) => plain !== undefined)
  const times = served.map(({ tookMs }) => tookMs).sort((a, b) => a - b)
  return {
    success: served.length / told.length,
    meanCost: mean(served.map(({ plain }) => plain?.cost ?? 0)),
    p95Ms: times[Math.floor(times.length * 0.95)] ?? 0,
    extraLoad: calls / told.length - 1,
    backAfterMs,
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function of(scene: string, who: string): Figures {
  const found = figures.get(`${scene}/${who}`)
  assert.ok(found, `${scene}/${who}`)
  return found
}

function print(): void {
  const lines = [...figures].map(([name, { success, meanCost, p95Ms, extraLoad }]) => {
    const [scene = '', who = ''] = name.split('/')
    const cells = [
      (success * 100).toFixed(2).padStart(9),
      meanCost.toFixed(2).padStart(6),
      Math.round(p95Ms).toString().padStart(8),
      (extraLoad * 100).toFixed(1).padStart(8),
    ]
    return `${scene.padEnd(28)}${who.padEnd(12)}${cells.join('  ')}`
  })
  const head = `${'scene'.padEnd(28)}${'by'.padEnd(12)}served, %    cost  p95, ms  extra, %`
  process.stdout.write(`${[head, ...lines].join('\n')}\n`)
}
