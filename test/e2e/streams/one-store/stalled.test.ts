// A caller that neither reads nor disconnects is treated as disconnected after a minute, which is a second and a half
// here: its upstream call is cancelled, its row settled, its connection closed. A slow but steady reader is served.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { BOUNDS } from '../../../../src/config/limits.ts'
import { withBounds } from '../../../support/bounds.ts'
import { openFixture } from '../../../support/fixture.ts'
import { openRaw, type RawConnection } from '../../../support/raw-http.ts'
import { standardConfig, standardModel } from '../../../support/standard-config.ts'
import { settledRow } from '../../../support/usage.ts'

const STALL_MS = 1_500
const bounds = withBounds({ writeStallMs: STALL_MS, readOnAfterFinishMs: 1_000 })
// Enough text about models to make their list almost a megabyte.
const described = Array.from({ length: 200 }, (_, i) =>
  standardModel({ id: `test/d${i}`, description: 'x'.repeat(4096) }),
)
const config = (url: string) => standardConfig(url, { models: [standardModel(), ...described] })
const { gateway, upstream } = await openFixture(config, bounds)
const caller = await gateway.createKey()

test('the defaults are one minute for a reader and 30 seconds for usage', () => {
  assert.deepEqual([BOUNDS.writeStallMs, BOUNDS.readOnAfterFinishMs], [60_000, 30_000])
})

test('a stream that is not read for that time is ended and settled', async () => {
  upstream.next({ chunks: 100_000, chunkBytes: 8_000 })
  using connection = await unread({ stream: true })
  await upstream.received(1)
  const entry = upstream.journal[0]!

  const row = await settledRow(gateway, entry.requestId, 20_000)

  assert.deepEqual([row.outcome, row.usage_source], ['client_left', 'estimate'])
  assert.ok(entry.closedByPeerAt !== undefined && entry.closedByPeerAt - entry.startedAt >= STALL_MS - 100)
  connection.resume()
  assert.equal(await connection.closed(5_000), true)
})

test('an unread JSON answer or end of a stream does not keep its connection open', async () => {
  const megabytes = Array.from({ length: 24 }, () => 'x'.repeat(1_000_000))
  upstream.journal.length = 0
  upstream.script({ words: megabytes })
  using json = await unread({})
  using stream = await unread({ stream: true })
  await upstream.received(2)
  for (const entry of upstream.journal) await settledRow(gateway, entry.requestId, 20_000)
  await setTimeout(STALL_MS + 1_000)

  for (const connection of [json, stream]) {
    connection.resume()
    assert.equal(await connection.closed(5_000), true)
    assert.ok(connection.received.length < 24_000_000, 'nothing was read')
  }
})

test('a JSON answer that is read slowly is not ended', async () => {
  upstream.next({ words: ['x'.repeat(24_000_000)] })
  const socket = connect({ port: gateway.port, host: '127.0.0.1' })
  socket.pause()
  socket.write(request({}))
  const until = Date.now() + 4 * STALL_MS
  for (let sip = 0; Date.now() < until; sip += 1) {
    await setTimeout(STALL_MS / 20)
    socket.read(128 * 1024)
    assert.equal(socket.readableEnded || socket.destroyed, false, `cut off at sip ${sip}`)
  }

  const rest = await text(socket)

  assert.ok(rest.length > 10_000_000, 'most of it was unread')
  assert.ok(rest.endsWith('}'))
})

for (const [what, path] of [
  ['a page outside of /v1', '/openapi.json'],
  ['a list under /v1', '/v1/models'],
] as const) {
  test(`${what} that is requested repeatedly and never read does not keep its connection open`, async () => {
    const one = (await gateway.get(path, caller.secret)).text.length
    const asked = Math.ceil(24_000_000 / one)
    using connection = await openRaw(gateway.port)
    connection.pause()
    const ask = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${caller.secret}\r\n\r\n`
    connection.send(ask.repeat(asked))
    await setTimeout(4 * STALL_MS)

    connection.resume()

    assert.equal(await connection.closed(5_000), true)
    assert.ok(connection.received.length < asked * one, 'nothing was read')
  })
}

test('a slow reader is not ended', async () => {
  upstream.next({ chunks: 4_000, chunkBytes: 8_000 })
  const socket = connect({ port: gateway.port, host: '127.0.0.1' })
  socket.pause()
  socket.write(request({ stream: true }))
  const until = Date.now() + 2 * STALL_MS
  for (let sip = 0; Date.now() < until; sip += 1) {
    await setTimeout(STALL_MS / 20)
    socket.read(128 * 1024)
    assert.equal(socket.readableEnded || socket.destroyed, false, `cut off at sip ${sip}`)
  }

  assert.match(await text(socket), /data: \[DONE\]\n\n/)
})

test('usage after a disconnect is waited for no longer than that', async () => {
  const frame = (finish_reason: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason }] })}\n\n`
  upstream.next({ rawFrames: [frame(null), frame('stop')], neverEnd: true })
  const stream = await gateway.openChat()
  while ((await stream.nextChunk())?.choices[0]?.finish_reason !== 'stop');
  stream.abort()

  const row = await settledRow(gateway, stream.headers['x-request-id'])

  assert.deepEqual([row.outcome, row.finish_reason, row.usage_source], ['client_left', 'stop', 'estimate'])
  await upstream.idle()
})

async function unread(more: object): Promise<RawConnection> {
  const connection = await openRaw(gateway.port)
  connection.pause()
  connection.send(request(more))
  return connection
}

function request(more: object): string {
  const body = JSON.stringify({ model: 'test/m1', messages: [{ role: 'user', content: 'Go on' }], ...more })
  return (
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${caller.secret}\r\nConnection: close\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
}
