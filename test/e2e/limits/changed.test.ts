// A changed limit applies to the next request and keeps the usage so far, also while requests that began under the old
// one are still running.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import { openRaw } from '../../support/raw-http.ts'
import { assertRefusal } from '../../support/refusal.ts'
import { until } from '../../support/until.ts'
import { startUpstream } from '../../support/upstream.ts'

test('a limit that changes while a body is uploaded leaks no slot', async () => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const { secret, id } = await gateway.createKey({ rpm_limit: 100, max_concurrent: 10 })
  const text = JSON.stringify({ model: 'test/m1', messages: [{ role: 'user', content: 'Hello' }] })
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\n`
  const inUse = async () => {
    const { body } = await gateway.get('/v1/key/introspect', secret)
    return Number(body.limits?.concurrent?.in_use) - 1
  }
  const changes = [
    { rpm_limit: 200 },
    { max_concurrent: 5 },
    { rpm_limit: 50, max_concurrent: 7 },
    { max_concurrent: 1 },
  ]

  for (const change of changes) {
    const connections = await Promise.all(Array.from({ length: 3 }, () => openRaw(gateway.port)))
    for (const connection of connections) {
      // With an Expect, the 100 shows that it is admitted and its body is being read.
      connection.send(`${head}Expect: 100-continue\r\nContent-Length: ${text.length}\r\n\r\n`)
    }
    await until('all are admitted', () => connections.every(({ received }) => received.includes('100 Continue')))
    const before = await inUse()
    await gateway.admin('PATCH', `/keys/${id}`, change)
    for (const connection of connections) connection.send(text)
    await Promise.all(connections.map(connection => connection.answers(1)))
    for (const connection of connections) connection[Symbol.dispose]()

    assert.equal(before, 3)
    await until(`no slot is taken after ${JSON.stringify(change)}`, async () => (await inUse()) === 0)
  }
  assert.ok((await gateway.audit()).ok)
})

test('a changed limit applies to the next request', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const patch = (id: string, change: object) => gateway.admin('PATCH', `/keys/${id}`, change)

  await t.test('requests per minute: used tokens stay used', async () => {
    const { secret, id } = await gateway.createKey({ rpm_limit: 6, daily_limit: null })
    const remaining = async () => Number((await gateway.get('/v1/models', secret)).headers['ratelimit-remaining'])
    for (let i = 0; i < 4; i++) await gateway.get('/v1/models', secret)

    await patch(id, { rpm_limit: 9 })
    const raised = await remaining()
    await patch(id, { rpm_limit: 7 })
    const lowered = await remaining()
    await patch(id, { rpm_limit: 5 })
    const spent = await gateway.get('/v1/models', secret)
    await patch(id, { rpm_limit: 30 })
    const raisedAgain = await remaining()

    // One more than this if the machine is so slow that a token was refilled meanwhile.
    const about = (value: number, expected: number) => value === expected || value === expected + 1
    assert.ok(about(raised, 9 - 4 - 1), `${raised}`)
    assert.ok(about(lowered, 7 - 5 - 1), `${lowered}`)
    assertRefusal(spent, 'rate_limit_exceeded')
    assert.equal(spent.headers['ratelimit-limit'], '5')
    assert.ok(about(raisedAgain, 30 - 5 - 1), `${raisedAgain}`)
  })

  await t.test('requests per minute: the bucket refills at the new rate', async () => {
    const { secret, id } = await gateway.createKey({ rpm_limit: 600, daily_limit: null })
    const startedAt = performance.now()
    await Promise.all(Array.from({ length: 20 }, () => gateway.get('/v1/models', secret)))
    await patch(id, { rpm_limit: 24 })
    const seconds = (performance.now() - startedAt) / 1000

    await setTimeout(1500)
    const { headers } = await gateway.get('/v1/models', secret)

    // Until the change ten tokens came back per second, after it one in two and a half seconds.
    const most = 24 - 20 + 10 * seconds + 1.5 / 2.5
    assert.ok(Number(headers['ratelimit-remaining']) < most, `${headers['ratelimit-remaining']} of ${most}`)
  })

  await t.test('requests per minute: a request from before the change that ends later changes nothing', async () => {
    const { secret, id } = await gateway.createKey({ rpm_limit: 6000, daily_limit: null })
    upstream.script({ delayMs: 800 })
    const slow = gateway.chat({}, { key: secret })
    await upstream.received(1)

    await patch(id, { rpm_limit: 1 })
    await gateway.get('/v1/models', secret)
    assertRefusal(await gateway.get('/v1/models', secret), 'rate_limit_exceeded')
    await slow
    await setTimeout(100)

    assertRefusal(await gateway.get('/v1/models', secret), 'rate_limit_exceeded')
    upstream.reset()
  })

  await t.test('requests per day', async () => {
    const { secret, id } = await gateway.createKey({ daily_limit: 3 })
    const call = () => gateway.get('/v1/models', secret)
    for (let i = 0; i < 3; i++) assert.equal((await call()).status, 200)
    assertRefusal(await call(), 'daily_limit_exceeded')

    await patch(id, { daily_limit: 4 })
    const raised = [await call(), await call()]
    await patch(id, { daily_limit: 2 })
    const lowered = await call()
    await patch(id, { daily_limit: null })
    const lifted = await call()

    assert.deepEqual(
      raised.map(({ status }) => status),
      [200, 429],
    )
    assertRefusal(lowered, 'daily_limit_exceeded')
    assert.deepEqual([lowered.headers['ratelimit-limit'], lowered.headers['ratelimit-remaining']], ['2', '0'])
    assert.equal(lifted.status, 200)
    assert.equal(lifted.headers['ratelimit-policy'], '"rpm";q=300;w=60')
  })

  await t.test('requests in flight', async () => {
    const { secret, id } = await gateway.createKey({ max_concurrent: 1 })
    upstream.script({ words: ['one', ' two'], stallAfterChunks: 1 })
    using first = await gateway.openChat({}, { key: secret })
    await first.nextChunk()
    assertRefusal(await gateway.get('/v1/models', secret), 'concurrency_exceeded')

    await patch(id, { max_concurrent: 2 })
    const raised = await gateway.get('/v1/models', secret)
    await patch(id, { max_concurrent: 1 })
    const lowered = await gateway.get('/v1/models', secret)

    assert.equal(raised.status, 200)
    assertRefusal(lowered, 'concurrency_exceeded')
    upstream.reset()
  })

  await t.test('credit limit and expiry', async () => {
    const { secret, id } = await gateway.createKey()
    assert.equal((await gateway.chat({}, { key: secret })).status, 200)

    await patch(id, { credit_limit: '0' })
    const broke = await gateway.chat({}, { key: secret })
    await patch(id, { credit_limit: null, expires_at: new Date(Date.now() + 400).toISOString() })
    const lifted = await gateway.chat({}, { key: secret })
    await setTimeout(450)
    const expired = await gateway.chat({}, { key: secret })

    const error = assertRefusal(broke, 'insufficient_credits')
    assert.equal(error.metadata?.limit, 'key')
    assert.equal(lifted.status, 200)
    assertRefusal(expired, 'invalid_api_key')
  })

  assert.ok((await gateway.audit()).ok)
})
