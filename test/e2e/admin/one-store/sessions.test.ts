// Operators at the real gateway: security headers on the admin API and not on /v1, a separate listener, a new admin
// token that ends the sessions of the old one, and sessions shared by two nodes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../../../support/free-port.ts'
import { ENCRYPTION_KEY, type Gateway, standardConfig, startGateway } from '../../../support/gateway.ts'
import { httpCall } from '../../../support/http-call.ts'
import { hasPostgres, startServer } from '../../../support/postgres.ts'
import { startUpstream } from '../../../support/upstream.ts'

const FORWARDED = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }

test('admin answers have security headers, those under /v1 do not', async () => {
  await using gateway = await startGateway()
  const { secret } = await gateway.createKey({ account_id: await defaultAccount(gateway) })

  const theirs = [
    await gateway.get('/'),
    await gateway.get('/docs'),
    await gateway.get('/keys'),
    await gateway.get('/nothing.html.js'),
    await gateway.admin('GET', '/keys'),
    await gateway.admin('GET', '/nothing'),
    await gateway.admin('POST', '/keys', '{'),
    await gateway.get('/admin/v1/keys'),
    await gateway.get('/admin/v1/%zz'),
  ]
  const callers = [await gateway.get('/v1/models', secret), await gateway.get('/v1/models')]

  for (const { headers } of theirs) {
    assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/)
    assert.doesNotMatch(String(headers['content-security-policy']), /script-src[^;]*unsafe/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(headers['strict-transport-security'], undefined)
  }
  for (const { headers } of callers) assert.equal(headers['content-security-policy'], undefined)
  const settings = await gateway.admin('GET', '/settings')
  const engine = gateway.storeEnv.DATABASE_URL === undefined ? 'sqlite' : 'postgres'
  assert.deepEqual([settings.status, settings.body.engine], [200, engine])
  assert.match(String(settings.body.redis), engine === 'sqlite' ? /^none$/ : /^(ok|none)$/)
  assert.ok(!settings.text.includes(gateway.adminToken))
})

test('only a trusted proxy can state that a request came by TLS', async () => {
  await using trusting = await startGateway({ env: { TURNPIKE_TRUSTED_PROXIES: '127.0.0.1' } })
  await using plain = await startGateway()
  const login = (gateway: Gateway) =>
    httpCall(`${gateway.url}/admin/v1/session`, {
      method: 'POST',
      headers: FORWARDED,
      body: { token: gateway.adminToken },
    })

  const [by, not] = [await login(trusting), await login(plain)]

  assert.deepEqual([by.status, not.status], [201, 201])
  assert.match(String(by.headers['set-cookie']), /; Secure(?:;|$)/)
  assert.equal(by.headers['strict-transport-security'], 'max-age=31536000')
  assert.doesNotMatch(String(not.headers['set-cookie']), /Secure/)
  assert.equal(not.headers['strict-transport-security'], undefined)
  const { body } = await trusting.admin<{ data: { address: string }[] }>('GET', '/sessions')
  assert.equal(body.data[0]?.address, '203.0.113.9')
})

test('with its own listener the admin API is served there and not on the public one', async () => {
  const port = await freePort()
  await using gateway = await startGateway({ env: { TURNPIKE_ADMIN_LISTEN: `127.0.0.1:${port}` } })
  const own = `http://127.0.0.1:${port}`
  const body = { token: gateway.adminToken }

  const there = await httpCall(`${own}/admin/v1/session`, { method: 'POST', body })
  const page = await httpCall(`${own}/`)
  const missing = [
    await httpCall(`${gateway.url}/admin/v1/session`, { method: 'POST', body }),
    await gateway.get('/'),
    await gateway.get('/keys'),
  ]

  assert.deepEqual([there.status, page.status], [201, 200])
  for (const { status } of missing) assert.equal(status, 404)
})

test('under /v1 neither a session cookie nor an operator token is a key', async () => {
  await using gateway = await startGateway()
  const { cookie, csrf } = await logIn(gateway, gateway.adminToken)
  const headers = { cookie, 'x-csrf-token': csrf }

  const byCookie = await httpCall(`${gateway.url}/v1/models`, { headers })
  const byToken = await gateway.get('/v1/models', gateway.adminToken)

  assert.deepEqual([byCookie.status, byToken.status], [401, 401])
  assert.equal(byCookie.headers['set-cookie'], undefined)
})

test('a new admin token replaces the old one at the next start and ends its sessions; an unchanged one does not', async () => {
  await using gateway = await startGateway()
  const { cookie } = await logIn(gateway, gateway.adminToken)
  const status = async () => (await session(gateway, cookie)).status

  await gateway.restart()
  const same = await status()
  await gateway.restart({ TURNPIKE_ADMIN_TOKEN: 'another-admin-token-0123456789' })

  assert.equal(same, 200)
  assert.equal(await status(), 401)
  assert.equal((await gateway.admin('GET', '/keys')).status, 401)
  const renewed = await logIn(gateway, 'another-admin-token-0123456789')
  assert.equal((await session(gateway, renewed.cookie)).status, 200)
})

if (hasPostgres()) {
  test('a session opened on one node works on the other and ends on both at once', async () => {
    const postgres = await startServer()
    await using upstream = await startUpstream()
    const config = standardConfig(upstream.url)
    const env = { DATABASE_URL: postgres.url, TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY }
    await using one = await startGateway({ config, env })
    await using two = await startGateway({ config, env })
    const alice = (await one.admin('POST', '/operators', { name: 'alice', role: 'admin' })).body
    const { cookie, csrf } = await logIn(one, String(alice.token))
    const change = (gateway: Gateway) =>
      httpCall(`${gateway.url}/admin/v1/accounts`, {
        method: 'POST',
        headers: { cookie, 'x-csrf-token': csrf },
        body: { name: 'by alice' },
      })

    const before = [await change(one), await change(two)]
    await two.admin('PATCH', `/operators/${alice.id}`, { role: 'viewer' })
    const degraded = [await change(one), await change(two)]
    const reads = [await session(one, cookie), await session(two, cookie)]
    await one.admin('DELETE', `/operators/${alice.id}`)
    const gone = [await session(one, cookie), await session(two, cookie)]

    const statuses = [before, degraded, reads, gone].map(answers => answers.map(answer => answer.status))
    assert.deepEqual(statuses, [
      [201, 201],
      [403, 403],
      [200, 200],
      [401, 401],
    ])
    const { body } = await two.admin<{ data: object[] }>('GET', '/events?actor=alice&action=account.create')
    assert.equal(body.data.length, 2)
  })
}

async function logIn(gateway: Gateway, token: string) {
  const { status, headers, body } = await httpCall(`${gateway.url}/admin/v1/session`, {
    method: 'POST',
    body: { token },
  })
  assert.equal(status, 201)
  return { cookie: String(headers['set-cookie']).split(';')[0] ?? '', csrf: String(body.csrf_token) }
}

function session(gateway: Gateway, cookie: string) {
  return httpCall(`${gateway.url}/admin/v1/session`, { headers: { cookie } })
}

async function defaultAccount(gateway: Gateway): Promise<string> {
  const { body } = await gateway.admin<{ data: { id: string }[] }>('GET', '/accounts')
  return body.data[0]?.id ?? ''
}
