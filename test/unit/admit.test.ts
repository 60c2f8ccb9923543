// Admission on a node whose store others may change: a refusal from the cache is confirmed by a record that is newer
// than the request, with one lookup at a time; a node with its own store needs no confirmation.
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

test('a cached refusal is sent only after a lookup in the store, which may overrule it', async () => {
  const fixture = openFixture({ shared: true })
  await fixture.ask()

  fixture.change({ ...fixture.key, scopes: [], version: 2 })
  const stillIn = await fixture.ask()
  fixture.forget()
  const refused = await fixture.ask()
  fixture.change({ ...fixture.key, scopes: ['models.read'], version: 3 })
  const allowed = await fixture.ask()

  // The reservation detects what was wrongly admitted.
  assert.deepEqual([stillIn, refused, allowed], ['in', 'insufficient_scope', 'in'])
})

test('on its own store a node refuses from its cache without a lookup', async () => {
  const fixture = openFixture({ shared: false })
  fixture.change({ ...fixture.key, scopes: [] })
  await fixture.ask()
  const looks = fixture.looks

  for (let i = 0; i < 20; i++) assert.equal(await fixture.ask(), 'insufficient_scope')

  assert.equal(fixture.looks, looks)
})

test('a flood of refusals costs one lookup at a time, and each is decided by one that began after it arrived', async () => {
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
  assert.ok(fixture.looks - looks <= Math.ceil(ms / 20) + 1, `${fixture.looks - looks} lookups in ${ms} ms`)
})

test('a change from before a request arrived is never missed, however many lookups are in progress', async () => {
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

test('a key that was revoked meanwhile is unknown, and an unavailable store is a 503', async () => {
  const fixture = openFixture({ shared: true })
  fixture.change({ ...fixture.key, scopes: [] })
  await fixture.ask()

  fixture.change('away')
  const away = await fixture.ask()
  fixture.change(undefined)
  const dead = await fixture.ask()

  assert.deepEqual([away, dead], ['StoreAway', 'invalid_api_key'])
})

test('where others may create keys, a recently unknown one is looked up again', async () => {
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

test('a key that gets a new expiry during a failing lookup is found by the next request', async () => {
  const fixture = openFixture({ shared: false, lookMs: 20 })
  fixture.change(undefined)
  const late = fixture.ask()
  await setTimeout(5)
  fixture.change(fixture.key)
  fixture.forget()

  assert.deepEqual([await late, await fixture.ask()], ['invalid_api_key', 'in'])
})

test('a limit that was raised on another node applies to the request that the old one refused', async () => {
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
    apiKeys: [],
    address: parseAddress('192.0.2.1'),
    receivedAt: systemClock.now(),
    tags: undefined,
    tagsRefusal: undefined,
    trace: undefined,
    startedMs: systemClock.monotonic(),
    client: { gone: false, onGone: () => () => undefined, onCancelled: () => () => undefined },
  }
}
