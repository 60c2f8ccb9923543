// A provider that is changed or deleted while it serves: open requests continue over their own connection, and no old
// connection is kept.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFaultProxy } from '../../../support/fault-proxy.ts'
import { type Gateway, startGateway } from '../../../support/gateway.ts'
import type { SseStream } from '../../../support/sse.ts'
import { standardModel, standardProvider } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import { startUpstream, type Upstream } from '../../../support/upstream.ts'

const WORDS = Array.from({ length: 40 }, (_, i) => `word-${i} `)

test('a changed timeout closes idle connections, while an open stream continues to its end', async () => {
  await using upstream = await startUpstream()
  await using proxy = await startFaultProxy(upstream.port)
  await using gateway = await startGateway({ env: { TURNPIKE_ALLOW_PRIVATE_UPSTREAMS: '1' } })
  // Each is one socket on either side of the proxy.
  const connections = () => proxy.connections / 2
  const stream = await streamAmongThree(gateway, upstream, proxy.port)
  assert.equal(connections(), 3)

  const changed = await gateway.admin('PATCH', '/providers/up', { timeouts: { total: 120 } })
  const next = await gateway.chat()
  await until('the two idle ones are closed', () => connections() === 2)
  await assertWhole(stream)
  await until("the stream's own is not kept either", () => connections() === 1)
  const last = await gateway.chat()

  assert.deepEqual([changed.status, next.status, last.status], [200, 200, 200])
  assert.equal(connections(), 1, 'the new one is used again')
  assert.ok((await gateway.audit()).ok)
})

test('a deleted provider keeps no idle connection, and its open stream continues to its end', async () => {
  await using upstream = await startUpstream()
  await using proxy = await startFaultProxy(upstream.port)
  await using gateway = await startGateway({ env: { TURNPIKE_ALLOW_PRIVATE_UPSTREAMS: '1' } })
  const connections = () => proxy.connections / 2
  const stream = await streamAmongThree(gateway, upstream, proxy.port)

  const deleted = [await gateway.admin('DELETE', '/models/test%2Fm1'), await gateway.admin('DELETE', '/providers/up')]
  await until('the two idle ones are closed', () => connections() === 1)
  await assertWhole(stream)
  await until("the stream's own is not kept either", () => connections() === 0)

  assert.deepEqual(
    deleted.map(({ status }) => status),
    [200, 200],
  )
  assert.equal((await gateway.chat()).status, 404)
  assert.ok((await gateway.audit()).ok)
})

// An operator's provider with three connections, one of which carries a stream that has begun.
async function streamAmongThree(gateway: Gateway, upstream: Upstream, port: number): Promise<SseStream> {
  const provider = await gateway.admin('POST', '/providers', standardProvider(`http://127.0.0.1:${port}/v1`))
  const model = await gateway.admin('POST', '/models', standardModel())
  assert.deepEqual([provider.status, model.status], [201, 201], provider.text + model.text)
  const together = Promise.withResolvers<void>()
  upstream.script(async () => {
    await together.promise
    return {}
  })
  const chats = Promise.all([1, 2, 3].map(() => gateway.chat()))
  await upstream.received(3)
  together.resolve()
  await chats
  upstream.script({ words: WORDS, chunkDelayMs: 100 })
  const stream = await gateway.openChat()
  await stream.nextChunk()
  upstream.script({})
  return stream
}

async function assertWhole(stream: SseStream): Promise<void> {
  const { content, done } = await stream.rest()
  assert.deepEqual([content.endsWith(WORDS.slice(1).join('')), done], [true, true])
}
