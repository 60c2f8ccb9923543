// Browsers: no cookie is read or set under /v1, and no page of another origin may read an answer unless the operator
// lists that origin.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Gateway, standardConfig, startGateway } from '../../../support/gateway.ts'
import { httpCall } from '../../../support/http-call.ts'
import { assertCommonHeaders, assertRefusal } from '../../../support/refusal.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

const ORIGIN = 'https://app.example.com'
const EXPOSED = [
  ...['x-request-id', 'x-svc-provider', 'x-svc-cost', 'x-svc-output-cap', 'x-svc-ignored-fields'],
  ...['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'ratelimit-policy'],
  ...['retry-after', 'retry-after-ms', 'x-should-retry', 'deprecation', 'sunset'],
]

test('without listed origins there is no CORS, and never a cookie', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const { secret } = await gateway.createKey()

  await t.test('a cookie is not a key', async () => {
    for (const cookie of [`key=${secret}`, `Authorization=Bearer ${secret}`, `session=${gateway.adminToken}`]) {
      assertRefusal(await gateway.get('/v1/models', undefined, { cookie }), 'invalid_api_key')
    }
  })

  await t.test('no answer sets a cookie or a CORS header, also with a cookie from upstream', async () => {
    upstream.script({ setCookie: 'upstream=1', extraHeaders: { 'access-control-allow-origin': '*' } })
    const headers = { origin: ORIGIN, cookie: 'a=b' }

    const answers = [
      await gateway.get('/v1/models', secret, headers),
      await gateway.get('/v1/models', undefined, headers),
      await gateway.get('/v1/nothing', secret, headers),
      await gateway.chat({}, { key: secret, headers }),
      await gateway.chat({ stream: true }, { key: secret, headers }),
      await gateway.chat({ messages: 5 }, { key: secret, headers }),
    ]

    assert.deepEqual(
      answers.map(answer => answer.status),
      [200, 401, 404, 200, 200, 400],
    )
    for (const { headers: sent } of answers) {
      assert.deepEqual(
        Object.keys(sent).filter(name => name === 'set-cookie' || name.startsWith('access-control-')),
        [],
      )
    }
  })

  await t.test('a preflight is a request without a key', async () => {
    const answer = await preflight(gateway.url, ORIGIN)

    assertRefusal(answer, 'invalid_api_key')
    assert.equal(answer.headers['access-control-allow-origin'], undefined)
  })

  assert.ok((await gateway.audit()).ok)
})

test('only a listed origin can read answers', async t => {
  await using upstream = await startUpstream()
  const config = standardConfig(upstream.url, { cors_origins: [ORIGIN, 'http://localhost:3000'] })
  await using gateway = await startGateway({ config })
  const { secret } = await gateway.createKey()

  await t.test('its preflight has the allowed methods and headers', async () => {
    const answer = await preflight(gateway.url, ORIGIN)

    assert.equal(answer.status, 204)
    assert.equal(answer.headers['access-control-allow-origin'], ORIGIN)
    assert.match(String(answer.headers['access-control-allow-methods']), /GET.*POST/)
    assert.match(String(answer.headers['access-control-allow-headers']), /authorization.*content-type/i)
    assert.equal(answer.headers['access-control-allow-credentials'], undefined)
    assert.match(String(answer.headers.vary), /origin/i)
    assert.equal(answer.headers['x-svc-cost'], '0')
    assertCommonHeaders(answer.headers)
  })

  await t.test('its client can send its own headers', async () => {
    const asked = ['authorization', 'x-stainless-lang', 'x-stainless-retry-count']
    for (const between of [',', ', ']) {
      const { headers } = await preflight(gateway.url, ORIGIN, asked.join(between))
      const allowed = String(headers['access-control-allow-headers']).split(/, ?/)
      for (const name of asked) assert.ok(allowed.includes(name), name)
    }
    for (const odd of ['a b', '<script>', '*', 'x'.repeat(1025)]) {
      const { headers } = await preflight(gateway.url, ORIGIN, odd)
      assert.equal(headers['access-control-allow-headers'], 'authorization, content-type, x-client-request-id')
    }
  })

  await t.test('its preflight is logged and counted', async () => {
    const before = await preflightsCounted(gateway)
    const { headers } = await preflight(gateway.url, ORIGIN)
    const line = () => gateway.logs.find(each => String(each.id) === headers['x-request-id'])
    await until('its line is written', () => line() !== undefined)

    assert.deepEqual([line()?.endpoint, line()?.status, line()?.outcome], ['chat.completions', 204, 'completed'])
    assert.equal(await preflightsCounted(gateway), before + 1)
  })

  await t.test('its answers, refusals and streams have the CORS headers too', async () => {
    const headers = { origin: ORIGIN }
    const answers = [
      await gateway.get('/v1/models', secret, headers),
      await gateway.get('/v1/models', undefined, headers),
      await gateway.chat({ stream: true }, { key: secret, headers }),
    ]

    for (const answer of answers) {
      assert.equal(answer.headers['access-control-allow-origin'], ORIGIN)
      const exposed = String(answer.headers['access-control-expose-headers']).toLowerCase().split(', ')
      for (const name of EXPOSED) assert.ok(exposed.includes(name), name)
    }
  })

  await t.test('any other origin gets no CORS header', async () => {
    for (const origin of ['https://evil.example', 'null', `${ORIGIN}.evil.example`, 'http://app.example.com', '*']) {
      const asked = await preflight(gateway.url, origin)
      const answer = await gateway.get('/v1/models', secret, { origin })

      assertRefusal(asked, 'invalid_api_key')
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['access-control-allow-origin'], undefined)
    }
  })

  await t.test('a listed origin still needs a key for everything but the preflight', async () => {
    const options = await httpCall(`${gateway.url}/v1/models`, { method: 'OPTIONS', headers: { origin: ORIGIN } })

    assertRefusal(options, 'invalid_api_key')
  })

  assert.ok((await gateway.audit()).ok)
})

function preflight(url: string, origin: string, asked = 'authorization') {
  const headers = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': asked }
  return httpCall(`${url}/v1/chat/completions`, { method: 'OPTIONS', headers })
}

async function preflightsCounted(gateway: Gateway): Promise<number> {
  const { text } = await gateway.get('/metrics')
  const counted = /^turnpike_requests_total\{endpoint="chat.completions",status="204",outcome="completed"\} (\d+)$/m
  return Number(counted.exec(text)?.[1] ?? 0)
}
