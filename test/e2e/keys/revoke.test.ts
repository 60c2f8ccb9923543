// Revoke and expiry: no new request starts, on any connection; requests admitted before finish, unless the operator
// ends them.
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type Gateway, standardConfig, startGateway } from '../../support/gateway.ts'
import { Agent, request } from '../../support/node-http.ts'
import { assertRefusal } from '../../support/refusal.ts'
import { until } from '../../support/until.ts'
import { startUpstream } from '../../support/upstream.ts'
import { settledRow } from '../../support/usage.ts'

test('a revoked key starts no new request; its open streams end only with abort_streams', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const revoke = (id: string, body: object = {}) => gateway.admin('POST', `/keys/${id}/revoke`, body)

  await t.test('the next request is refused, also on a connection that is already open', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const { id, secret } = await gateway.createKey()
    const before = await on(agent, gateway, secret)

    const revoked = await revoke(id)
    const after = await on(agent, gateway, secret)
    agent.destroy()

    assert.deepEqual([before.status, revoked.status, after.status], [200, 200, 401])
    assert.equal(before.port, after.port)
    assert.equal(revoked.body.status, 'revoked')
  })

  await t.test('a revoke ends every secret, is final and idempotent', async () => {
    const { id, secret: old } = await gateway.createKey()
    const current = String((await gateway.admin('POST', `/keys/${id}/rotate`, {})).body.secret)

    const first = await revoke(id)
    const second = await revoke(id)
    const patched = await gateway.admin('PATCH', `/keys/${id}`, { name: 'alive' })

    for (const secret of [old, current]) {
      assertRefusal(await gateway.get('/v1/key/introspect', secret), 'invalid_api_key')
    }
    assert.deepEqual(second.body, first.body)
    assert.deepEqual(first.body.previous, [])
    assert.deepEqual([patched.status, patched.body.error?.code], [409, 'conflict'])
  })

  await t.test('a stream that was admitted before the revoke finishes', async () => {
    upstream.script({ words: ['one', ' two', ' three', ' four'], chunkDelayMs: 100 })
    const { id, secret } = await gateway.createKey()
    using stream = await gateway.openChat({}, { key: secret })
    await stream.nextChunk()

    await revoke(id)
    const { content, done } = await stream.rest()

    assert.deepEqual([content, done], ['one two three four', true])
    assertRefusal(await gateway.chat({}, { key: secret }), 'invalid_api_key')
  })

  await t.test(
    'abort_streams ends open streams with an error event, and they are billed for what was sent',
    async () => {
      upstream.script({ words: ['one', ' two', ' three'], stallAfterChunks: 2 })
      const { id, secret } = await gateway.createKey()
      const other = await gateway.createKey()
      await loadTokenizer(gateway, secret)
      using stream = await gateway.openChat({}, { key: secret })
      using neighbour = await gateway.openChat({}, { key: other.secret })
      await stream.nextChunk()
      await neighbour.nextChunk()

      const startedAt = performance.now()
      await revoke(id, { abort_streams: true })
      const { chunks, done } = await stream.rest()
      const ms = performance.now() - startedAt

      // One second, and one more for a busy machine.
      assert.ok(ms < 2000, `${ms} ms`)
      assert.equal(done, true)
      assert.equal(chunks.at(-1)?.error?.code, 'service_unavailable')
      assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'error')
      const row = await settledRow(gateway, stream.headers['x-request-id'])
      assert.equal(row.outcome, 'upstream_broke')
      assert.ok(row.completion_tokens > 0)
      assert.equal(stream.trailers['x-svc-cost'], row.cost)
      assert.equal(upstream.inFlight, 1, "the other key's stream continues")
    },
  )

  await t.test('an expired key is refused like a revoked one, also on an open connection', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const { id, secret } = await gateway.createKey({ expires_at: new Date(Date.now() + 1500).toISOString() })
    const before = await on(agent, gateway, secret)

    await setTimeout(1600)
    const after = await on(agent, gateway, secret)
    agent.destroy()
    const { body } = await gateway.admin('GET', `/keys/${id}`)

    assert.deepEqual([before.status, after.status], [200, 401])
    assert.equal(body.status, 'expired')
  })

  await t.test('an expired key with a new expiry works with the next request', async () => {
    const { id, secret } = await gateway.createKey({ expires_at: new Date(Date.now() + 500).toISOString() })
    await until('it has expired', async () => (await gateway.get('/v1/models', secret)).status === 401)
    const renamed = await gateway.admin('PATCH', `/keys/${id}`, { name: 'late' })
    const still = await gateway.get('/v1/models', secret)

    const patched = await gateway.admin('PATCH', `/keys/${id}`, { expires_at: '9999-12-31T23:59:59Z' })
    const again = await gateway.get('/v1/models', secret)

    assert.deepEqual([renamed.body.status, still.status], ['expired', 401])
    assert.deepEqual([patched.body.status, again.status], ['active', 200])
  })

  assert.ok((await gateway.audit()).ok)
})

test('abort_streams also ends a request between its reservation and its dispatch', async () => {
  await using upstream = await startUpstream()
  upstream.script({ words: ['one', ' two'], stallAfterChunks: 1 })
  await using gateway = await startGateway({
    config: standardConfig(upstream.url),
    env: { TURNPIKE_FAILPOINTS: 'after_hold=sleep:1500' },
  })
  const { id, secret, accountId } = await gateway.createKey()

  const chat = gateway.chat({ stream: true }, { key: secret, timeoutMs: 8000 })
  await held()
  await gateway.admin('POST', `/keys/${id}/revoke`, { abort_streams: true })
  const answer = await chat

  assertRefusal(answer, 'service_unavailable')
  assert.ok((await gateway.audit()).ok)

  async function held(): Promise<void> {
    for (;;) {
      const { body } = await gateway.admin('GET', `/accounts/${accountId}`)
      if (String(body.balance?.held) !== '0') return
      await setTimeout(10)
    }
  }
})

// It is loaded on first use, which takes time that is not measured here.
async function loadTokenizer(gateway: Gateway, key: string): Promise<void> {
  using stream = await gateway.openChat({}, { key })
  await stream.nextChunk()
  stream.abort()
  await settledRow(gateway, stream.headers['x-request-id'])
}

type Seen = { readonly status: number | undefined; readonly port: number | undefined }

function on(agent: Agent, gateway: Gateway, secret: string): Promise<Seen> {
  const call = request(`${gateway.url}/v1/models`, { agent, headers: { authorization: `Bearer ${secret}` } })
  const { promise, resolve, reject } = Promise.withResolvers<Seen>()
  call.on('error', reject).on('response', (incoming: IncomingMessage) => {
    const { localPort: port } = incoming.socket
    incoming.resume().on('end', () => resolve({ status: incoming.statusCode, port }))
  })
  call.end()
  return promise
}
