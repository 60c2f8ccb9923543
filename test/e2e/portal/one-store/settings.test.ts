// The settings of the portal: switched off, its brand, its address, and a separate listener for operators.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { freePort } from '../../../support/free-port.ts'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { httpCall } from '../../../support/http-call.ts'
import { cookieOf, enterPortal, portalLink } from '../../../support/portal.ts'
import { until } from '../../../support/until.ts'

test('TURNPIKE_PORTAL=0 switches it off: no page, no API, no link', async () => {
  await using gateway = await startGateway({ env: { TURNPIKE_PORTAL: '0' } })
  const { id } = await gateway.createAccount()

  const link = await gateway.admin('POST', `/accounts/${id}/portal-sessions`, {})

  assert.equal(link.status, 404)
  assert.match(String(link.body.error?.message), /TURNPIKE_PORTAL=0/)
  for (const path of ['/portal', '/portal/v1/brand', '/portal/v1/session', '/portal/open/x'])
    assert.equal((await gateway.get(path)).status, 404, path)
  assert.equal((await gateway.admin('GET', '/settings')).body.portal, null)
})

test('name, logo, color and address are settings', async () => {
  const portal = {
    name: 'Shop & <Co>',
    logo: 'https://cdn.example/logo.svg',
    color: '#AA3300',
    url: 'https://api.shop.example',
  }
  await using gateway = await startGateway({ config: { ...standardConfig('http://127.0.0.1:9'), portal } })
  const { id } = await gateway.createAccount()

  const brand = await gateway.get('/portal/v1/brand')
  const closed = await gateway.get('/portal/open/x')
  const link = await portalLink(gateway, id)
  const opened = await gateway.get(new URL(link).pathname)

  assert.match(String(opened.headers['set-cookie']), /; Secure/, 'its links are https, whatever the proxy says')
  assert.deepEqual(brand.body, {
    object: 'portal_brand',
    name: 'Shop & <Co>',
    logo: 'https://cdn.example/logo.svg',
    color: '#aa3300',
  })
  assert.match(closed.text, /Shop &#38; &#60;Co&#62;/)
  assert.match(link, /^https:\/\/api\.shop\.example\/portal\/open\//)
  assert.deepEqual((await gateway.admin('GET', '/settings')).body.portal, {
    url: 'https://api.shop.example',
    name: 'Shop & <Co>',
    color: '#aa3300',
  })
})

test('with a separate listener for operators, the portal is where the customers are', async () => {
  const adminPort = await freePort()
  await using gateway = await startGateway({ env: { TURNPIKE_ADMIN_LISTEN: String(adminPort) } })
  const headers = { authorization: `Bearer ${gateway.adminToken}` }
  const admin = `http://127.0.0.1:${adminPort}`
  const accounts = await httpCall<{ data: { id: string }[] }>(`${admin}/admin/v1/accounts`, { headers })
  const id = accounts.body.data[0]?.id

  const made = await httpCall(`${admin}/admin/v1/accounts/${id}/portal-sessions`, { headers, body: {} })
  const url = String(made.body.url)

  assert.ok(url.startsWith(`${gateway.url}/portal/open/`), url)
  const opened = await httpCall(url)
  assert.equal(opened.status, 303)
  const session = await gateway.get('/portal/v1/session', undefined, { cookie: cookieOf(opened) })
  assert.equal(session.body.base_url, `${gateway.url}/v1`)
  assert.equal((await httpCall(`${admin}/portal/v1/brand`)).status, 404)
  assert.equal((await gateway.get('/admin/v1/keys')).status, 404)
})

const WRONG: readonly [portal: object, message: RegExp][] = [
  [{ url: 'https://api.example/path' }, /portal\.url.*origin alone/],
  [{ url: 'ftp://api.example' }, /portal\.url/],
  [{ logo: 'http://cdn.example/logo.svg' }, /portal\.logo.*https/],
  [{ logo: 'https://user@cdn.example/logo.svg' }, /portal\.logo/],
  [{ logo: "https://cdn.example;script-src'/logo.svg" }, /portal\.logo/],
  [{ logo: 'data:text/html;base64,AAAA' }, /portal\.logo/],
  [{ logo: 'javascript:alert(1)' }, /portal\.logo/],
  [{ color: 'red;}' }, /portal\.color/],
  [{ name: '' }, /portal\.name/],
  [{ theme: 'x' }, /portal\.theme|theme/],
]

test('a wrong setting stops the start', async () => {
  for (const [portal, message] of WRONG)
    await assert.rejects(startGateway({ config: { portal } }), message, JSON.stringify(portal))
})

test('a running gateway stores the ends of links and sessions as they pass', async () => {
  await using gateway = await startGateway()
  const { id } = await gateway.createAccount()
  await enterPortal(gateway, id)
  await httpCall(`${gateway.url}/admin/v1/session`, { body: { token: gateway.adminToken } })
  await portalLink(gateway, id, { expires_in: 1 })
  using db = new DatabaseSync(join(gateway.dataDir, 'turnpike.db'), { timeout: 5000 })
  db.exec('UPDATE portal_session SET used_at = used_at - 3600000; UPDATE session SET used_at = used_at - 3600000')
  const count = (statement: string) => db.prepare(`SELECT COUNT(*) AS n FROM ${statement}`).get()?.n

  await until('all are stored', async () => count('portal_link WHERE used_at IS NULL') === 0)
  await until('all are stored', async () => count('portal_session WHERE ended_at IS NULL') === 0)
  await until('all are stored', async () => count('session') === 0)

  assert.deepEqual([count('portal_link WHERE used_at = expires_at'), count('portal_session')], [1, 1])
})
