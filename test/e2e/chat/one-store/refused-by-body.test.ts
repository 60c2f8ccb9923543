// Why an admitted chat is refused by its body: its type, its size, its JSON, a field, the model, the context.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { httpCall } from '../../../support/http-call.ts'
import { openRaw, rawRequest } from '../../../support/raw-http.ts'
import { assertRefusal, seen } from '../../../support/refusal.ts'
import { standardModel } from '../../../support/standard-config.ts'
import { startUpstream } from '../../../support/upstream.ts'

const CAP = 16 * 1024 * 1024

test('a body is refused for its type, size, JSON, fields, model or length before any upstream call', async t => {
  await using upstream = await startUpstream()
  const small = standardModel({ id: 'test/small', context_length: 100, max_output_tokens: 50 })
  const config = standardConfig(upstream.url, { models: [standardModel(), small] })
  await using gateway = await startGateway({ config })
  const { secret } = await gateway.createKey({ rpm_limit: 10_000 })
  const authorization = `Bearer ${secret}`
  const url = `${gateway.url}/v1/chat/completions`
  const head = (...more: string[]) =>
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n${more.join('\r\n')}\r\n\r\n`

  await t.test('a content type other than JSON, or none, or an encoding', async () => {
    const body = '{}'
    for (const type of [
      'text/plain',
      'application/jsonp',
      'multipart/form-data; boundary=x',
      'application/ld+json',
      '',
    ]) {
      const answer = await httpCall(url, { body, headers: { authorization, 'content-type': type } })

      assertRefusal(answer, 'unsupported_media_type')
    }
    const encoded = await httpCall(url, { body, headers: { authorization, 'content-encoding': 'gzip' } })

    assertRefusal(encoded, 'unsupported_media_type')
  })

  await t.test('a JSON content type with parameters is accepted', async () => {
    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json ;charset=UTF-8']) {
      const answer = await gateway.chat({}, { key: secret, headers: { 'content-type': type } })

      assert.equal(answer.status, 200, type)
    }
  })

  await t.test('a Content-Length over the cap is refused unread, also with Expect', async () => {
    const announced = head('Content-Type: application/json', `Content-Length: ${CAP + 1}`)
    const asking = head('Content-Type: application/json', `Content-Length: ${CAP + 1}`, 'Expect: 100-continue')

    const ends = await Promise.all([announced, asking].map(request => rawRequest(gateway.port, request)))

    for (const { answers, ended } of ends) {
      assert.equal(answers.length, 1, 'no 100 may come before it')
      assertRefusal(seen(answers[0] as (typeof answers)[number]), 'request_too_large')
      assert.equal(answers[0]?.header('connection'), 'close')
      assert.equal(ended, 'peer')
    }
  })

  await t.test('a chunked body is refused at the cap', async () => {
    using connection = await openRaw(gateway.port)
    connection.send(head('Content-Type: application/json', 'Transfer-Encoding: chunked'))
    const piece = Buffer.concat([Buffer.from('40000\r\n'), Buffer.alloc(0x40000, '['), Buffer.from('\r\n')])
    for (let sent = 0; sent < CAP + 0x40000; sent += 0x40000) connection.send(piece)

    const [answer] = await connection.answers(1)

    assertRefusal(seen(answer as NonNullable<typeof answer>), 'request_too_large')
    assert.equal(await connection.closed(), true)
  })

  await t.test('a body of exactly the cap is accepted', async () => {
    const body = JSON.stringify({ model: 'no/such', messages: [{ role: 'user', content: '' }] })

    const answer = await httpCall(url, { body: body + ' '.repeat(CAP - body.length), headers: { authorization } })

    assertRefusal(answer, 'model_not_found', 'model')
  })

  await t.test('an invalid, a missing and a priced field are named by path', async () => {
    const user = { role: 'user', content: 'x' }
    assertRefusal(
      await gateway.chat({ messages: [user, user, { role: 'user', content: 5 }] }, { key: secret }),
      'invalid_value',
      'messages.2.content',
    )
    assertRefusal(await gateway.chat({ messages: undefined }, { key: secret }), 'missing_field', 'messages')
    assertRefusal(
      await gateway.chat({ web_search_options: {} }, { key: secret }),
      'unsupported_value',
      'web_search_options',
    )
  })

  await t.test('an unknown model', async () => {
    const answer = await gateway.chat({ model: 'test/none' }, { key: secret })

    const error = assertRefusal(answer, 'model_not_found', 'model')
    assert.match(String(error.message), /test\/none/)
  })

  await t.test('a prompt certainly longer than the context', async () => {
    const content = 'word '.repeat(101)

    const answer = await gateway.chat({ model: 'test/small', messages: [{ role: 'user', content }] }, { key: secret })

    assertRefusal(answer, 'context_length_exceeded', 'messages')
  })

  await t.test('a prompt that may fit is accepted', async () => {
    const content = 'x'.repeat(300)

    const answer = await gateway.chat({ model: 'test/small', messages: [{ role: 'user', content }] }, { key: secret })

    assert.equal(answer.status, 200)
  })

  assert.equal(upstream.journal.length, 4)
  assert.ok((await gateway.audit()).ok)
})
