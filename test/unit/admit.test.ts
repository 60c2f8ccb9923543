// Admission on a node whose store others may change: a refusal by memory is confirmed by a record that is younger than the
// request, at the cost of one look-up at a time; and on a store of its own a memory is never asked about.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { admit } from '../../src/admit/admit.ts'
import { authenticator } from '../../src/admit/authenticate.ts'
import type { EndpointRule } from '../../src/admit/authorize.ts'
import { keyLimits } from '../../src/admit/rate-limit.ts'
import { BOUNDS } from '../../src/config/limits.ts'
import type { Call } from '../../src/domain/handoff.ts'
import type { Key } from '../../src/domain/key.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { parseAddress } from '../../src/lib/ip-address.ts'
import { StoreUnavailable } from '../../src/store/contract/store.ts'
import { bearerOf, keyWith } from '../support/authenticated-key.ts'

const rule: EndpointRule = { endpoint: 'models', method: 'GET', scope: 'models.read', evenIfSuspended: false }

test('a refusal by memory is told only after a look at the store, which may say otherwise', async () => {
  const fixture = openFixture({ shared: true })
  await fixture.ask()

  fixture.change({ ...fixture.key, scopes: [], version: 2 })
  const stillIn = await fixture.ask()
  fixture.forget()
  const refused = await fixture.ask()
  fixture.change({ ...fixture.key, scopes: ['models.read'], version: 3 })
  const allowed = await fixture.ask()

  // What is wrongly let in is the gate's to find out.
  assert.deepEqual([stillIn, refused, allowed], ['in', 'insufficient_scope', 'in'])
})

test('on a store of its own a node refuses by memory without a look', async () => {
  const fixture = openFixture({ shared: false })
  fixture.change({ ...fixture.key, scopes: [] })
  await fixture.ask()
  const looks = fixture.looks

  for (let i = 0; i < 20; i++) assert.equal(await fixture.ask(), 'insufficient_scope')

  assert.equal(fixture.looks, looks)
})

test('a flood of refusals costs one look-up at a time, and each is told by one that began after it came', async () => {
  const fixture = openFixture({ shared: true, lookMs: 20 })
  fixture.change({ ...fixture.key, scopes: [] })
  await fixture.ask()
  const looks = fixture.looks

  const startedAt = performance.now()
  const answers: Promise<string>[] = []
  for (let i = 0; i < 50; i++) {
    for (let j = 0; j < 20; j++) answers.push(fixture.ask())
    await setTimeout(1)
  }
  const codes = await Promise.all(answers)
  const ms = performance.now() - startedAt

  assert.deepEqual([...new Set(codes)], ['insufficient_scope'])
  assert.equal(fixture.atOnceMax, 1)
  assert.ok(fixture.looks - looks <= Math.ceil(ms / 20) + 1, `${fixture.looks - looks} looks in ${ms} ms`)
})

test('a change that was there before a request came is never missed, however many look-ups are under way', async () => {
  const fixture = openFixture({ shared: true, lookMs: 10 })
  fixture.change({ ...fixture.key, scopes: [] })
  await fixture.ask()

  for (let round = 2; round < 30; round++) {
    const load = Array.from({ length: 5 }, () => fixture.ask())
    await setTimeout(round % 12)
    fixture.change({ ...fixture.key, scopes: ['models.read'], version: round * 2 })
    assert.equal(await fixture.ask(), 'in')
    await Promise.all(load)
    fixture.change({ ...fixture.key, scopes: [], version: round * 2 + 1 })
    fixture.forget()
    assert.equal(await fixture.ask(), 'insufficient_scope')
  }
})

test('a key that died meanwhile is nobody’s, and a store that is away is our fault', async () => {
  const fixture = openFixture({ shared: true })
  fixture.change({ ...fixture.key, scopes: [] })
  await fixture.ask()

  fixture.change('away')
  const away = await fixture.ask()
  fixture.change(undefined)
  const dead = await fixture.ask()

  assert.deepEqual([away, dead], ['StoreAway', 'invalid_api_key'])
})

test('where others may make keys, one that was unknown a moment ago is looked for again', async () => {
  for (const [shared, then] of [
    [true, 'in'],
    [false, 'invalid_api_key'],
  ] as const) {
    const fixture = openFixture({ shared })
    fixture.change(undefined)
    const unknown = await fixture.ask()
    fixture.change(fixture.key)

    assert.deepEqual([unknown, await fixture.ask()], ['invalid_api_key', then])
  }
})

test('a key that is given a new end while it is looked for in vain is found by the next request', async () => {
  const fixture = openFixture({ shared: false, lookMs: 20 })
  fixture.change(undefined)
  const late = fixture.ask()
  await setTimeout(5)
  fixture.change(fixture.key)
  fixture.forget()

  assert.deepEqual([await late, await fixture.ask()], ['invalid_api_key', 'in'])
})

test('a limit that was raised elsewhere holds for the request that was refused by the old one', async () => {
  const fixture = openFixture({ shared: true })
  fixture.change({ ...fixture.key, rpmLimit: 1 })
  const first = await fixture.ask()
  const spent = await fixture.ask()
  fixture.change({ ...fixture.key, rpmLimit: 2, version: 2 })
  const raised = await fixture.ask()
  const again = await fixture.ask()

  assert.deepEqual([first, spent, raised, again], ['in', 'rate_limit_exceeded', 'in', 'rate_limit_exceeded'])
})

function openFixture({ shared, lookMs = 0 }: { readonly shared: boolean; readonly lookMs?: number }) {
  const clock = systemClock
  const seen = { looks: 0, atOnceMax: 0 }
  const key = keyWith()
  let kept: Key | 'away' | undefined = key
  let atOnce = 0
  const authenticate = authenticator({
    ...BOUNDS,
    othersMayChangeKeys: shared,
    keyPrefix: 'svc_live_',
    clock,
    onCache: () => undefined,
    billing: {
      async findKey() {
        const found = kept
        seen.looks += 1
        seen.atOnceMax = Math.max(seen.atOnceMax, ++atOnce)
        await setTimeout(lookMs)
        atOnce -= 1
        if (found === 'away') throw new StoreUnavailable('away')
        return found === undefined ? undefined : bearerOf(found)
      },
    },
  })
  const limits = keyLimits({ clock, unpaidPerMinuteMin: 600 })

  async function ask(): Promise<string> {
    const needs = {
      authenticator: authenticate,
      limits,
      billing: { touch: () => undefined },
      recognised: () => undefined,
    }
    try {
      const pass = await admit(callNow(), rule, needs)
      pass.leave()
      return 'in'
    } catch (error) {
      if (error instanceof Refusal) return error.code
      return error instanceof StoreUnavailable ? 'StoreAway' : String(error)
    }
  }

  return Object.assign(seen, {
    key,
    ask,
    forget: () => authenticate.forget(key.id),
    change(to: Key | 'away' | undefined) {
      kept = to
    },
  })
}

function callNow(): Call {
  return {
    requestId: crypto.randomUUID(),
    clientRequestId: null,
    method: 'GET',
    path: '/v1/models',
    query: '',
    authorizations: [`Bearer svc_live_${'a'.repeat(43)}`],
    address: parseAddress('192.0.2.1'),
    receivedAt: systemClock.now(),
    startedMs: systemClock.monotonic(),
    client: { gone: false, onGone: () => () => undefined, onCancelled: () => () => undefined },
  }
}
