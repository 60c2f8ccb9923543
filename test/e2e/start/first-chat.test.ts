// The first chat: a key, a JSON answer and a stream through an OpenAI-compatible upstream, billed alike.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import { assertChatCompletion, assertChunk } from '../../support/schemas.ts'
import { startUpstream } from '../../support/upstream.ts'

test('a chat is answered as JSON and as a stream, both with their cost', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const body = { model: 'test/m1', messages: [{ role: 'user', content: 'Hello' }] }

  await t.test('JSON', async () => {
    const answer = await gateway.chat(body)

    assert.equal(answer.status, 200)
    assertChatCompletion(answer.body)
    assert.equal(answer.headers['x-svc-provider'], 'up')
  })

  await t.test('a stream', async () => {
    const stream = await gateway.openChat({ ...body, stream: true, stream_options: { include_usage: true } })
    const { chunks, done } = await stream.rest()

    for (const chunk of chunks) assertChunk(chunk)
    assert.equal(done, true)
    assert.ok(Number(stream.trailers['x-svc-cost']) > 0)
  })

  assert.deepEqual(await gateway.audit().then(report => report.ok), true)
})
