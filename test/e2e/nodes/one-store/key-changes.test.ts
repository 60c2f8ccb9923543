// A key or account changed on one node is in force on the others with their next request, in both directions, and so is
// a revoke: in any state of Redis, and without Redis.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createClient } from '@redis/client'
import { withBounds } from '../../../support/bounds.ts'
import type { Gateway, NewKey } from '../../../support/gateway.ts'
import { hasPostgres } from '../../../support/postgres.ts'
import { hasRedis, type RedisServer } from '../../../support/redis.ts'
import { startRedisNodes } from '../../../support/redis-nodes.ts'
import { until } from '../../../support/until.ts'

type Changes = { readonly tight: object; readonly loose: object; readonly refused: readonly [number, string] }

const CHANGES: Readonly<Record<string, Changes>> = {
  scopes: {
    tight: { scopes: ['chat.completions'] },
    loose: { scopes: ['chat.completions', 'models.read'] },
    refused: [403, 'insufficient_scope'],
  },
  addresses: {
    tight: { ip_allowlist: ['192.0.2.0/24'] },
    loose: { ip_allowlist: [] },
    refused: [403, 'ip_not_allowed'],
  },
  'requests per minute': {
    tight: { rpm_limit: 1 },
    loose: { rpm_limit: 30 },
    refused: [429, 'rate_limit_exceeded'],
  },
  'requests per day': {
    tight: { daily_limit: 1 },
    loose: { daily_limit: null },
    refused: [429, 'daily_limit_exceeded'],
  },
}

// On a machine busy with tests a response may take longer than the product's timeout.
const PATIENT = withBounds({ redisCommandMsMax: 10_000 })

const WEATHER: Readonly<Record<string, (redis: RedisServer) => unknown>> = {
  'Redis is available': () => undefined,
  'Redis hangs': redis => redis.freeze(),
  'Redis was killed': redis => redis.kill(),
  'Redis is available again': redis => redis.start(),
}

if (hasPostgres() && hasRedis()) {
  test('a change on one node applies to the next request on the other', async t => {
    await using fixture = await startRedisNodes(2)
    const [here, there] = fixture.nodes as [Gateway, Gateway]

    for (const [weather, make] of Object.entries(WEATHER)) {
      await make(fixture.redis)
      for (const [what, changes] of Object.entries(CHANGES)) {
        await t.test(`${weather}: ${what}`, () => changedBothWays(here, there, changes))
      }
      await t.test(`${weather}: an account suspended and reactivated`, () => suspendedAndFreed(here, there))
      await t.test(`${weather}: 25 revokes under load`, () => revoked(here, there))
      await t.test(`${weather}: an old secret that is ended`, () => ended(here, there))
    }
    for (const node of fixture.nodes) assert.ok((await node.audit()).ok)
  })

  test('the same without Redis, and the start warns that requests per minute are not shared', async t => {
    await using fixture = await startRedisNodes(2, { withoutRedis: true })
    const [here, there] = fixture.nodes as [Gateway, Gateway]

    for (const [what, changes] of Object.entries(CHANGES)) {
      await t.test(what, () => changedBothWays(here, there, changes))
    }
    await t.test('an account suspended and reactivated', () => suspendedAndFreed(here, there))
    await t.test('25 revokes under load', () => revoked(here, there))

    const warnings = here.logs.filter(line => String(line.msg).startsWith('REDIS_URL is not set'))
    assert.equal(warnings.length, 1)
  })

  test('the newest limit applies to requests in flight on another node', async () => {
    await using fixture = await startRedisNodes(2)
    const [here, there] = fixture.nodes as [Gateway, Gateway]
    const key = await here.createKey({ rpm_limit: 6000, max_concurrent: 5 })
    fixture.upstream.script({ delayMs: 4000 })
    const slow = there.chat({}, { key: key.secret })
    await fixture.upstream.received(1)
    await fixture.redis.kill()

    await patch(here, key, { max_concurrent: 1 })
    const lowered = await there.get('/v1/models', key.secret)
    await patch(here, key, { max_concurrent: 2 })
    const raised = await there.get('/v1/models', key.secret)

    assert.deepEqual([lowered.status, raised.status, (await slow).status], [429, 200, 200])
  })

  test('abort_streams ends streams on the other node too', async () => {
    await using fixture = await startRedisNodes(2, PATIENT)
    const [here, there] = fixture.nodes as [Gateway, Gateway]
    const key = await here.createKey()
    fixture.upstream.next({ words: Array.from({ length: 100 }, () => ' word'), chunkDelayMs: 100 })
    const stream = await there.openChat({}, { key: key.secret })
    await stream.nextChunk()

    const startedAt = performance.now()
    await here.admin('POST', `/keys/${key.id}/revoke`, { abort_streams: true })
    await stream.rest()

    assert.ok(performance.now() - startedAt < 3000)
    assert.ok((await there.audit()).ok)
  })

  test('nodes announce changed keys by id and nothing else', async () => {
    await using fixture = await startRedisNodes(2, PATIENT)
    const [here, there] = fixture.nodes as [Gateway, Gateway]
    const heard: string[] = []
    const listener = createClient({ url: fixture.redis.url }).on('error', () => undefined)
    await listener.connect()
    await listener.subscribe('turnpike:hints', message => void heard.push(message))
    const key = await here.createKey({ rpm_limit: 6000 })
    const misses = async () =>
      Number(/^turnpike_key_cache_total\{result="miss"\} (\d+)/m.exec((await there.get('/metrics')).text)?.[1])
    await there.get('/v1/models', key.secret)
    const before = await misses()
    await there.get('/v1/models', key.secret)
    const remembered = await misses()

    // A hint is best effort: on a busy machine the other node may not be listening yet.
    await until('the other node dropped it from its cache', async () => {
      await patch(here, key, { name: 'another' })
      await setTimeout(100)
      await there.get('/v1/models', key.secret)
      return (await misses()) > before
    })
    heard.length = 0

    await here.admin('POST', `/keys/${key.id}/rotate`, {})
    await here.admin('POST', `/keys/${key.id}/end-grace`, {})
    await here.admin('POST', `/keys/${key.id}/revoke`, { abort_streams: true })
    await here.admin('PATCH', `/accounts/${key.accountId}`, { status: 'suspended' })
    await until('all changes are announced', () => heard.length === 5)
    listener.destroy()

    assert.equal(remembered, before)
    const told = heard.map(message => message.replace(/^[0-9a-f-]{36} /, ''))
    const forget = `forget ${key.id}`
    assert.deepEqual(told, [forget, forget, forget, `abort_streams ${key.id}`, 'forget_accounts'])
  })
}

async function changedBothWays(here: Gateway, there: Gateway, { tight, loose, refused }: Changes) {
  const key = await here.createKey({ rpm_limit: 30 })
  for (let round = 0; round < 3; round++) {
    assert.equal((await there.get('/v1/models', key.secret)).status, 200)

    await patch(here, key, tight)
    const tightened = await there.get<{ error?: { code: string } }>('/v1/models', key.secret)
    await patch(here, key, loose)
    const loosened = await there.get('/v1/models', key.secret)

    assert.deepEqual([tightened.status, tightened.body.error?.code], refused)
    assert.equal(loosened.status, 200, loosened.text)
  }
}

async function suspendedAndFreed(here: Gateway, there: Gateway): Promise<void> {
  const key = await here.createKey()
  const get = async () => (await there.get('/v1/models', key.secret)).status
  const statuses = [await get()]
  for (const status of ['suspended', 'active', 'suspended', 'active']) {
    await here.admin('PATCH', `/accounts/${key.accountId}`, { status })
    statuses.push(await get())
  }
  assert.deepEqual(statuses, [200, 403, 200, 403, 200])
}

// Callers in a loop: every request that starts after the revoke returned must be refused.
async function revoked(here: Gateway, there: Gateway): Promise<void> {
  const accountId = (await here.createKey()).accountId
  for (let i = 0; i < 25; i++) {
    const key = await here.createKey({ account_id: accountId, rpm_limit: 100_000 })
    let isRevoked = false
    const callers = Array.from({ length: 4 }, async () => {
      for (;;) {
        const beganAfter = isRevoked
        const { status } = await there.get('/v1/models', key.secret)
        if (beganAfter || status !== 200) return { beganAfter, status }
      }
    })
    assert.equal((await there.get('/v1/models', key.secret)).status, 200)
    await here.admin('POST', `/keys/${key.id}/revoke`, {})
    isRevoked = true

    for (const { status } of await Promise.all(callers)) assert.equal(status, 401)
    assert.equal((await there.get('/v1/models', key.secret)).status, 401)
  }
}

async function ended(here: Gateway, there: Gateway): Promise<void> {
  const key = await here.createKey()
  const { body } = await here.admin('POST', `/keys/${key.id}/rotate`, {})
  const before = await there.get('/v1/models', key.secret)
  await here.admin('POST', `/keys/${key.id}/end-grace`, {})
  const after = await there.get('/v1/models', key.secret)
  const current = await there.get('/v1/models', String(body.secret))

  assert.deepEqual([before.status, after.status, current.status], [200, 401, 200])
}

async function patch(node: Gateway, key: NewKey, change: object): Promise<void> {
  assert.equal((await node.admin('PATCH', `/keys/${key.id}`, change)).status, 200)
}
