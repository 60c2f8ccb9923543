// The route of one request through the targets, and how its attempts affect them: under a virtual clock, so that
// minutes pass at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure, refusalFor } from '../../src/domain/failure.ts'
import type { Client } from '../../src/domain/handoff.ts'
import { maintainTargets } from '../../src/route/probing.ts'
import { snapshot } from '../../src/route/snapshot.ts'
import { type Behaviour, modelOf, openWorld, WELL, worldCatalog } from '../support/simulated-targets.ts'
import {
  failing,
  isProbe,
  limited,
  member,
  outcomes,
  providerOf,
  REFUSED,
  SERVER_ERROR,
  UNKNOWN_KEY,
} from '../support/target-behaviour.ts'

test('an unavailable target is detected after five requests and not called until a probe succeeds', async () => {
  const a = member('a', REFUSED)
  const world = openWorld([a, member('b', WELL, 1)])
  for (let i = 0; i < 10; i++) await world.answer()
  assert.equal(world.calls.filter(({ provider }) => provider === 'a').length, 5)
  assert.deepEqual(world.alarms, [{ kind: 'breaker_opened', provider: 'a', model: 'up' }])

  a.behave = WELL
  const pauseMs = (snapshot(world.targets).targets[0]?.openUntil ?? 0) - world.clock.now()
  world.clock.advance(pauseMs - 1)
  maintainTargets(world.targets)
  assert.equal(world.calls.filter(({ requestId }) => isProbe(requestId)).length, 0)
  world.clock.advance(1)
  maintainTargets(world.targets)
  maintainTargets(world.targets)
  const asked = world.ask()
  await world.run(world.clock.monotonic() + 1000)
  const during = providerOf(await asked)
  const after = providerOf(await world.answer())

  assert.deepEqual([during, after], ['b', 'a'])
  assert.equal(world.calls.filter(({ requestId }) => isProbe(requestId)).length, 1)
  assert.equal(world.alarms.at(-1)?.kind, 'breaker_closed')
})

test('server errors of one account send a probe without its content, and only a failed probe opens the breaker', async () => {
  const poisoned = member('a', call => (isProbe(call.requestId) ? WELL : SERVER_ERROR)(call, 0))
  const broken = member('a', SERVER_ERROR)

  for (const [a, opens] of [
    [poisoned, false],
    [broken, true],
  ] as const) {
    const world = openWorld([a])
    for (let i = 0; i < 5; i++) await world.answer()
    await world.run(world.clock.monotonic() + 1000)

    const probe = world.calls.filter(({ requestId }) => isProbe(requestId))
    assert.deepEqual(
      probe.map(({ outputTokens, model }) => [outputTokens, model]),
      [[1, 'up']],
    )
    assert.equal(snapshot(world.targets).targets[0]?.state, opens ? 'open' : 'closed')
  }
})

test('server errors of two accounts open it without a probe', async () => {
  const world = openWorld([member('a', SERVER_ERROR)])
  for (let i = 0; i < 5; i++) await world.answer({ account: i % 2 === 0 ? 'alice' : 'bob' })

  assert.equal(snapshot(world.targets).targets[0]?.state, 'open')
  assert.equal(world.calls.filter(({ requestId }) => isProbe(requestId)).length, 0)
})

const DISPATCHED: readonly Failure[] = [
  new Failure('reset', 'the upstream closed the connection before the response was complete'),
  new Failure('timeout', 'no answer after 60000 ms'),
  new Failure('connect_timeout', 'ETIMEDOUT: the kernel gave the connection up'),
  new Failure('tls', 'EPROTO: bad record'),
  new Failure('invalid_response', 'the answer is not JSON', { status: 200 }),
  new Failure('interrupted', 'the stream ended without a finish reason'),
  new Failure('too_large', 'the answer is too large'),
  new Failure('limited', 'status 503', { status: 503, retryAfter: 300 }),
  new Failure('limited', 'status 429', { status: 429, retryAfter: 300, bySize: true }),
]

for (const failure of DISPATCHED) {
  test(`after the request was sent, one account's failures affect no other account: ${failure.message}`, async () => {
    const poisoned: Behaviour = ({ requestId, onSent }) => {
      onSent()
      return isProbe(requestId) || !poisoning ? { afterMs: 1 } : { afterMs: 1, failure }
    }
    const world = openWorld([member('a', poisoned, 0, ['one']), member('b', WELL, 1)])
    let poisoning = true
    for (let i = 0; i < 50; i++) await world.answer({ account: 'poisoner' })
    poisoning = false

    const told = await world.answer({ account: 'neighbour' })

    assert.equal(providerOf(told), 'a')
    assert.deepEqual(world.alarms, [])
    assert.deepEqual(
      snapshot(world.targets).credentials.map(({ state }) => state),
      ['active'],
    )
  })
}

test('a reset before the request was sent counts at once', async () => {
  const reset = new Failure('reset', 'ECONNRESET: during the handshake')
  const world = openWorld([member('a', () => ({ afterMs: 1, failure: reset, unsent: true })), member('b', WELL, 1)])
  for (let i = 0; i < 5; i++) await world.answer()

  assert.deepEqual(world.alarms, [{ kind: 'breaker_opened', provider: 'a', model: 'up' }])
})

test('a target recovers although one account sends only requests that hang', async () => {
  const a = member('a', REFUSED)
  const world = openWorld([a])
  for (let i = 0; i < 5; i++) await world.answer({ account: 'poisoner' })
  let poisoning = true
  a.behave = ({ requestId }) => (isProbe(requestId) || !poisoning ? { afterMs: 10 } : { afterMs: 3_600_000 })
  for (let i = 0; i < 60; i++) {
    void world.ask({ account: 'poisoner' })
    await world.run(world.clock.monotonic() + 100)
    maintainTargets(world.targets)
  }
  poisoning = false

  assert.equal(snapshot(world.targets).targets[0]?.state, 'closed')
  assert.equal(providerOf(await world.answer({ account: 'neighbour' })), 'a')
})

test('a rate-limited or rejected probe is repeated with the next credential, never with a limited one', async () => {
  const a = member('a', REFUSED, 0, ['one', 'two', 'three'])
  const world = openWorld([a])
  for (let i = 0; i < 5; i++) await world.answer()
  const answers = { three: limited(60), one: UNKNOWN_KEY, two: WELL }
  a.behave = call => answers[call.credential?.id as 'one'](call, 0)
  for (let i = 0; i < 12; i++) {
    world.clock.advance(1000)
    maintainTargets(world.targets)
    await world.run(world.clock.monotonic() + 250)
  }

  const { targets, credentials } = snapshot(world.targets)
  assert.equal(targets[0]?.state, 'closed')
  assert.deepEqual(
    credentials.map(({ state }) => state),
    ['dead', 'active', 'limited'],
  )
  const probes = world.calls.filter(({ requestId }) => isProbe(requestId))
  assert.deepEqual(probes.map(({ credential }) => credential).toSorted(), ['one', 'three', 'two'])
})

test('a probe in progress decides nothing once a caller got an answer', async () => {
  const a = member('a', REFUSED)
  const world = openWorld([a])
  for (let i = 0; i < 5; i++) await world.answer()
  a.behave = ({ requestId }) =>
    isProbe(requestId) ? { afterMs: 500, failure: new Failure('timeout', 'no answer') } : { afterMs: 1 }
  world.clock.advance(5000)
  maintainTargets(world.targets)
  assert.equal(providerOf(await world.answer()), 'a')
  await world.run(world.clock.monotonic() + 1000)

  assert.equal(snapshot(world.targets).targets[0]?.state, 'closed')
})

test('with all breakers open the accounts take turns, and one with ten times the requests is not tried more often', async () => {
  const world = openWorld([member('a', REFUSED)])
  for (let i = 0; i < 5; i++) await world.answer()
  const tried = { poisoner: 0, neighbour: 0, other: 0 }
  const ask = async (account: keyof typeof tried) => {
    if ((await world.answer({ account })).answer.attempts.length > 0) tried[account] += 1
  }
  world.clock.advance(1000)
  for (let i = 0; i < 600; i++) {
    await ask('poisoner')
    if (i % 10 === 0) await ask('neighbour')
    if (i % 10 === 5) await ask('other')
    world.clock.advance(100)
  }

  assert.ok(tried.poisoner + tried.neighbour + tried.other >= 40, JSON.stringify(tried))
  assert.ok(Math.min(tried.neighbour, tried.other) >= tried.poisoner - 2, JSON.stringify(tried))
})

test('an account that has stopped sending is waited for at most ten seconds', async () => {
  const world = openWorld([member('a', REFUSED)])
  for (let i = 0; i < 5; i++) await world.answer()
  world.clock.advance(1000)
  await world.answer({ account: 'poisoner' })
  await world.answer({ account: 'gone' })
  const tried: number[] = []
  for (let second = 1; second <= 15; second++) {
    world.clock.advance(1000)
    if ((await world.answer({ account: 'poisoner' })).answer.attempts.length > 0) tried.push(second)
  }

  assert.ok(tried[0] !== undefined && tried[0] >= 10 && tried[0] <= 11, JSON.stringify(tried))
  assert.deepEqual(tried.slice(1), [tried[0] + 1, tried[0] + 2, tried[0] + 3, tried[0] + 4].slice(0, tried.length - 1))
})

test("one account's failures send at most one probe in five seconds", async () => {
  const poisoned: Behaviour = call => (isProbe(call.requestId) ? { afterMs: 1 } : SERVER_ERROR(call, 0))
  const world = openWorld([member('a', poisoned)])
  for (let i = 0; i < 200; i++) {
    await world.answer()
    world.clock.advance(50)
  }

  const questions = world.calls.filter(({ requestId }) => isProbe(requestId)).length
  assert.ok(questions >= 2 && questions <= 3, String(questions))
})

test('with all breakers open one request a second goes to the best target, and the others get a Retry-After', async () => {
  const world = openWorld([member('a', limited(40)), member('b', limited(20), 1)])
  for (let i = 0; i < 5; i++) await world.answer()
  const before = world.calls.length

  const told = await Promise.all([world.answer(), world.ask(), world.ask()])
  const [tried, ...refused] = told.map(({ answer }) => answer)

  assert.deepEqual(
    tried?.attempts.map(({ provider }) => provider),
    ['b'],
  )
  assert.equal(world.calls.length, before + 1)
  for (const answer of refused) {
    assert.deepEqual(answer.attempts, [])
    const refusal = refusalFor(answer.failures)
    assert.deepEqual([refusal.code, refusal.detail.retryAfter], ['provider_unavailable', 20])
  }
  world.clock.advance(1000)
  assert.equal((await world.answer()).answer.attempts.length, 1)
})

test('retries end with the budget: the reserve and a fifth of the requests', async () => {
  const bounds = { breakerFailuresInARowMax: 1000, breakerRequestsMin: 1000 }
  const world = openWorld([member('a', REFUSED), member('b', WELL, 1)], { bounds })
  let served = 0
  for (let i = 0; i < 100; i++) if (providerOf(await world.answer()) !== undefined) served += 1

  assert.ok(served >= 28 && served <= 30, String(served))
})

test('after a timeout of a sent request, a model with hidden reasoning is not tried elsewhere', async () => {
  const timeout = new Failure('timeout', 'no end after 900000 ms')
  for (const [hiddenReasoning, failure, unsent, expected] of [
    [true, timeout, false, ['timeout']],
    [true, new Failure('timeout', 'status 504', { status: 504 }), false, ['timeout']],
    [true, timeout, true, ['timeout', 'answered']],
    [true, new Failure('status', 'status 500', { status: 500 }), false, ['status', 'answered']],
    [false, timeout, false, ['timeout', 'answered']],
  ] as const) {
    const members = [member('a', () => ({ afterMs: 1, failure, unsent })), member('b', WELL, 1)]
    const model = modelOf('m', members, 'priority', { hiddenReasoning })
    const world = openWorld(members)
    world.replace(worldCatalog(members, [model]))

    assert.deepEqual(outcomes(await world.answer({ models: [model] })), expected)
  }
})

test('the same holds for a request that hides its reasoning, with any model', async () => {
  const timeout = new Failure('timeout', 'no end after 900000 ms')
  const world = openWorld([member('a', () => ({ afterMs: 1, failure: timeout })), member('b', WELL, 1)])

  const hidden = await world.answer({ body: { reasoning: { exclude: true } } })
  const plain = await world.answer()

  assert.deepEqual(outcomes(hidden), ['timeout'])
  assert.deepEqual(outcomes(plain), ['timeout', 'answered'])
})

test('a prompt that is too long goes only to a listed model with a longer context', async () => {
  const tooLong = failing(new Failure('rejected', 'status 400', { status: 400, tooLong: true }))
  const members = [member('a', call => (call.model === 'big' ? WELL : tooLong)(call, 0)), member('b', tooLong, 1)]
  const small = modelOf('small', members)
  const same = modelOf('same', members)
  const targets = [{ provider: 'a', model: 'big', priority: 0, weight: 1 }]
  const big = modelOf('big', members, 'priority', { contextLength: 20_000, maxOutputTokens: 500, targets })
  const world = openWorld(members)
  world.replace(worldCatalog(members, [small, same, big]))

  const alone = await world.answer({ models: [small] })
  const retried = await world.answer({ models: [small, same, big], outputTokens: 800 })

  assert.deepEqual(outcomes(alone), ['rejected'])
  assert.equal(refusalFor(alone.answer.failures).code, 'upstream_rejected')
  assert.deepEqual(outcomes(retried), ['rejected', 'answered'])
  assert.equal(retried.answer.model.id, 'big')
  assert.deepEqual(
    world.calls.slice(1).map(({ outputTokens }) => outputTokens),
    [800, 500],
    'each model gets at most its own cap',
  )
})

test('an interruption after the first content counts against the target', async () => {
  const world = openWorld([member('a', () => ({ afterMs: 10, lastsMs: 10, breaks: new Failure('reset', 'reset') }))])
  for (let i = 0; i < 19; i++) await world.answer()
  const before = snapshot(world.targets).targets[0]
  for (let i = 0; i < 3; i++) await world.answer()

  assert.deepEqual([before?.state, before?.successRate, before?.inFlight, before?.failures], ['closed', 0, 0, 19])
  assert.equal(world.alarms[0]?.kind, 'breaker_opened', 'each answer began, and yet too many failed')
})

test('rejected requests and stale connections do not affect the health of a target', async () => {
  const a = member('a', failing(new Failure('rejected', 'status 400', { status: 400 })))
  const world = openWorld([a, member('b', WELL, 1)])
  for (let i = 0; i < 30; i++) assert.deepEqual(outcomes(await world.answer()), ['rejected'])
  let calls = 0
  const stale = new Failure('reset', 'closed before anything came', { stale: true })
  a.behave = (call, nowMs) => (calls++ % 2 === 0 ? failing(stale) : WELL)(call, nowMs)
  for (let i = 0; i < 30; i++) assert.deepEqual(outcomes(await world.answer()), ['reset', 'answered'])

  const { state, failures, successRate } = snapshot(world.targets).targets[0] ?? {}
  assert.deepEqual([state, failures, successRate], ['closed', 0, 1])
  assert.deepEqual(world.alarms, [])
})

test('an attempt that the budget refuses is not counted as sent', async () => {
  const bounds = { retryReserveMax: 0, retryPercentMax: 0 }
  const world = openWorld([member('a', REFUSED), member('b', WELL, 1)], { bounds })
  await world.answer()

  const counts = snapshot(world.targets).targets.map(({ requests, inFlight }) => [requests, inFlight])
  assert.deepEqual(counts, [
    [1, 0],
    [0, 0],
  ])
})

test('an answer from before a rate limit does not lift it', async () => {
  const a = member('a', () => ({ afterMs: 500 }), 0, ['one'])
  const world = openWorld([a, member('b', WELL, 1)])
  const early = world.ask()
  a.behave = limited(60)
  await world.answer()
  await world.run(1000)
  await early

  assert.equal(providerOf(await world.answer()), 'b')
})

test('a disconnect is no failure, and the next request may try', async () => {
  const a = member('a', REFUSED)
  const world = openWorld([a])
  for (let i = 0; i < 5; i++) await world.answer()
  a.behave = () => ({ afterMs: 60_000 })
  world.clock.advance(5000)
  const { client, leave } = leaver()

  const left = world.ask({ client })
  await world.run(world.clock.monotonic() + 100)
  leave()
  const told = await left

  assert.deepEqual(outcomes(told), ['client_left'])
  const { inFlight, failures, state } = snapshot(world.targets).targets[0] ?? {}
  assert.deepEqual([inFlight, failures, state], [0, 5, 'open'])
  a.behave = WELL
  world.clock.advance(1000)
  assert.equal(providerOf(await world.answer()), 'a')
})

test('the state survives a new catalog, except for a moved provider and a new credential', async () => {
  const members = [member('stays', REFUSED, 0, ['one']), member('moves', REFUSED, 1)]
  const world = openWorld(members)
  for (let i = 0; i < 6; i++) await world.answer()
  const elsewhere = members.map(one => (one.id === 'moves' ? { ...one, baseUrl: 'http://elsewhere.test/v1' } : one))

  world.replace(worldCatalog(elsewhere, [world.model]))
  const states = snapshot(world.targets).targets.map(({ provider, state, requests }) => [provider, state, requests > 0])
  world.replace(worldCatalog(elsewhere.slice(1), [modelOf('m', elsewhere.slice(1))]))

  assert.deepEqual(states, [
    ['stays', 'open', true],
    ['moves', 'closed', false],
  ])
  assert.deepEqual(
    snapshot(world.targets).targets.map(({ provider }) => provider),
    ['moves'],
    'the state of removed targets is dropped',
  )
})

test('an unexpected error in an adapter is reported as such and leaves nothing in flight', async () => {
  const world = openWorld([
    member('a', () => {
      throw new Error('a bug')
    }),
  ])

  await assert.rejects(world.ask(), /a bug/)

  const { inFlight, failures } = snapshot(world.targets).targets[0] ?? {}
  assert.deepEqual([inFlight, failures], [0, 0])
})

test('the snapshot reports states and wall-clock times, and no secret', async () => {
  const world = openWorld([member('a', REFUSED, 0, ['one'])])
  for (let i = 0; i < 5; i++) await world.answer()

  const view = snapshot(world.targets)

  assert.deepEqual(view.targets, [
    {
      provider: 'a',
      model: 'up',
      state: 'open',
      status: 'down',
      recent: { requests: 5, failures: 5, firstByteMs: null },
      successRate: 0,
      firstByteMs: null,
      inFlight: 0,
      requests: 5,
      failures: 5,
      openUntil: world.clock.now() + 5000,
    },
  ])
  assert.deepEqual(view.credentials, [{ provider: 'a', id: 'one', state: 'active', until: null }])
  assert.doesNotMatch(JSON.stringify(view), /secret/)
})

function leaver(): { readonly client: Client; leave(): void } {
  let listener = () => {}
  const onGone = (next: () => void) => {
    listener = next
    return () => undefined
  }
  return { client: { gone: false, onGone, onCancelled: () => () => undefined }, leave: () => listener() }
}
