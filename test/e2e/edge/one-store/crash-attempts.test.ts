// Requests that try to crash the process: each gets its answer or nothing, and all other callers are served.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { openRaw, rawRequest } from '../../../support/raw-http.ts'
import { parseSse } from '../../../support/sse.ts'
import { startUpstream } from '../../../support/upstream.ts'

test('no single request ends the process', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const key = await gateway.createKey()
  const { pid } = gateway
  const body = JSON.stringify({ model: 'test/m1', stream: true, messages: [{ role: 'user', content: 'Hello' }] })

  for (const more of ['', 'Content-Length: 5\r\n']) {
    await t.test(`CONNECT ${more.trim()} followed by a reset`, async () => {
      for (let i = 0; i < 20; i++) {
        using socket = await openRaw(gateway.port)
        await socket.send(`CONNECT x:1 HTTP/1.1\r\nHost: x\r\n${more}\r\nhello`)
        socket.reset()
      }

      assert.equal((await gateway.get('/health')).status, 200)
    })
  }

  await t.test('a stream over HTTP/1.0, which has no trailers, is served and billed', async () => {
    const answer = await rawRequest(
      gateway.port,
      `POST /v1/chat/completions HTTP/1.0\r\nAuthorization: Bearer ${key.secret}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )

    assert.equal(answer.answer?.status, 200)
    assert.equal(parseSse(String(answer.answer?.body)).done, true)
    const row = await gateway.get(`/v1/usage/${answer.answer?.header('x-request-id')}`, key.secret)
    assert.equal(row.body.outcome, 'completed')
    assert.ok(Number(row.body.cost) > 0)
  })

  await t.test('a stream over HTTP/1.0 to a caller that accepts chunks is framed as its headers say', async () => {
    const answer = await rawRequest(
      gateway.port,
      `POST /v1/chat/completions HTTP/1.0\r\nTE: chunked\r\nAuthorization: Bearer ${key.secret}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )

    assert.equal(answer.answer?.header('transfer-encoding'), 'chunked')
    assert.match(answer.text, /\r\n\r\n[0-9a-f]+\r\ndata: /)
    assert.match(answer.text, /data: \[DONE\]\n\n\r\n0\r\n\r\n$/)
  })

  await t.test('300,000 members are refused before they are parsed', async () => {
    const members = Array.from({ length: 300_000 }, (_, i) => `"${i}":1`).join(',')
    const answer = await rawRequest(
      gateway.port,
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.secret}\r\nConnection: close\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${members.length + 2}\r\n\r\n{${members}}`,
    )

    assert.equal(answer.answer?.status, 400)
    assert.match(String(answer.answer?.body), /invalid_json/)
  })

  assert.equal(gateway.pid, pid)
  assert.ok((await gateway.audit()).ok)
})
