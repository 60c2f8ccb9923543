// Several requests on one connection, sent before any answer: each is answered separately and in order, with its own
// key, and garbage after them is never mixed into an answer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { openRaw, rawRequest } from '../../../support/raw-http.ts'
import { assertRefusal, seen } from '../../../support/refusal.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'
import { settledRow } from '../../../support/usage.ts'

test('pipelined requests are answered in order and never mixed', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const keys = await Promise.all(Array.from({ length: 4 }, () => gateway.createKey()))
  const [{ secret }] = keys as [(typeof keys)[number]]
  const get = (target: string, key: string) =>
    `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`
  const post = (body: object, key: string) => {
    const text = JSON.stringify({ model: 'test/m1', ...body })
    return (
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
    )
  }
  const chunked = (body: object, key: string) => {
    const text = JSON.stringify({ model: 'test/m1', ...body })
    const head = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked`
    return `POST /v1/chat/completions HTTP/1.1\r\n${head}\r\n\r\n${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`
  }

  await t.test('each key gets its own answer, and unknown keys between them are refused', async () => {
    const order = Array.from({ length: 60 }, (_, i) => (i % 5 === 4 ? undefined : keys[i % 4]))
    const requests = order.map(key => get('/v1/key/introspect', key?.secret ?? 'svc_live_nobody'))

    const { answers } = await rawRequest(gateway.port, requests.join(''), { expect: 60 })

    assert.equal(new Set(answers.map(answer => answer.header('x-request-id'))).size, 60)
    for (const [i, answer] of answers.entries()) {
      if (order[i] === undefined) assertRefusal(seen(answer), 'invalid_api_key')
      else assert.equal(JSON.parse(answer.text).id, order[i].id)
    }
  })

  await t.test('after a refused chunked body, which closes the connection, nothing starts', async () => {
    const key = await gateway.createKey()
    const messages = [{ role: 'user', content: 'Hello' }]
    upstream.reset()
    const chat = post({ messages }, key.secret)
    using connection = await openRaw(gateway.port)

    connection.send(chat + chunked({ messages }, 'svc_live_nobody') + chat + chat)
    const answers = await connection.answers(2)
    const closed = await connection.closed(8000)

    assert.deepEqual([answers.map(({ status }) => status), closed], [[200, 401], true])
    assert.equal(upstream.journal.length, 1)
    const { body } = await gateway.get('/v1/usage', key.secret)
    assert.equal((body.data as unknown as unknown[]).length, 1)
  })

  await t.test('each prompt gets its own answer in order, as JSON and as a stream', async () => {
    upstream.script(({ body }) => {
      const { content } = (body as { messages: [{ content: string }] }).messages[0]
      return { words: [content], delayMs: content.endsWith('0') ? 150 : 0 }
    })
    const canaries = Array.from({ length: 12 }, (_, i) => `canary-${i}`)
    const requests = canaries.map((content, i) =>
      post({ messages: [{ role: 'user', content }], stream: i % 2 === 1 }, keys[i % 4]?.secret ?? ''),
    )

    const { answers } = await rawRequest(gateway.port, requests.join(''), { expect: 12, timeoutMs: 15_000 })

    for (const [i, answer] of answers.entries()) {
      assert.deepEqual(answer.text.match(/canary-\d+/g), [canaries[i]])
      const row = await settledRow(gateway, answer.header('x-request-id'))
      assert.equal(row.outcome, 'completed')
    }
    upstream.reset()
  })

  await t.test('garbage after a finished answer is a separate 400', async () => {
    using connection = await openRaw(gateway.port)

    connection.send(get('/v1/models', secret))
    await connection.answers(1)
    connection.send('garbage\r\n\r\n')
    const [first, second] = await connection.answers(2)

    assert.equal(first?.status, 200)
    assertRefusal(seen(second as NonNullable<typeof second>), 'malformed_request')
    assert.equal(await connection.closed(), true)
  })

  await t.test('CONNECT is a 400 and closes the connection', async () => {
    for (const target of ['example.com:443', '127.0.0.1:80', '/v1/models']) {
      const { answer, ended } = await rawRequest(gateway.port, `CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`)

      assertRefusal(seen(answer), 'malformed_request')
      assert.equal(ended, 'peer')
    }
  })

  const tails = {
    garbage: 'garbage\r\n\r\n',
    'a CONNECT': 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n',
    'a request without a Host and garbage': 'GET /v1/models HTTP/1.1\r\n\r\ngarbage\r\n\r\n',
    'a body that cannot be read': `${post({}, secret).replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked')}zz`,
  }
  for (const [what, tail] of Object.entries(tails)) {
    await t.test(`${what} during an unfinished answer waits for its end and is then a separate 400`, async () => {
      upstream.reset()
      upstream.script({ words: ['one', ' two'], chunkDelayMs: 100 })
      using connection = await openRaw(gateway.port)
      connection.send(chunked({ messages: [{ role: 'user', content: 'Hello' }], stream: true }, secret))
      await until('the stream has begun', () => connection.received.includes('one'))
      connection.send(tail)
      const [first, second] = await connection.answers(2)

      assert.match(first?.text ?? '', / two.*data: \[DONE\]\n\n$/s)
      assertRefusal(seen(second as NonNullable<typeof second>), 'malformed_request')
      assert.equal(await connection.closed(), true)
      const row = await settledRow(gateway, upstream.journal[0]?.requestId)
      assert.equal(row.outcome, 'completed')
    })
  }

  await t.test('garbage directly after a chunked body closes the connection', async () => {
    upstream.reset()
    upstream.script({ words: ['one', ' two'], stallAfterChunks: 1 })
    const body = { messages: [{ role: 'user', content: 'Hello' }], stream: true }
    const { answers, ended } = await rawRequest(gateway.port, `${chunked(body, secret)}garbage\r\n\r\n`)

    assert.equal(ended, 'peer')
    assert.ok(answers.every(({ complete }) => !complete))
    upstream.reset()
  })

  assert.ok((await gateway.audit()).ok)
})
