// Rate limits and credentials of targets, as routing sees them: under a virtual clock, so that minutes pass at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maintainTargets } from '../../src/route/probing.ts'
import { snapshot } from '../../src/route/snapshot.ts'
import { type Behaviour, type Member, openWorld, WELL } from '../support/simulated-targets.ts'
import {
  credentials,
  FORBIDDEN,
  isProbe,
  limited,
  member,
  outcomes,
  providerOf,
  SERVER_ERROR,
  UNKNOWN_KEY,
} from '../support/target-behaviour.ts'

test('a rate limit holds until its Retry-After, up to five minutes', async () => {
  const a = member('a', limited(10_000))
  const world = openWorld([a, member('b', WELL, 1)])
  await world.answer()
  a.behave = WELL

  assert.equal(providerOf(await world.answer()), 'b')
  world.clock.advance(299_000)
  assert.equal(providerOf(await world.answer()), 'b')
  world.clock.advance(1000)
  assert.equal(providerOf(await world.answer()), 'a')
})

test('credentials are used round-robin; a limited one is skipped for that model until its time, and the request is retried with the next', async () => {
  const a = member('a', WELL, 0, ['one', 'two', 'three'])
  const world = openWorld([a])
  for (let i = 0; i < 6; i++) await world.answer()
  assert.deepEqual(credentials(world), ['one', 'two', 'three', 'one', 'two', 'three'])

  a.behave = call => (call.credential?.id === 'one' ? limited(30) : WELL)(call, 0)
  const retried = await world.answer()
  for (let i = 0; i < 4; i++) await world.answer()

  assert.deepEqual(outcomes(retried), ['limited', 'answered'])
  assert.deepEqual(credentials(world).slice(6), ['one', 'two', 'three', 'two', 'three', 'two'])
  assert.equal(snapshot(world.targets).credentials[0]?.state, 'limited')
  a.behave = WELL
  world.clock.advance(30_000)
  for (let i = 0; i < 3; i++) await world.answer()
  assert.deepEqual(credentials(world).slice(12), ['three', 'one', 'two'])
})

test('a rejected credential is probed, disabled with one alarm, and recovers by itself', async () => {
  const dead = (call: Parameters<Behaviour>[0]) => call.credential?.id === 'one'
  const a = member('a', call => (dead(call) ? UNKNOWN_KEY : WELL)(call, 0), 0, ['one', 'two'])
  const world = openWorld([a])

  const retried = await world.answer()
  await world.run(world.clock.monotonic() + 1000)
  for (let i = 0; i < 3; i++) await world.answer()

  assert.deepEqual(outcomes(retried), ['credential', 'answered'])
  assert.deepEqual(world.alarms, [{ kind: 'credential_dead', provider: 'a', credential: 'one' }])
  assert.deepEqual(credentials(world), ['one', 'two', 'two', 'two', 'two'])

  a.behave = WELL
  maintainTargets(world.targets)
  assert.equal(world.calls.length, 6, 'not before its time')
  world.clock.advance(60_000)
  maintainTargets(world.targets)
  await world.run(world.clock.monotonic() + 1000)
  for (let i = 0; i < 2; i++) await world.answer()
  assert.equal(world.alarms.at(-1)?.kind, 'credential_alive')
  assert.deepEqual(new Set(credentials(world).slice(-2)), new Set(['one', 'two']))
})

test('a 401 that the probe does not confirm disables nothing, and a 403 never does', async () => {
  for (const fault of [UNKNOWN_KEY, FORBIDDEN]) {
    const a = member('a', call => (isProbe(call.requestId) ? { afterMs: 0 } : fault(call, 0)), 0, ['one'])
    const world = openWorld([a])
    for (let i = 0; i < 20; i++) await world.answer()
    await world.run(world.clock.monotonic() + 1000)

    const { targets, credentials: keys } = snapshot(world.targets)
    assert.deepEqual([targets[0]?.state, keys[0]?.state], ['closed', 'active'])
    assert.deepEqual(world.alarms, [])
    assert.equal(world.calls.filter(({ requestId }) => isProbe(requestId)).length, 1, 'one probe in five seconds')
  }
})

test('a probe without an answer times out: it opens the breaker and confirms nothing about a credential', async () => {
  for (const fault of [SERVER_ERROR, UNKNOWN_KEY]) {
    const silent: Behaviour = call => (isProbe(call.requestId) ? { afterMs: 1e9 } : fault(call, 0))
    const world = openWorld([member('a', silent, 0, ['one'])])
    for (let i = 0; i < 5; i++) await world.answer()
    maintainTargets(world.targets)
    const before = snapshot(world.targets)
    world.clock.advance(30_000)
    maintainTargets(world.targets)
    const after = snapshot(world.targets)

    assert.equal(before.targets[0]?.state, 'closed')
    if (fault === SERVER_ERROR) assert.equal(after.targets[0]?.state, 'open')
    else
      assert.deepEqual(
        [before, after].map(view => view.credentials[0]?.state),
        ['suspected', 'active'],
      )
  }
})

test('a provider with only invalid credentials is no candidate, and the others serve', async () => {
  const world = openWorld([member('a', UNKNOWN_KEY, 0, ['one']), member('b', WELL, 1)])
  await world.answer()
  await world.run(world.clock.monotonic() + 1000)

  const { answer } = await world.answer()

  assert.deepEqual(
    answer.considered.map(({ provider, reason }) => [provider, reason]),
    [
      ['b', 'priority'],
      ['a', 'no_credential'],
    ],
  )
})

test('if only limited or invalid credentials are left they are still used, and an answer reactivates them', async () => {
  let isWell = false
  const a: Member['behave'] = (upstreamRequest, nowMs) => (isWell ? WELL : UNKNOWN_KEY)(upstreamRequest, nowMs)
  const world = openWorld([member('a', a, 0, ['one'])])
  await world.answer()
  await world.run(world.clock.monotonic() + 1000)
  assert.equal(snapshot(world.targets).credentials[0]?.state, 'dead')

  const first = await world.answer()
  isWell = true
  const second = await world.answer()
  assert.deepEqual([first.answer.attempts.length, first.answer.considered[0]?.reason], [1, 'no_credential'])
  assert.ok(second.answer.served)
  assert.deepEqual(
    [snapshot(world.targets).credentials[0]?.state, world.alarms.at(-1)?.kind],
    ['active', 'credential_alive'],
  )
})

test('a session keeps its credential while it can serve', async () => {
  const world = openWorld([member('a', WELL, 0, ['one', 'two', 'three'])])
  for (let i = 0; i < 5; i++) await world.answer({ stickTo: 'session' })

  assert.equal(new Set(credentials(world)).size, 1)
})
