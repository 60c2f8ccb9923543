// Malformed HTTP: every request that can be read in two ways, or in none, is a 400 in the usual format and closes its
// connection. Differences between parsers are how requests are smuggled.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { rawRequest } from '../../../support/raw-http.ts'
import { assertRefusal, seen } from '../../../support/refusal.ts'
import { startUpstream } from '../../../support/upstream.ts'
import { balanceOf } from '../../../support/usage.ts'

test('malformed HTTP is a 400, closes the connection and admits nothing', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const key = await gateway.createKey()
  const auth = `Host: x\r\nAuthorization: Bearer ${key.secret}\r\n`
  const chat = JSON.stringify({ model: 'test/m1', messages: [{ role: 'user', content: 'Hello' }] })
  const get = (line: string, headers = auth) => `${line}\r\n${headers}\r\n`
  const post = (headers: string, body: string) =>
    `POST /v1/chat/completions HTTP/1.1\r\n${auth}Content-Type: application/json\r\n${headers}\r\n${body}`
  const wrapped = `${chat.length.toString(16)}\r\n${chat}\r\n0\r\n\r\n`

  await assertRefused('the request line', {
    'not HTTP': 'hello there\r\n\r\n',
    'a TLS ClientHello': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'an unknown method': get('FOO /v1/models HTTP/1.1'),
    'a lowercase method': get('get /v1/models HTTP/1.1'),
    'a space in the target': get('GET /v1/mod els HTTP/1.1'),
    'a control character in the target': get('GET /v1/mod\x01els HTTP/1.1'),
    'non-ASCII bytes in the target': get('GET /v1/mod\xe9ls HTTP/1.1'),
    'an unknown HTTP version': get('GET /v1/models HTTP/9.9'),
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'HTTP/0.9': get('GET /v1/models HTTP/0.9'),
    'HTTP/0.9 without a version': 'GET /v1/models\r\n\r\n',
  })

  await assertRefused('the headers', {
    'a folded header': get('GET /v1/models HTTP/1.1', `${auth}X-Long: a\r\n b\r\n`),
    'a folded key': get('GET /v1/models HTTP/1.1', `Host: x\r\nAuthorization: Bearer\r\n ${key.secret}\r\n`),
    'a space before the first header': get('GET /v1/models HTTP/1.1', ` X-First: a\r\n${auth}`),
    'a space before the colon': get('GET /v1/models HTTP/1.1', `${auth}X-Foo : a\r\n`),
    'a header without a colon': get('GET /v1/models HTTP/1.1', `${auth}X-Foo\r\n`),
    'a header without a name': get('GET /v1/models HTTP/1.1', `${auth}: a\r\n`),
    'NUL in a value': get('GET /v1/models HTTP/1.1', `${auth}X-Foo: a\0b\r\n`),
    'a lone CR in a value': get('GET /v1/models HTTP/1.1', `${auth}X-Foo: a\rb\r\n`),
    'lines that end in LF alone': get('GET /v1/models HTTP/1.1').replaceAll('\r', ''),
    'no Host': get('GET /v1/models HTTP/1.1', `Authorization: Bearer ${key.secret}\r\n`),
    'two Hosts': get('GET /v1/models HTTP/1.1', `Host: y\r\n${auth}`),
  })

  await assertRefused('the framing of the body', {
    'Content-Length and chunked': post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', wrapped),
    'chunked and Content-Length': post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', wrapped),
    'two different Content-Lengths': post(`Content-Length: ${chat.length}\r\nContent-Length: 1\r\n`, chat),
    'the same Content-Length twice': post(`Content-Length: ${chat.length}\r\nContent-Length: ${chat.length}\r\n`, chat),
    'a list of Content-Lengths': post(`Content-Length: ${chat.length}, ${chat.length}\r\n`, chat),
    'a negative Content-Length': post('Content-Length: -1\r\n', chat),
    'a Content-Length with a sign': post(`Content-Length: +${chat.length}\r\n`, chat),
    'a hexadecimal Content-Length': post('Content-Length: 0x10\r\n', chat),
    'a Content-Length beyond all integers': post(`Content-Length: ${'9'.repeat(30)}\r\n`, chat),
    'chunked twice': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', wrapped),
    'chunked as other than the last encoding': post('Transfer-Encoding: chunked, identity\r\n', wrapped),
    'an unknown transfer encoding': post('Transfer-Encoding: xchunked\r\n', wrapped),
    'the transfer encoding "identity"': post('Transfer-Encoding: identity\r\n', chat),
    'a chunk size that is not a number': post('Transfer-Encoding: chunked\r\n', 'zz\r\nabc\r\n0\r\n\r\n'),
    'a chunk longer than its size': post('Transfer-Encoding: chunked\r\n', '3\r\nabcdef\r\n0\r\n\r\n'),
    'a thousand trailers': post('Transfer-Encoding: chunked\r\n', `${wrapped.slice(0, -2)}${fillers(1000)}\r\n`),
  })

  await t.test('answers that a browser may have requested have the CORS headers', async () => {
    const ask = async (text: string) => (await rawRequest(gateway.port, Buffer.from(text))).answer
    const theirs = [await ask('GET /keys HTTP/1.1\r\n\r\n'), await ask('GET /ke ys HTTP/1.1\r\n\r\n')]
    const callers = await ask('GET /v1/models HTTP/1.1\r\n\r\n')

    for (const answer of theirs) {
      assert.equal(answer.status, 400)
      assert.match(answer.header('content-security-policy') ?? '', /frame-ancestors 'none'/)
    }
    assert.deepEqual([callers.status, callers.header('content-security-policy')], [400, undefined])
  })

  assert.equal(upstream.journal.length, 0)
  assert.equal((await balanceOf(gateway, key.accountId)).held, '0')
  assert.equal((await gateway.chat({}, { key: key.secret })).status, 200)
  assert.ok((await gateway.audit()).ok)

  async function assertRefused(what: string, cases: Readonly<Record<string, string>>): Promise<void> {
    await t.test(what, async () => {
      const results = await Promise.all(
        Object.entries(cases).map(async ([name, request]) => ({
          name,
          ...(await rawRequest(gateway.port, Buffer.from(request, 'latin1'))),
        })),
      )

      for (const { name, answers, answer, ended } of results) {
        assert.equal(answers.length, 1, name)
        assert.equal(answer.header('connection'), 'close', name)
        assert.notEqual(ended, 'timeout', name)
        assertRefusal(seen(answer), name === 'a thousand trailers' ? 'headers_too_large' : 'malformed_request')
      }
    })
  }
})

function fillers(count: number): string {
  return Array.from({ length: count }, (_, i) => `X-Filler-${i}: a\r\n`).join('')
}
