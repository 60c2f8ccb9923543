// Choosing targets: the order of each strategy, the preferences of a request, sticky sessions, and that reading changes
// nothing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { TargetCost } from '../../src/domain/credits.ts'
import { Failure } from '../../src/domain/failure.ts'
import { NO_WISHES, type RoutingPreferences } from '../../src/domain/routing.ts'
import { choose } from '../../src/route/choose.ts'
import { snapshot } from '../../src/route/snapshot.ts'
import {
  type Ask,
  type Behaviour,
  type Member,
  modelOf,
  openWorld,
  WELL,
  type World,
  worldCatalog,
} from '../support/simulated-targets.ts'

const DOWN: Behaviour = () => ({ afterMs: 1, failure: new Failure('refused', 'refused') })

test('by priority, and within a priority by weight', () => {
  const world = openWorld([
    member('last', { priority: 2 }),
    member('heavy', { weight: 3 }),
    member('light', { weight: 1 }),
    member('never', { weight: 0 }),
  ])

  const orders = Array.from({ length: 4000 }, () => order(world))

  assert.ok(orders.every(names => names[3] === 'last' && names[2] === 'never'))
  assertShare(orders.filter(names => names[0] === 'heavy').length / 4000, 0.75)
})

test('weighted ignores priorities', () => {
  const world = openWorld([member('a', { priority: 9 }), member('b')], { strategy: 'weighted' })

  const firsts = Array.from({ length: 2000 }, () => order(world)[0])

  assertShare(firsts.filter(name => name === 'a').length / 2000, 0.5)
})

test('the cheapest by the cost of this request; targets without a stated cost come last', () => {
  const world = openWorld(
    [
      member('unknown'),
      member('dear', { cost: rates(5n, 5n) }),
      member('long_answers', { cost: rates(4n, 1n) }),
      member('long_prompts', { cost: rates(1n, 2n) }),
    ],
    { strategy: 'cheapest' },
  )
  const longPrompt = { body: { messages: [{ role: 'user', content: 'x'.repeat(40_000) }] } }

  assert.deepEqual(order(world), ['long_answers', 'long_prompts', 'dear', 'unknown'])
  assert.deepEqual(order(world, longPrompt), ['long_prompts', 'long_answers', 'dear', 'unknown'])
})

test('the fastest by time to first byte, separately for streams and JSON; an unknown target is tried occasionally', async () => {
  const slow = member('slow', {}, () => ({ afterMs: 900 }))
  const quick = member('quick', {}, () => ({ afterMs: 100 }))
  const world = openWorld([slow, quick], { strategy: 'fastest' })
  for (const only of ['slow', 'quick']) await world.answer({ preferences: wish({ only: [only] }) })

  assert.deepEqual(new Set(Array.from({ length: 100 }, () => order(world)[0])), new Set(['quick']))
  assert.equal(new Set(Array.from({ length: 100 }, () => order(world, { body: { stream: false } })[0])).size, 2)

  world.clock.advance(5 * 60_000)
  await world.answer({ preferences: wish({ only: ['quick'] }) })
  const explored = Array.from({ length: 2000 }, () => order(world)[0]).filter(name => name === 'slow').length / 2000
  assert.ok(explored > 0.02 && explored < 0.1, String(explored))
})

test('the least busy by its requests in flight relative to its weight', async () => {
  const world = openWorld([member('one'), member('three', { weight: 3 })], { strategy: 'least_busy' })
  const asked = Array.from({ length: 8 }, () => world.ask())

  const busy = snapshot(world.targets).targets.map(({ provider, inFlight }) => [provider, inFlight])

  assert.deepEqual(busy, [
    ['one', 2],
    ['three', 6],
  ])
  await world.run(1000)
  await Promise.all(asked)
})

test('a target that fails too often comes after the others, and an open one is not tried', async () => {
  const flaky = { ...member('flaky'), behave: WELL }
  const world = openWorld([flaky, member('b', { priority: 1 })])
  for (let i = 0; i < 15; i++) {
    flaky.behave = i % 3 === 0 ? DOWN : WELL
    await world.answer()
  }
  assert.deepEqual(places(world), ['b priority', 'flaky unhealthy'])

  flaky.behave = DOWN
  for (let i = 0; i < 5; i++) await world.answer({ preferences: wish({ only: ['flaky'] }) })
  assert.deepEqual(places(world), ['b priority', '- flaky breaker_open'])
})

test('preferences: an order, only some, not others, a maximum price, no fallbacks', () => {
  const world = openWorld(['a', 'b', 'c'].map((id, priority) => member(id, { priority })))
  const told = (preferences: Partial<RoutingPreferences>) => places(world, { preferences: wish(preferences) })

  assert.deepEqual(told({ order: ['c', 'nobody', 'b'] }), ['c requested_order', 'b requested_order', 'a priority'])
  assert.deepEqual(told({ only: ['b', 'c'] }), ['b priority', 'c priority', '- a not_in_only'])
  assert.deepEqual(told({ ignore: ['a'] }), ['b priority', 'c priority', '- a ignored'])
  assert.deepEqual(told({ allowFallbacks: false }), ['a priority', '- b no_fallbacks', '- c no_fallbacks'])
  assert.deepEqual(told({ order: ['b'], allowFallbacks: false }), [
    'b requested_order',
    '- a no_fallbacks',
    '- c no_fallbacks',
  ])
  assert.deepEqual(told({ maxPrice: { prompt: 10n, completion: 20n, request: 0n } }).length, 3)
  for (const maxPrice of [{ prompt: 9n }, { completion: 19n }]) {
    assert.deepEqual(told({ maxPrice }), ['- a above_max_price', '- b above_max_price', '- c above_max_price'])
  }
  assert.deepEqual(order(world, { preferences: wish({ only: [] }) }), [])
})

test('a requested sort replaces the strategy of the model', () => {
  const world = openWorld([
    member('dear', { cost: rates(9n, 9n) }),
    member('cheap', { priority: 1, cost: rates(1n, 1n) }),
  ])

  assert.deepEqual(places(world, { preferences: wish({ sort: 'cheapest' }) }), ['cheap cheapest', 'dear cheapest'])
})

test('required parameters are those that the request uses, and a model that does not list one is skipped', () => {
  const members = [member('a')]
  const plain = modelOf('plain', members)
  const able = modelOf('able', members, 'priority', { supportedParameters: ['tools', 'temperature', 'max_tokens'] })
  const world = openWorld(members)
  world.replace(worldCatalog(members, [plain, able]))
  const preferences = wish({ requireParameters: true })
  const told = (body: Record<string, unknown>) => places(world, { models: [plain, able], preferences, body })

  assert.deepEqual(told({}), ['a priority', 'a fallback_model'])
  assert.deepEqual(told({ temperature: 1, max_completion_tokens: 5 }), [
    'a fallback_model',
    '- a unsupported_parameters',
  ])
  assert.deepEqual(told({ top_p: 1 }), ['- a unsupported_parameters', '- a unsupported_parameters'])
})

test("the caller's models are tried in the given order, each by its own strategy", () => {
  const members = [member('a'), member('b', { priority: 1 })]
  const first = modelOf('first', members)
  const second = modelOf('second', members)
  const world = openWorld(members)
  world.replace(worldCatalog(members, [first, second]))

  const { considered } = choose(world.request({ models: [second, first] }), world.needs)

  assert.deepEqual(
    considered.map(({ model, provider, position }) => [model, provider, position]),
    [
      ['second', 'a', 0],
      ['second', 'b', 1],
      ['first', 'a', 2],
      ['first', 'b', 3],
    ],
  )
})

test('the same session sticks to the same target, sessions spread by weight, and only those of an unhealthy target move', () => {
  const ids = ['a', 'b', 'c', 'd']
  const all = openWorld(ids.map(id => member(id, { weight: id === 'a' ? 3 : 1 })))
  const fewer = openWorld(ids.slice(0, 3).map(id => member(id, { weight: id === 'a' ? 3 : 1 })))
  const words = Array.from({ length: 3000 }, (_, i) => `session-${i}`)
  const homes = words.map(word => order(all, { stickTo: word })[0])

  assertShare(homes.filter(home => home === 'a').length / 3000, 0.5)
  for (const [i, word] of words.entries()) {
    assert.equal(order(all, { stickTo: word })[0], homes[i])
    if (homes[i] !== 'd') assert.equal(order(fewer, { stickTo: word })[0], homes[i])
  }
})

test('stickiness stays within the best priority and after the requested order', () => {
  const world = openWorld([member('a'), member('b'), member('backup', { priority: 1 })])
  fc.assert(
    fc.property(fc.string(), word => {
      const names = order(world, { stickTo: word })
      assert.equal(names[2], 'backup')
      assert.equal(places(world, { stickTo: word })[0], `${names[0]} sticky`)
      assert.equal(order(world, { stickTo: word, preferences: wish({ order: ['backup'] }) })[0], 'backup')
    }),
  )
})

test('reading is free of side effects: a thousand reads change neither the choice nor the state', async () => {
  const dead = { ...member('a'), behave: DOWN }
  const world = openWorld([dead])
  for (let i = 0; i < 5; i++) await world.answer()
  const before = JSON.stringify(snapshot(world.targets))

  for (let i = 0; i < 1000; i++) assert.deepEqual(places(world), ['a last_resort'])

  assert.equal(JSON.stringify(snapshot(world.targets)), before)
  assert.equal(world.calls.length, 5)
})

function member(id: string, target: Member['target'] = {}, behave: Behaviour = WELL): Member {
  return { id, behave, target }
}

function rates(prompt: bigint, completion: bigint): TargetCost {
  return { prompt, completion, cacheRead: prompt, cacheWrite: prompt, request: 0n }
}

function wish(preferences: Partial<RoutingPreferences>): RoutingPreferences {
  return { ...NO_WISHES, ...preferences }
}

function order(world: World, asked: Ask = {}): string[] {
  return choose(world.request(asked), world.needs).queue.map(({ provider }) => provider.id)
}

function places(world: World, asked: Ask = {}): string[] {
  return choose(world.request(asked), world.needs).considered.map(
    ({ provider, position, reason }) => `${position === null ? '- ' : ''}${provider} ${reason}`,
  )
}

function assertShare(share: number, wanted: number): void {
  assert.ok(Math.abs(share - wanted) < 0.04, `${share} instead of ${wanted}`)
}
