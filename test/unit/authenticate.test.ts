// A node's cache of authenticated keys: a key is evicted on request, however many others were looked up since. And
// lookups are fair between addresses.
import assert from 'node:assert/strict'
import { hash as digest } from 'node:crypto'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { authenticator } from '../../src/admit/authenticate.ts'
import { BOUNDS } from '../../src/config/limits.ts'
import type { Call } from '../../src/domain/handoff.ts'
import type { AuthenticatedKey } from '../../src/domain/key.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import { batcher } from '../../src/lib/batcher.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { parseAddress } from '../../src/lib/ip-address.ts'
import { bearerOf, keyWith } from '../support/authenticated-key.ts'

const CACHED_MAX = 100
const LONG_CACHED_MAX = 5
const LONG_LIST = Array.from({ length: 100 }, (_, i) => `model-${i}`.padEnd(256, 'x'))

test('a key in use is evicted on request, also after more others than the cache holds', async () => {
  const fixture = openFixture()
  await fixture.ask('used')
  for (let i = 0; i < 3 * CACHED_MAX; i++) {
    await fixture.ask(`other${i}`)
    assert.equal(await fixture.ask('used'), true)
  }

  fixture.forget('used')

  assert.equal(await fixture.ask('used'), false)
})

test('few keys with long lists are cached; they displace no others, and are evicted on request', async () => {
  const fixture = openFixture()
  await fixture.ask('short')
  for (let i = 0; i < 3 * CACHED_MAX; i++) await fixture.ask(`long${i}`, '', LONG_LIST)
  const cached = await Promise.all(
    Array.from({ length: LONG_CACHED_MAX }, (_, i) => fixture.ask(`long${3 * CACHED_MAX - 1 - i}`, '', LONG_LIST)),
  )

  assert.deepEqual([...new Set(cached)], [true])
  assert.equal(await fixture.ask('long0', '', LONG_LIST), false)
  assert.equal(await fixture.ask('short'), true)
  fixture.forget('long0')
  assert.equal(await fixture.ask('long0'), false, 'now with a short list')
  fixture.forget('long0')
  assert.equal(await fixture.ask('long0', '', LONG_LIST), false)
})

test('a key that was displaced and cached again is evicted with all of its secrets', async () => {
  const fixture = openFixture()
  await fixture.ask('key', 'a')
  for (let i = 0; i < CACHED_MAX; i++) await fixture.ask(`other${i}`)
  await fixture.ask('key', 'b')
  await fixture.ask('key', 'a')
  assert.deepEqual([await fixture.ask('key', 'a'), await fixture.ask('key', 'b')], [true, true])

  fixture.forget('key')

  assert.deepEqual([await fixture.ask('key', 'a'), await fixture.ask('key', 'b')], [false, false])
})

test('a key may come as a bearer token, as x-api-key, or as both', async () => {
  const secret = secretOf('key')
  const other = secretOf('other')
  const accepted = [
    { authorizations: [`Bearer ${secret}`], apiKeys: [] },
    { authorizations: [], apiKeys: [secret] },
    { authorizations: [`bearer ${secret}`], apiKeys: [secret] },
  ]
  for (const sent of accepted) assert.equal(await openFixture().send(sent), 'key')

  const ambiguous = [
    { authorizations: [`Bearer ${secret}`, `Bearer ${secret}`], apiKeys: [] },
    { authorizations: [], apiKeys: [secret, secret] },
    { authorizations: [`Bearer ${secret}`], apiKeys: [other] },
    { authorizations: ['Basic abc'], apiKeys: [secret] },
  ]
  for (const sent of ambiguous) await assert.rejects(openFixture().send(sent), isRefusal('duplicate_authorization'))
  await assert.rejects(openFixture().send({ authorizations: [], apiKeys: [] }), isRefusal('invalid_api_key'))
  await assert.rejects(openFixture().send({ authorizations: [], apiKeys: ['x'] }), isRefusal('invalid_api_key'))
})

test('a valid uncached key is looked up while its address has thousands of unknown ones waiting', async () => {
  const valid = secretOf('valid')
  const hash = digest('sha256', valid)
  const answering = Promise.withResolvers<void>()
  const authenticate = authenticator({
    ...BOUNDS,
    othersMayChangeKeys: true,
    keyPrefix: 'svc_live_',
    clock: systemClock,
    onCache: () => undefined,
    billing: {
      async findKey(asked) {
        await answering.promise
        return asked === hash ? bearerOf(keyWith()) : undefined
      },
    },
  })
  const code = async (secret: string) => {
    try {
      return (await authenticate.authenticate(callWith(secret))).caller.key.id
    } catch (error) {
      return error instanceof Refusal ? error.code : String(error)
    }
  }

  const flood = Array.from({ length: 4000 }, (_, i) => code(secretOf(`unknown${i}`)))
  const found = code(valid)
  answering.resolve()

  assert.equal(await found, keyWith().id)
  assert.deepEqual([...new Set(await Promise.all(flood))].sort(), ['invalid_api_key', 'too_many_failures'])
})

test('an unknown key of one address waits for at most three statements, however many another address has waiting', async () => {
  const statements: number[] = []
  const caller = batcher<string, AuthenticatedKey>(async hashes => {
    statements.push(hashes.length)
    await setImmediate()
    return hashes.map(() => undefined)
  }, BOUNDS.unknownKeyLookupsTogetherMax)
  const authenticate = authenticator({
    ...BOUNDS,
    unknownKeyLookupsMax: BOUNDS.unknownKeyLookupsTogetherMax,
    othersMayChangeKeys: true,
    keyPrefix: 'svc_live_',
    clock: systemClock,
    onCache: () => undefined,
    billing: { findKey: caller },
  })
  const ask = async (secret: string, address: string) => {
    await assert.rejects(async () => authenticate.authenticate(callWith(secret, address)), Refusal)
  }

  const flood = Array.from({ length: 4000 }, (_, i) => ask(secretOf(`unknown${i}`), '192.0.2.1'))
  await ask(secretOf('one'), '192.0.2.2')
  const waitedFor = statements.length
  await Promise.all(flood)

  // The one in progress, those already queued, and its own.
  assert.ok(waitedFor <= 3, `${waitedFor} statements: ${statements.join(' ')}`)
  assert.ok(statements.length <= 18, `${statements.length} statements: ${statements.join(' ')}`)
})

// `ask` returns whether the key was cached.
function openFixture() {
  const keyIds: string[] = []
  let allowedModels: readonly string[] = []
  const authenticate = authenticator({
    ...BOUNDS,
    keysCachedMax: CACHED_MAX,
    longKeysCachedMax: LONG_CACHED_MAX,
    othersMayChangeKeys: false,
    keyPrefix: 'svc_live_',
    clock: systemClock,
    onCache: () => undefined,
    billing: { findKey: async () => bearerOf(keyWith({ id: keyIds.at(-1) ?? '', allowedModels })) },
  })
  return {
    forget: authenticate.forget,
    async send(credentials: Pick<Call, 'authorizations' | 'apiKeys'>): Promise<string> {
      keyIds.push('key')
      return (await authenticate.authenticate({ ...callWith(''), ...credentials })).caller.key.id
    },
    async ask(keyId: string, secret = '', list: readonly string[] = []): Promise<boolean> {
      keyIds.push(keyId)
      allowedModels = list
      return (await authenticate.authenticate(callWith(secretOf(`${keyId}${secret}`)))).isCached
    },
  }
}

function secretOf(text: string): string {
  return `svc_live_${text.padEnd(43, 'Z')}`
}

function callWith(secret: string, address = '192.0.2.1'): Call {
  return {
    requestId: crypto.randomUUID(),
    clientRequestId: null,
    method: 'GET',
    path: '/v1/models',
    query: '',
    authorizations: [`Bearer ${secret}`],
    apiKeys: [],
    address: parseAddress(address),
    receivedAt: systemClock.now(),
    tags: undefined,
    tagsRefusal: undefined,
    trace: undefined,
    startedMs: systemClock.monotonic(),
    client: { gone: false, onGone: () => () => undefined, onCancelled: () => () => undefined },
  }
}

function isRefusal(code: string): (error: unknown) => boolean {
  return error => error instanceof Refusal && error.code === code
}
