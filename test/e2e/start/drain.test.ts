// How the process ends: readiness returns 503 at once, callers are served for the drain delay and sent elsewhere, open
// answers get their time or an error, everything is settled, and the exit code is 0.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PATIENT_COUNTS, withBounds } from '../../support/bounds.ts'
import { type Gateway, standardConfig, startGateway } from '../../support/gateway.ts'
import { openRaw } from '../../support/raw-http.ts'
import { assertRefusal, seen } from '../../support/refusal.ts'
import { until } from '../../support/until.ts'
import { startUpstream } from '../../support/upstream.ts'
import { settledRow } from '../../support/usage.ts'

test('SIGTERM: serve for the drain delay, then refuse, finish open streams, exit with 0', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url, { drain_delay: 2 }) })
  const { secret } = await gateway.createKey()
  upstream.next({ chunks: 20, chunkDelayMs: 180 })
  const stream = await gateway.openChat({}, { key: secret })
  await stream.nextChunk()
  const request = `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n\r\n`
  using kept = await openRaw(gateway.port)
  kept.send(request.slice(0, 30))
  using rested = await openRaw(gateway.port)
  const chat = JSON.stringify({ model: 'test/m1', messages: [{ role: 'user', content: 'Hello' }] })
  rested.send(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${chat.length}\r\n\r\n${chat}`,
  )
  await rested.answers(1)

  gateway.signal('SIGTERM')
  await until('readiness is 503', async () => (await gateway.get('/ready')).status === 503)

  await t.test('during the drain delay it is alive, serves and closes connections', async () => {
    const headers = { connection: 'keep-alive' }
    const answers = await Promise.all([
      gateway.chat({}, { key: secret, headers }),
      ...['/health', '/', '/openapi.json', '/nothing', '/%zz'].map(path => gateway.get(path, undefined, headers)),
      gateway.get('/admin/v1/keys', gateway.adminToken, headers),
    ])

    assert.deepEqual(
      answers.map(answer => answer.status),
      [200, 200, 200, 200, 404, 404, 200],
    )
    for (const answer of answers) assert.equal(answer.headers.connection, 'close')
  })

  await t.test('after an answer that closes its connection nothing starts', async () => {
    const before = upstream.journal.length
    using connection = await openRaw(gateway.port)
    const one =
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${chat.length}\r\n\r\n${chat}`
    connection.send(one.repeat(3))

    assert.equal(await connection.closed(), true)
    assert.deepEqual(
      [connection.received.toString().match(/HTTP\/1\.1 200/g)?.length, upstream.journal.length - before],
      [1, 1],
    )
  })

  await t.test('then the listener is closed, and open connections get 503', async () => {
    await until('the listener is closed', () => isClosed(gateway))
    kept.send(request.slice(30))
    const [answer] = await kept.answers(1)

    assert.ok(answer !== undefined)
    assertRefusal(seen(answer), 'service_unavailable')
    assert.equal(answer.header('connection'), 'close')
    assert.equal(await kept.closed(), true)
  })

  await t.test('an idle connection is closed', async () => {
    assert.equal(await rested.closed(1_000), true)
  })

  await t.test('the open stream completes, and the process ends right after it', async () => {
    const { done, chunks } = await stream.rest()

    assert.ok(done && chunks.length >= 20)
    assert.equal(await gateway.exited, 0)
    assert.ok(Number(stream.trailers['x-svc-cost']) > 0)
  })

  assert.ok((await gateway.audit()).ok)
})

test('a second SIGTERM ends open streams with an error event, and they are settled', async () => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({
    ...withBounds(PATIENT_COUNTS),
    config: standardConfig(upstream.url, { drain_delay: 60 }),
  })
  const { secret } = await gateway.createKey()
  upstream.next({ words: ['one', ' two'], stallAfterChunks: 2 }, { delayMs: 60_000 })
  const stream = await gateway.openChat({}, { key: secret })
  await stream.nextChunk()
  const json = gateway.chat({}, { key: secret })
  await upstream.received(2)

  gateway.signal('SIGTERM')
  await until('readiness is 503', async () => (await gateway.get('/ready')).status === 503)
  gateway.signal('SIGTERM')

  const [{ chunks, done }, refused] = await Promise.all([stream.rest(), json])
  const last = chunks.at(-1)
  assert.equal(last?.error?.code, 'service_unavailable')
  assert.equal(String(last?.choices[0]?.finish_reason), 'error')
  assert.equal(done, true)
  assertRefusal(refused, 'service_unavailable')
  assert.equal(await gateway.exited, 0)
  await gateway.restart()
  const cut = await settledRow(gateway, stream.headers['x-request-id'])
  assert.deepEqual([cut.state, cut.outcome, cut.completion_tokens], ['settled', 'upstream_broke', 2])
  assert.equal(cut.cost, stream.trailers['x-svc-cost'])
  const unanswered = await settledRow(gateway, refused.headers['x-request-id'])
  assert.deepEqual([unanswered.state, unanswered.cost], ['settled', '0'])
  const impatience = setInterval(() => gateway.signal('SIGTERM'), 1)
  const code = await gateway.exited
  clearInterval(impatience)
  assert.equal(code, 0, 'for any number of signals')
  assert.ok((await gateway.audit()).ok)
})

test('streams open at the end of the drain time are cut and settled, with exit code 0', async () => {
  await using upstream = await startUpstream()
  const config = standardConfig(upstream.url, { drain_delay: 0, drain_max: 1 })
  await using gateway = await startGateway({ config })
  upstream.next({ words: ['one'], stallAfterChunks: 1 })
  const stream = await gateway.openChat()
  await stream.nextChunk()

  gateway.signal('SIGTERM')

  const { chunks, done } = await stream.rest()
  assert.equal(chunks.at(-1)?.error?.code, 'service_unavailable')
  assert.equal(done, true)
  assert.equal(await gateway.exited, 0)
  assert.ok((await gateway.audit()).ok)
})

async function isClosed(gateway: Gateway): Promise<boolean> {
  const connection = await openRaw(gateway.port).catch(() => undefined)
  connection?.reset()
  return connection === undefined
}
