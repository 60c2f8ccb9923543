// Endpoints without a key: health and readiness for anyone, metrics with the token or from the same machine without a
// proxy, and the admin API on its listener.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../../support/free-port.ts'
import { ADMIN_TOKEN, standardConfig, startGateway } from '../../support/gateway.ts'
import { httpCall } from '../../support/http-call.ts'
import { openRaw } from '../../support/raw-http.ts'
import { startUpstream } from '../../support/upstream.ts'

const TOKEN = 'metrics-token-0123456789'

test('probes are public, metrics are not', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({
    config: standardConfig(upstream.url),
    env: { TURNPIKE_METRICS_TOKEN: TOKEN },
  })
  const scrape = (headers: Readonly<Record<string, string>> = {}) => httpCall(`${gateway.url}/metrics`, { headers })

  await t.test('health and readiness answer any request', async () => {
    for (const path of ['/health', '/ready']) {
      const plain = await gateway.get(path)
      const odd = await gateway.get(path, 'svc_live_nobody', { cookie: 'a=b', 'x-forwarded-for': 'junk' })

      assert.deepEqual([plain.status, odd.status], [200, 200])
      assert.equal(plain.headers['set-cookie'], undefined)
    }
  })

  await t.test('HEAD is answered like GET without a body, except under /v1 and by the admin API', async () => {
    for (const path of ['/health', '/ready', '/', '/keys', '/docs', '/openapi.json', '/nothing.js']) {
      const get = await httpCall(`${gateway.url}${path}`)
      const head = await httpCall(`${gateway.url}${path}`, { method: 'HEAD' })
      const of = ({ status, headers }: typeof get) =>
        [status, ...['content-type', 'content-length', 'content-security-policy'].map(name => headers[name])].join(' ')

      assert.deepEqual([of(head), head.text], [of(get), ''], path)
    }
    assert.equal((await httpCall(`${gateway.url}/v1/models`, { method: 'HEAD' })).status, 401)
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    assert.equal((await httpCall(`${gateway.url}/admin/v1/keys`, { method: 'HEAD', headers })).status, 405)
  })

  await t.test(
    'the document has /v1 for everyone and the admin API for operators, with this address in its examples',
    async () => {
      const { secret } = await gateway.createKey()
      const read = async (token?: string) => {
        const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
        const { status, body, headers: answered } = await httpCall(`${gateway.url}/openapi.json`, { headers })
        assert.deepEqual([status, answered['cache-control']], [200, 'private, no-cache'])
        return body as unknown as { paths: object; servers: [{ url: string }] }
      }
      const hasAdmin = ({ paths }: { paths: object }) => Object.keys(paths).some(path => path.startsWith('/admin/v1'))

      const open = await read()

      assert.deepEqual([open, await read('wrong'), await read(secret), await read(ADMIN_TOKEN)].map(hasAdmin), [
        false,
        false,
        false,
        true,
      ])
      assert.equal(open.servers[0].url, gateway.url)
    },
  )

  await t.test('an address that is not a host name does not get into the document', async () => {
    const call = openRaw(gateway.port)
    using connection = await call
    connection.send('GET /openapi.json HTTP/1.1\r\nHost: "><script>\r\nConnection: close\r\n\r\n')
    const [answer] = await connection.answers(1)

    assert.doesNotMatch(String(answer?.body), /<script>/)
  })

  await t.test('metrics are available to a loopback peer and with the token', async () => {
    const near = await scrape()
    const far = await scrape({ 'x-forwarded-for': '203.0.113.9', authorization: `Bearer ${TOKEN}` })

    for (const answer of [near, far]) {
      assert.equal(answer.status, 200)
      assert.match(answer.text, /^turnpike_requests_in_flight /m)
    }
  })

  await t.test('a loopback peer that forwards a request has no access', async () => {
    const marks = [
      'x-forwarded-for',
      'x-forwarded-host',
      'x-forwarded-proto',
      'x-real-ip',
      'forwarded',
      'via',
      'cf-connecting-ip',
      'true-client-ip',
      'x-client-ip',
    ]

    for (const mark of marks) {
      const answer = await scrape({ [mark]: '127.0.0.1' })

      assert.equal(answer.status, 401, mark)
      assert.equal(answer.headers['www-authenticate'], 'Bearer')
      assert.equal(answer.body.error?.code, 'invalid_api_key')
    }
  })

  await t.test('a wrong token, a key or the admin token gives no access', async () => {
    const { secret } = await gateway.createKey()

    for (const token of ['wrong', `${TOKEN}x`, secret, ADMIN_TOKEN]) {
      const answer = await scrape({ via: '1.1 proxy', authorization: `Bearer ${token}` })

      assert.equal(answer.status, 401)
    }
  })

  await t.test('an unknown path is a 404 in the usual shape, with a request id', async () => {
    for (const path of ['/nothing', '/healthz', '/metrics/x', '/admin', '/%zz', '/docs/%', '/admin/v1/%zz']) {
      const answer = await gateway.get(path)

      assert.deepEqual([answer.status, answer.body.error?.code], [404, 'not_found'], path)
      assert.equal(answer.body.error?.metadata?.request_id, answer.headers['x-request-id'])
    }
  })

  await t.test('* is not a path', async () => {
    for (const line of ['GET *', 'GET *?a=1', 'OPTIONS *', 'POST *']) {
      using connection = await openRaw(gateway.port)
      connection.send(`${line} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`)
      const [answer] = await connection.answers(1)

      assert.equal(answer?.status, 404, line)
      assert.equal(answer.header('x-content-type-options'), 'nosniff')
      assert.equal(JSON.parse(String(answer.body)).error.code, 'not_found')
    }
  })

  assert.ok((await gateway.audit()).ok)
})

test('the admin API can have its own listener or be switched off', async t => {
  const keys = (url: string) =>
    httpCall(`${url}/admin/v1/keys`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })

  await t.test('on its own listener it is not served next to /v1', async () => {
    const port = await freePort()
    await using gateway = await startGateway({ env: { TURNPIKE_ADMIN_LISTEN: `127.0.0.1:${port}` } })

    const apart = await keys(`http://127.0.0.1:${port}`)
    const shared = await keys(gateway.url)
    const v1 = await httpCall(`http://127.0.0.1:${port}/v1/models`)
    const health = await httpCall(`http://127.0.0.1:${port}/health`)

    assert.deepEqual([apart.status, shared.status, v1.status, health.status], [200, 404, 404, 200])
  })

  await t.test('the admin listener serves chats for the playground, with the same checks', async () => {
    const port = await freePort()
    await using gateway = await startGateway({ env: { TURNPIKE_ADMIN_LISTEN: `127.0.0.1:${port}` } })
    const secret = gateway.lines.flatMap(line => /First key +(\S+)/.exec(line)?.[1] ?? [])[0]
    const body = { model: 'demo/echo', messages: [{ role: 'user', content: 'Hello' }] }
    const chat = (key: string | undefined) =>
      httpCall(`http://127.0.0.1:${port}/v1/chat/completions`, { body, headers: { authorization: `Bearer ${key}` } })

    const answer = await chat(secret)

    assert.deepEqual([answer.status, (await chat('wrong')).status, (await chat(ADMIN_TOKEN)).status], [200, 401, 401])
    assert.ok(Number(answer.headers['x-svc-cost']) > 0)
    assert.ok((await gateway.audit()).ok)
  })

  await t.test('switched off, it is not served', async () => {
    await using gateway = await startGateway({ env: { TURNPIKE_ADMIN_LISTEN: 'off' } })

    const answer = await keys(gateway.url)
    const v1 = await gateway.get('/v1/models')

    assert.deepEqual([answer.status, v1.status], [404, 401])
  })
})
