// A provider that is changed while it serves: what runs goes on as it began, over its own connection, and of the old
// connections none is kept.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFaultProxy } from '../kit/fault-proxy.ts'
import { startGateway } from '../kit/gateway.ts'
import { standardModel, standardProvider } from '../kit/standard-config.ts'
import { until } from '../kit/until.ts'
import { startUpstream } from '../kit/upstream.ts'

const WORDS = Array.from({ length: 40 }, (_, i) => `word-${i} `)

test('a changed timeout closes the connections that rest, while a stream goes on to its end over the old one', async () => {
  await using upstream = await startUpstream()
  await using proxy = await startFaultProxy(upstream.port)
  await using gateway = await startGateway({ env: { TURNPIKE_ALLOW_PRIVATE_UPSTREAMS: '1' } })
  const provider = standardProvider(`http://127.0.0.1:${proxy.port}/v1`)
  for (const [path, body] of [
    ['/providers', provider],
    ['/models', standardModel()],
  ] as const) {
    assert.equal((await gateway.admin('POST', path, body)).status, 201)
  }
  // Each is one socket on either side of the proxy.
  const connections = () => proxy.connections / 2
  const all = Promise.withResolvers<void>()
  upstream.script(async () => {
    await all.promise
    return {}
  })
  const together = Promise.all([1, 2, 3].map(() => gateway.chat()))
  await upstream.received(3)
  all.resolve()
  await together
  upstream.script({ words: WORDS, chunkDelayMs: 100 })
  const stream = await gateway.openChat()
  await stream.nextChunk()
  upstream.script({})
  assert.equal(connections(), 3)

  const changed = await gateway.admin('PATCH', '/providers/up', { timeouts: { total: 120 } })
  const next = await gateway.chat()
  await until('the two that rested are closed', () => connections() === 2)
  const { content, done } = await stream.rest()
  await until("the stream's own is not kept either", () => connections() === 1)
  const last = await gateway.chat()

  assert.deepEqual([changed.status, next.status, last.status], [200, 200, 200])
  assert.deepEqual([content.endsWith(WORDS.slice(1).join('')), done], [true, true])
  assert.equal(connections(), 1, 'the new one is used again')
  assert.ok((await gateway.audit()).ok)
})
