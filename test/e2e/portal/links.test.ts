// Links to the customer portal and the sessions that they open: once, for a few minutes, for one account, until it is suspended.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openFixture } from '../../support/fixture.ts'
import { httpCall } from '../../support/http-call.ts'
import { cookieOf, customerOf, enterPortal, portalLink } from '../../support/portal.ts'

const { gateway } = await openFixture()
const RETURN_URL = 'https://shop.example/account?tab=api&x=%22%3E'

test('a link sets a cookie for scripts and other sites to leave alone, and leads to the portal', async () => {
  const { id, account } = await gateway.createAccount({ name: 'Acme <b>&"\' \u202eعربي' })
  const link = await gateway.admin('POST', `/accounts/${id}/portal-sessions`, { return_url: RETURN_URL })
  const left = new Date(String(link.body.expires_at)).getTime() - Date.now()

  const opened = await httpCall(String(link.body.url))

  assert.deepEqual(Object.keys(link.body).sort(), ['expires_at', 'url'])
  assert.ok(left > 280_000 && left <= 300_000, `${left} ms`)
  assert.deepEqual([opened.status, opened.headers.location], [303, '/portal'])
  const [cookie = ''] = opened.headers['set-cookie'] ?? []
  assert.match(cookie, /^turnpike_portal=[0-9A-Za-z]{43}; Max-Age=43200; Path=\/portal; HttpOnly; SameSite=Lax$/)
  const customer = await customerOf(gateway, cookieOf(opened))
  assert.deepEqual(customer.session.account, { id, name: account.name })
  assert.deepEqual(customer.session.permissions, ['usage', 'keys'])
  assert.equal(customer.session.return_url, RETURN_URL)
  assert.equal(customer.session.base_url, `${gateway.url}/v1`)
  assert.ok(!(await gateway.stored()).includes(String(link.body.url).slice(-43)), 'the token is not stored')
  assert.ok(!(await gateway.stored()).includes(customer.cookie.slice(-43)), 'nor is the secret')
})

test('of ten racing uses of a link one opens a session; the others get a page with the way back', async () => {
  const { id } = await gateway.createAccount()
  const url = await portalLink(gateway, id, { return_url: RETURN_URL })

  const uses = await Promise.all(Array.from({ length: 10 }, () => httpCall(url)))

  assert.equal(uses.filter(({ status }) => status === 303).length, 1)
  const closed = uses.filter(({ status }) => status === 410)
  assert.equal(closed.length, 9)
  for (const { text, headers } of closed) {
    assert.match(text, /This link was already used/)
    assert.ok(text.includes('href="https://shop.example/account?tab=api&#38;x=%22%3E"'), text)
    assert.equal(headers['set-cookie'], undefined)
    assert.match(String(headers['content-security-policy']), /default-src 'none'/)
  }
})

test('a HEAD and a prefetch leave a link usable', async () => {
  const { id } = await gateway.createAccount()
  const url = await portalLink(gateway, id)

  const head = await httpCall(url, { method: 'HEAD' })
  const prefetch = await httpCall(url, { headers: { 'sec-purpose': 'prefetch;prerender' } })

  assert.deepEqual([head.status, prefetch.status], [404, 503])
  assert.equal((await httpCall(url)).status, 303)
})

test('an expired and an invented link get a friendly page', async () => {
  const { id } = await gateway.createAccount()
  const url = await portalLink(gateway, id, { expires_in: 1, return_url: 'https://shop.example/' })
  await sleep(1100)

  const expired = await httpCall(url)
  const invented = await httpCall(`${url.slice(0, -43)}${'a'.repeat(43)}`)
  const odd = await httpCall(`${gateway.url}/portal/open/%3Cscript%3E`)

  assert.equal(expired.status, 410)
  assert.match(expired.text, /This link has expired[\s\S]*https:\/\/shop\.example\//)
  for (const { status, text } of [invented, odd]) {
    assert.equal(status, 404)
    assert.match(text, /This link does not work/)
    assert.ok(!text.includes('<script'))
  }
})

test('a suspended account gets no link; its links are refused and its open session ends at once', async () => {
  const { id } = await gateway.createAccount()
  const customer = await enterPortal(gateway, id, { return_url: 'https://shop.example/' })
  const url = await portalLink(gateway, id)

  await gateway.admin('PATCH', `/accounts/${id}`, { status: 'suspended' })

  const read = await customer.call('GET', '/account')
  const change = await customer.call('POST', '/keys', { name: 'late' })
  for (const { status, body } of [read, change]) {
    assert.deepEqual([status, body.error?.code], [403, 'account_suspended'])
    assert.equal(body.error?.metadata?.return_url, 'https://shop.example/')
  }
  const refused = await httpCall(url)
  assert.equal(refused.status, 403)
  assert.match(refused.text, /This account is suspended/)
  const again = await gateway.admin('POST', `/accounts/${id}/portal-sessions`, {})
  assert.deepEqual([again.status, again.body.error?.code], [409, 'conflict'])
  await gateway.admin('PATCH', `/accounts/${id}`, { status: 'active' })
  const after = await customer.call('GET', '/account')
  assert.deepEqual([after.status, after.body.error?.code], [401, 'portal_session_required'])
})

test('operators list and end sessions; the customer can sign out', async () => {
  const { id } = await gateway.createAccount()
  const { id: otherId } = await gateway.createAccount()
  const [first, second] = [await enterPortal(gateway, id), await enterPortal(gateway, id)]
  const list = async () =>
    (await gateway.admin<{ data: { id: string }[] }>('GET', `/accounts/${id}/portal-sessions`)).body.data

  const open = await list()
  assert.equal(open.length, 2)
  assert.ok(!JSON.stringify(open).includes(first.cookie.slice(-43)))
  const ofOther = await gateway.admin('DELETE', `/accounts/${otherId}/portal-sessions/${open[0]?.id}`)
  const ended = await gateway.admin('DELETE', `/accounts/${id}/portal-sessions/${open[0]?.id}`)
  assert.deepEqual([ofOther.status, ended.status], [404, 204])
  assert.equal((await second.call('GET', '/session')).status, 401)

  const out = await first.call('DELETE', '/session')
  assert.equal(out.status, 204)
  assert.match(String(out.headers['set-cookie']), /turnpike_portal=; Max-Age=0; Path=\/portal/)
  assert.equal((await first.call('GET', '/account')).status, 401)
  assert.deepEqual(await list(), [])
})

test('a second link in the same browser replaces its session', async () => {
  const [a, b] = [await gateway.createAccount(), await gateway.createAccount()]
  const first = await enterPortal(gateway, a.id)

  const opened = await httpCall(await portalLink(gateway, b.id), { headers: { cookie: first.cookie } })

  assert.equal((await first.call('GET', '/account')).status, 401)
  const second = await customerOf(gateway, cookieOf(opened))
  assert.equal((await second.call('GET', '/account')).body.id, b.id)
})

test('the input of a link is checked', async () => {
  const { id } = await gateway.createAccount()
  const wrong: readonly [object, string][] = [
    [{ return_url: 'javascript:alert(1)' }, 'return_url'],
    [{ return_url: 'data:text/html,x' }, 'return_url'],
    [{ return_url: '//shop.example' }, 'return_url'],
    [{ return_url: 'https://user:pass@shop.example/' }, 'return_url'],
    [{ return_url: 'https://shop.example/\n' }, 'return_url'],
    [{ return_url: `https://shop.example/${'x'.repeat(2048)}` }, 'return_url'],
    [{ permissions: ['admin'] }, 'permissions.0'],
    [{ expires_in: 301 }, 'expires_in'],
    [{ expires_in: 0 }, 'expires_in'],
    [{ account_id: id }, 'account_id'],
  ]
  for (const [body, param] of wrong) {
    const answer = await gateway.admin('POST', `/accounts/${id}/portal-sessions`, body)
    assert.deepEqual([answer.status, answer.body.error?.param], [400, param], JSON.stringify(body))
  }
  const unknown = await gateway.admin('POST', '/accounts/acct_unknown/portal-sessions', {})
  assert.deepEqual([unknown.status, unknown.body.error?.code], [404, 'not_found'])
})

test("neither cookie works at the other's API, whatever it is called", async () => {
  const { id } = await gateway.createAccount()
  const customer = await enterPortal(gateway, id)
  const login = await httpCall(`${gateway.url}/admin/v1/session`, { body: { token: gateway.adminToken } })
  const secretOf = (cookie: string) => cookie.split('=')[1] ?? ''
  const admin = (cookie: string) => httpCall(`${gateway.url}/admin/v1/keys`, { headers: { cookie } })
  const portal = (cookie: string) => httpCall(`${gateway.url}/portal/v1/account`, { headers: { cookie } })

  assert.equal((await admin(cookieOf(login))).status, 200)
  assert.equal((await portal(customer.cookie)).status, 200)
  for (const cookie of [customer.cookie, `turnpike_session=${secretOf(customer.cookie)}`])
    assert.equal((await admin(cookie)).status, 401)
  for (const cookie of [cookieOf(login), `turnpike_portal=${secretOf(cookieOf(login))}`, 'turnpike_portal=x'])
    assert.equal((await portal(cookie)).status, 401)
  const bearer = await httpCall(`${gateway.url}/portal/v1/account`, {
    headers: { authorization: `Bearer ${gateway.adminToken}` },
  })
  assert.equal(bearer.status, 401, 'the admin token opens no portal')
})

test('an open session survives a restart of the gateway', async () => {
  const { id } = await gateway.createAccount()
  const customer = await enterPortal(gateway, id)

  await gateway.restart()

  assert.equal((await customer.call('GET', '/account')).body.id, id)
  assert.equal((await customer.call('POST', '/keys', { name: 'after the restart' })).status, 201)
})
