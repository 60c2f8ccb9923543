// Many concurrent streams, each with its own word: no text of one appears in another (figure S11, small).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import type { UsageRow } from '../../../support/usage.ts'

const { gateway, upstream } = await openFixture()
const STREAMS = 200
const KEYS = 4

test('200 concurrent streams have their own text, ids, rows and costs', async () => {
  const going = Promise.withResolvers<void>()
  upstream.script(async entry => {
    const canary = canaryIn(entry.rawBody.toString())
    const words = [`${canary} `, ...Array.from({ length: 5 + (Number(canary.slice(7)) % 7) }, () => `${canary} `)]
    if (upstream.journal.length >= STREAMS) going.resolve()
    await going.promise
    return { words, chunkDelayMs: 20, roleInFirstDelta: false }
  })
  const keys = await Promise.all(Array.from({ length: KEYS }, () => gateway.createKey()))

  const streams = await Promise.all(
    Array.from({ length: STREAMS }, async (_, i) => {
      const messages = [{ role: 'user', content: `canary-${i} please` }]
      const options = { key: keys[i % KEYS]!.secret, headers: { 'x-client-request-id': `client-${i}` } }
      const stream = await gateway.openChat({ messages }, options)
      return { i, stream, sse: await stream.rest() }
    }),
  )

  const { body } = await gateway.admin<{ data: UsageRow[] }>('GET', '/usage?limit=1000')
  assert.equal(new Set(streams.map(({ stream }) => stream.headers['x-request-id'])).size, STREAMS)
  for (const { i, stream, sse } of streams) {
    const id = stream.headers['x-request-id']
    const found = new Set(sse.raw.match(/canary-\d+/g))
    assert.deepEqual([...found], [`canary-${i}`])
    assert.deepEqual([...new Set(sse.chunks.map(chunk => chunk.id))], [`chatcmpl-${id}`])
    assert.equal(sse.content.trim().split(' ').length, 6 + (i % 7))
    const row = body.data.find(({ request_id }) => request_id === id)
    assert.equal(row?.completion_tokens, 6 + (i % 7))
    assert.equal(row?.cost, stream.trailers['x-svc-cost'])
    assert.deepEqual([row?.client_request_id, row?.key_id], [`client-${i}`, keys[i % KEYS]!.id])
  }
  const heard = upstream.journal.map(entry => canaryIn(entry.rawBody.toString()))
  assert.equal(new Set(heard).size, STREAMS)
})

function canaryIn(text: string): string {
  return /canary-\d+/.exec(text)?.[0] ?? 'canary-none'
}
