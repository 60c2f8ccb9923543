// Authentication of /v1 covers every path and every method: without a key the only answer is 401, and no spelling of a
// path bypasses it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { httpCall } from '../../../support/http-call.ts'
import { rawRequest } from '../../../support/raw-http.ts'
import { assertCommonHeaders, assertRefusal, seen } from '../../../support/refusal.ts'
import { startUpstream } from '../../../support/upstream.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND', 'M-SEARCH', 'HEAD']
const ENDPOINTS: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'POST',
  '/v1/models': 'GET',
  '/v1/models/test/m1': 'GET',
  '/v1/key/introspect': 'GET',
  '/v1/usage': 'GET',
  '/v1/usage/01999999-9999-7999-9999-999999999999': 'GET',
}
const UNKNOWN = ['/v1', '/v1/', '/v1/nothing', '/v1/%zz', '/v1/models/%zz', '/v1/chat', '/v1/chat/completions/']

test('without a key /v1 answers only 401; with one it serves only existing endpoints', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const { secret } = await gateway.createKey({ rpm_limit: 100_000 })
  const call = (method: string, path: string, key?: string) =>
    httpCall(gateway.url + path, { method, headers: key === undefined ? {} : { authorization: `Bearer ${key}` } })
  const raw = (target: string, key?: string) =>
    rawRequest(
      gateway.port,
      `GET ${target} HTTP/1.1\r\nHost: x\r\n${key === undefined ? '' : `Authorization: Bearer ${key}\r\n`}\r\n`,
      { expect: 1 },
    )

  await t.test('every endpoint, every unknown path and every method is a 401 without a key', async () => {
    const pairs = [...Object.keys(ENDPOINTS), ...UNKNOWN].flatMap(path => METHODS.map(method => ({ path, method })))

    const answers = await Promise.all(pairs.map(({ path, method }) => call(method, path)))

    for (const [i, answer] of answers.entries()) {
      const { path, method } = pairs[i] as (typeof pairs)[number]
      if (method !== 'HEAD') assertRefusal(answer, 'invalid_api_key')
      assert.equal(answer.status, 401, `${method} ${path}`)
      assert.equal(answer.headers['www-authenticate'], 'Bearer')
      assertCommonHeaders(answer.headers)
    }
  })

  await t.test('with a key, every other method including HEAD is a 405 with Allow', async () => {
    for (const [path, allowed] of Object.entries(ENDPOINTS)) {
      for (const method of METHODS.filter(name => name !== allowed)) {
        const answer = await call(method, path, secret)

        if (method !== 'HEAD') assertRefusal(answer, 'method_not_allowed')
        assert.equal(answer.status, 405, `${method} ${path}`)
        assert.equal(answer.headers.allow, allowed)
        assert.equal(answer.headers['x-svc-cost'], '0')
      }
    }
  })

  await t.test('with a key, every unknown path is a 404 under every method', async () => {
    for (const path of UNKNOWN) {
      for (const method of METHODS.filter(name => name !== 'HEAD')) {
        assertRefusal(await call(method, path, secret), 'not_found')
      }
    }
  })

  await t.test('no other spelling of a path bypasses authentication', async () => {
    const tricks = [
      '//v1/models',
      '/./v1/models',
      '/x/../v1/models',
      '/v1//models',
      '/v1/./models',
      '/v1/x/../models',
      '/v1/%2e%2e/v1/models',
      '/%2e/v1/models',
      '/%76%31/models',
      '/v1%2fmodels',
      '/v1/mode%6cs',
      '/V1/models',
      '/v1/MODELS',
      '/v1/models/',
      '/v1/models;x',
      '/v1/models%00',
      '/v1/models%20',
      '/v1\\models',
      '\\v1\\models',
      'v1/models',
      'http://x/v1/models',
      'HTTP://127.0.0.1/v1/models?a=b',
      'http://x//v1/models',
      'http:///v1/models',
      'http://x/v1/../health/../v1/models',
      '/health/../v1/models',
      '/admin/v1/../../v1/models',
      '/v1/../admin/v1/keys',
      'http://x/admin/v1/keys',
      '//admin/v1/keys',
      '/v1/models#fragment',
    ]

    for (const target of tricks) {
      const { answer } = await raw(target)

      assert.ok([400, 401, 404].includes(answer.status), `${target}: ${answer.status}`)
      assert.doesNotMatch(answer.text, /test\/m1|"object":"list"/, target)
      assert.ok(JSON.parse(answer.text).error.code, target)
    }
  })

  await t.test('the absolute form of a request target equals its path', async () => {
    const { answer } = await raw('http://elsewhere.example/v1/models', secret)
    const elsewhere = await raw('http://elsewhere.example/v1/models')

    assert.equal(answer.status, 200)
    assertCommonHeaders(seen(answer).headers)
    assertRefusal(seen(elsewhere.answer), 'invalid_api_key')
  })

  await t.test('an operator token is not a key, and a key is not an operator token', async () => {
    assertRefusal(await call('GET', '/v1/models', gateway.adminToken), 'invalid_api_key')

    const answer = await call('GET', '/admin/v1/keys', secret)

    assert.equal(answer.status, 401)
  })

  assert.equal(upstream.journal.length, 0)
  assert.ok((await gateway.audit()).ok)
})
