// The effect of each outcome of an attempt: which failures count at once, which concern a credential, how long a
// target's Retry-After is respected, and what a moved provider loses. Under a virtual clock.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOUNDS } from '../../src/config/limits.ts'
import { Failure, type FailureKind } from '../../src/domain/failure.ts'
import { snapshot } from '../../src/route/snapshot.ts'
import { type Behaviour, type Member, openWorld, WELL, type World, worldCatalog } from '../support/simulated-targets.ts'

const UNKNOWN_KEY = failing(new Failure('credential', 'status 401', { status: 401 }))
const limited = (retryAfter: number) => failing(new Failure('limited', 'status 429', { status: 429, retryAfter }))
const overloaded = (retryAfter: number) => failing(new Failure('limited', 'status 503', { status: 503, retryAfter }))

for (const kind of ['refused', 'dns', 'tls', 'connect_timeout'] as const satisfies FailureKind[]) {
  test(`${kind} counts at once: no content can cause it, so one account's failures open the breaker without a probe`, async () => {
    const world = openWorld([member('a', failing(new Failure(kind, kind)))])
    for (let i = 0; i < 4; i++) await world.answer()
    const before = stateOf(world)
    await world.answer()

    assert.deepEqual([before, stateOf(world)], ['closed', 'open'])
    assert.equal(world.calls.length, 5, 'no probe is sent')
  })
}

for (const kind of ['reset', 'timeout', 'invalid_response', 'interrupted'] as const satisfies FailureKind[]) {
  test(`${kind} may come from the content: from one account it opens nothing and sends a probe`, async () => {
    const world = openWorld([member('a', call => (isProbe(call) ? WELL : failing(new Failure(kind, kind)))(call, 0))])
    for (let i = 0; i < 5; i++) await world.answer()
    await world.run(world.clock.monotonic() + 1000)

    assert.equal(stateOf(world), 'closed')
    assert.equal(world.calls.length, 6)
  })
}

test('an answer beyond the size bound does not affect the health of its target', async () => {
  const world = openWorld([member('a', failing(new Failure('too_large', 'too large')))])
  for (let i = 0; i < 5; i++) await world.answer()
  await world.run(world.clock.monotonic() + 1000)

  assert.equal(stateOf(world), 'closed')
  assert.equal(world.calls.length, 5, 'no probe is sent')
})

test('a 429 counts against the target once no credential is left, and not while another is usable', async () => {
  const spared = member('a', call => (call.credential?.id === 'one' ? limited(1) : WELL)(call, 0), ['one', 'two'])
  const limitedAll = member('a', limited(1), ['one', 'two'])

  for (const [a, expected] of [
    [spared, 'closed'],
    [limitedAll, 'open'],
  ] as const) {
    const world = openWorld([a], { bounds: { breakerFailuresInARowMax: 1 } })
    await world.answer()

    assert.deepEqual(used(world), ['one', 'two'])
    assert.equal(stateOf(world), expected)
    assert.equal(world.calls.length, 2, 'no probe is sent')
  }
})

test("an open breaker waits for the target's Retry-After, up to five minutes", async () => {
  for (const [asked, waitedMs] of [
    [40, 40_000],
    [300, 300_000],
    [301, 300_000],
    [86_400, 300_000],
  ] as const) {
    const world = openWorld([member('a', overloaded(asked))])
    for (const account of ['alice', 'bob', 'alice', 'bob', 'alice']) await world.answer({ account })

    const { state, openUntil } = snapshot(world.targets).targets[0] ?? {}
    assert.deepEqual([state, (openUntil ?? 0) - world.clock.now()], ['open', waitedMs])
  }
})

test('the Retry-After of a probe is limited in the same way', async () => {
  const world = openWorld([member('a', overloaded(86_400))])
  for (let i = 0; i < 5; i++) await world.answer()
  await world.run(world.clock.monotonic() + 1000)

  const { state, openUntil } = snapshot(world.targets).targets[0] ?? {}
  assert.equal(state, 'open')
  assert.ok((openUntil ?? 0) - world.clock.now() <= BOUNDS.retryAfterMsMax)
})

test('a moved provider resets its targets and credentials; an unmoved one keeps their state', async () => {
  const dead: Behaviour = call => (call.credential?.id === 'dead' ? UNKNOWN_KEY : limited(100))(call, 0)
  const members = ['stays', 'moves'].map(id => member(id, dead, ['dead', 'limited']))
  const world = openWorld(members)
  for (let i = 0; i < 6; i++) {
    await world.answer()
    await world.run(world.clock.monotonic() + 1000)
  }
  const known = (id: string) => {
    const { targets, credentials } = snapshot(world.targets)
    const isIts = ({ provider }: { readonly provider: string }) => provider === id
    return [...targets.filter(isIts).map(({ requests }) => requests > 0), ...credentials.filter(isIts).map(stateIn)]
  }
  const stateIn = ({ state }: { readonly state: string }) => state
  const all = [true, 'dead', 'limited']
  assert.deepEqual([known('stays'), known('moves')], [all, all])

  world.replace(
    worldCatalog(
      members.map(one => (one.id === 'moves' ? { ...one, baseUrl: 'http://elsewhere.test/v1' } : one)),
      [world.model],
    ),
  )

  assert.deepEqual([known('stays'), known('moves')], [all, [false, 'active', 'active']])
})

test('a suspected credential is used only if there is no other', async () => {
  const unanswered = { afterMs: 1e9 }
  const refusing: Behaviour = call => (call.credential?.id === 'one' ? UNKNOWN_KEY : WELL)(call, 0)
  const a = member('a', call => (isProbe(call) ? unanswered : refusing(call, 0)), ['one', 'two'])
  const world = openWorld([a])
  await world.answer()
  assert.equal(snapshot(world.targets).credentials[0]?.state, 'suspected')
  for (let i = 0; i < 4; i++) await world.answer()
  const withAnother = used(world)

  a.behave = call => (call.credential?.id === 'two' ? limited(60) : WELL)(call, 0)
  const { answer } = await world.answer()

  assert.deepEqual(withAnother, ['one', 'two', 'two', 'two', 'two', 'two'])
  assert.deepEqual(used(world).slice(6), ['two', 'one'])
  assert.ok(answer.served)
})

test('a request makes at most three attempts, whatever other targets exist', async () => {
  const nobody = failing(new Failure('refused', 'refused'))
  const members = ['a', 'b', 'c'].map((id, priority) => member(id, nobody, [], priority))
  const world = openWorld([...members, member('d', WELL, [], 3)])

  const { answer } = await world.answer()

  assert.equal(answer.served, undefined)
  assert.deepEqual(
    world.calls.map(({ provider }) => provider),
    ['a', 'b', 'c'],
  )
})

function member(id: string, behave: Behaviour, keys: readonly string[] = [], priority = 0): Member {
  return { id, behave, target: { priority }, credentials: keys.map(key => ({ id: key, secret: `secret-${key}` })) }
}

function failing(failure: Failure): Behaviour {
  return () => ({ afterMs: 1, failure })
}

function isProbe({ requestId }: { readonly requestId: string }): boolean {
  return requestId.startsWith('probe-')
}

function stateOf(world: World): string | undefined {
  return snapshot(world.targets).targets[0]?.state
}

function used(world: World): (string | undefined)[] {
  return world.calls.filter(call => !isProbe(call)).map(({ credential }) => credential)
}
