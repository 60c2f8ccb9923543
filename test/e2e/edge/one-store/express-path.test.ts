// The express path and Node's own HTTP server give the same answer to a chat, and a connection may switch between them
// at any time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import type { HttpAnswer } from '../../../support/http-response.ts'
import { openRaw, rawRequest } from '../../../support/raw-http.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'
import { settledRow } from '../../../support/usage.ts'

test("the express path and Node's HTTP server behave the same", async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const { secret } = await gateway.createKey()
  const broke = await gateway.createKey({ credits: '0' })
  const hello = { model: 'test/m1', messages: [{ role: 'user', content: 'Hello' }] }

  const head = (headers: string, key = secret) =>
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${headers}\r\n`
  const plain = (body: object, key = secret, more = '') => {
    const text = JSON.stringify(body)
    return `${head(`Content-Length: ${Buffer.byteLength(text)}\r\n${more}`, key)}${text}`
  }
  // The express path leaves unknown headers to Node.
  const strange = (body: object, key = secret, more = '') => plain(body, key, `Proxy-Connection: keep-alive\r\n${more}`)

  const stories: Readonly<Record<string, readonly [body: object, key?: string]>> = {
    'an answer': [hello],
    'a stream': [{ ...hello, stream: true, stream_options: { include_usage: true } }],
    'an invalid field': [{ ...hello, temperature: 'hot' }],
    'an unknown model': [{ ...hello, model: 'test/none' }],
    'an unknown key': [hello, 'svc_live_nobody'],
    'an empty account': [hello, broke.secret],
  }
  for (const [what, [body, key]] of Object.entries(stories)) {
    await t.test(`${what} has the same status, headers and fields on both paths`, async () => {
      const express = (await rawRequest(gateway.port, plain(body, key), { expect: 1 })).answer
      const node = (await rawRequest(gateway.port, strange(body, key), { expect: 1 })).answer

      assert.deepEqual(likeness(express), likeness(node))
    })

    await t.test(`${what} closes the connection on both paths if the caller requests it`, async () => {
      const more = 'Connection: close\r\n'
      const express = await rawRequest(gateway.port, plain(body, key, more))
      const node = await rawRequest(gateway.port, strange(body, key, more))

      assert.deepEqual([express.ended, node.ended], ['peer', 'peer'])
      assert.deepEqual(likeness(express.answer), likeness(node.answer))
    })
  }

  await t.test('chats and lists can share one connection', async () => {
    using connection = await openRaw(gateway.port)
    const list = `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n\r\n`

    const requests = [plain(hello), plain(hello), list, plain(hello), strange(hello), plain(hello)]
    for (const [i, request] of requests.entries()) {
      connection.send(request)
      await connection.answers(i + 1)
    }

    const answers = await connection.answers(requests.length)
    assert.deepEqual(new Set(answers.map(answer => answer.status)), new Set([200]))
    assert.equal(new Set(answers.map(answer => answer.header('x-request-id'))).size, requests.length)
  })

  await t.test(
    'a request in two pieces is answered, wherever it is split and however late the second arrives',
    async () => {
      const text = plain(hello)
      const body = text.indexOf('\r\n\r\n') + 4
      for (const cut of [1, 40, body - 2, body, body + 1, text.length - 1]) {
        for (const lateMs of [0, 20, 400]) {
          using connection = await openRaw(gateway.port)
          connection.send(text.slice(0, cut))
          await sleep(lateMs)
          connection.send(text.slice(cut))
          const [answer] = await connection.answers(1)

          assert.equal(answer?.status, 200, `cut at ${cut}, ${lateMs} ms late`)
        }
      }
    },
  )

  await t.test('an incomplete body holds nothing and calls no upstream', async () => {
    upstream.reset()
    const { answer } = await rawRequest(gateway.port, plain(hello).slice(0, -1), { halfClose: true })

    assert.equal(answer.status, 400)
    assert.equal(upstream.journal.length, 0)
  })

  await t.test(
    'a request sent before the last answer has ended waits for it and is then handled on its own',
    async () => {
      for (const [tail, status] of [
        ['garbage\r\n\r\n', 400],
        [plain(hello), 200],
        [strange(hello), 200],
        [`GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n\r\n`, 200],
      ] as const) {
        upstream.reset()
        upstream.script({ words: ['one', ' two'], chunkDelayMs: 100 })
        using connection = await openRaw(gateway.port)
        connection.send(plain({ ...hello, stream: true }))
        await until('the stream has begun', () => connection.received.includes('one'))
        connection.send(tail)
        const [first, second] = await connection.answers(2)

        assert.match(first?.text ?? '', / two.*data: \[DONE\]\n\n$/s)
        assert.equal(second?.status, status)
        if (status === 400) assert.equal(await connection.closed(), true)
      }
      upstream.reset()
    },
  )

  for (const behind of ['', plain(hello)]) {
    const what = behind === '' ? 'amid a stream' : 'amid a stream, with another request sent already,'
    await t.test(`a caller that half-closes ${what} has disconnected`, async () => {
      upstream.reset()
      upstream.script({ words: ['one', ' two'], stallAfterChunks: 1 })
      using connection = await openRaw(gateway.port)
      connection.send(plain({ ...hello, stream: true }))
      await until('the stream has begun', () => connection.received.includes('one'))
      if (behind !== '') connection.send(behind)
      connection.halfClose()

      const row = await settledRow(gateway, upstream.journal[0]?.requestId)
      assert.equal(row.outcome, 'client_left')
      assert.equal(await connection.closed(), true)
      assert.equal(upstream.journal.length, 1)
      upstream.reset()
    })
  }

  assert.ok((await gateway.audit()).ok)
})

// Everything except what differs between requests.
function likeness(answer: HttpAnswer) {
  const names = answer.headers.map(([name]) => name.toLowerCase())
  const text = answer.text
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replace(/"created":\d+/g, '"created":0')
    .replace(/svc_live_\w+/g, 'KEY')
  return {
    status: answer.status,
    names: names.filter(name => name !== 'content-length').sort(),
    connection: answer.header('connection'),
    type: answer.header('content-type'),
    trailers: answer.trailers.map(([name]) => name),
    complete: answer.complete,
    text,
  }
}
