// Callers that send Expect: 100-continue: the 100 comes only after admission, a refusal replaces it, and unknown
// expectations are a 417.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN_TOKEN, standardConfig, startGateway } from '../../../support/gateway.ts'
import { openRaw, rawRequest } from '../../../support/raw-http.ts'
import { assertRefusal, seen } from '../../../support/refusal.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

test('Expect: 100-continue gets its 100 only after admission', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const { secret } = await gateway.createKey()
  const chat = JSON.stringify({ model: 'test/m1', messages: [{ role: 'user', content: 'Hello' }] })
  const head = (headers: string) =>
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n`
  const auth = `Authorization: Bearer ${secret}\r\n`
  const wait = `Content-Length: ${chat.length}\r\nExpect: 100-continue\r\n`

  await t.test('an admitted caller gets 100, then the answer', async () => {
    using connection = await openRaw(gateway.port)

    connection.send(head(auth + wait))
    await until('the 100 has arrived', () => connection.received.includes('HTTP/1.1 100'))
    connection.send(chat)
    const answers = await connection.answers(1)

    assert.deepEqual(
      answers.map(answer => answer.status),
      [100, 200],
    )
  })

  await t.test('a caller that does not wait for the 100 is answered too', async () => {
    const { answer } = await rawRequest(gateway.port, head(auth + wait) + chat, { expect: 1 })

    assert.equal(answer.status, 200)
  })

  await t.test('an unauthenticated caller is refused without a 100, and the connection closes', async () => {
    const { answers, answer, ended } = await rawRequest(gateway.port, head(wait))

    assertRefusal(seen(answer), 'invalid_api_key')
    assert.equal(answers.length, 1)
    assert.equal(answer.header('connection'), 'close')
    assert.equal(ended, 'peer')
  })

  await t.test('a body over the cap, or of another type, is refused without a 100', async () => {
    const huge = `Content-Length: ${16 * 1024 * 1024 + 1}\r\nExpect: 100-continue\r\n`
    const text = head(auth + wait).replace('application/json', 'text/plain')

    const requests = [head(auth + huge), text]
    const refused = await Promise.all(requests.map(request => rawRequest(gateway.port, request)))

    for (const [i, { answers, answer, ended }] of refused.entries()) {
      assertRefusal(seen(answer), i === 0 ? 'request_too_large' : 'unsupported_media_type')
      assert.equal(answers.length, 1)
      assert.equal(ended, 'peer')
    }
  })

  await t.test('the admin API sends 100 only to a valid token', async () => {
    const body = JSON.stringify({ name: 'patient' })
    const ask = (token: string) =>
      `POST /admin/v1/accounts HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`
    using operator = await openRaw(gateway.port)

    operator.send(ask(ADMIN_TOKEN))
    await until('the 100 has arrived', () => operator.received.includes('HTTP/1.1 100'))
    operator.send(body)
    const welcome = await operator.answers(1)
    const { answers } = await rawRequest(gateway.port, ask('wrong-token-of-some-length'), { expect: 1 })

    assert.deepEqual(
      welcome.map(answer => answer.status),
      [100, 201],
    )
    assert.deepEqual(
      answers.map(answer => answer.status),
      [401],
    )
  })

  await t.test('any other expectation is a 417 and closes the connection, on every path', async () => {
    for (const target of ['/v1/chat/completions', '/admin/v1/accounts', '/health']) {
      const request = head(`${auth}Content-Length: 0\r\nExpect: foo\r\n`).replace('/v1/chat/completions', target)

      const { answer, ended } = await rawRequest(gateway.port, request)

      assertRefusal(seen(answer), 'expectation_failed')
      assert.equal(ended, 'peer')
    }
  })

  assert.ok((await gateway.audit()).ok)
})
