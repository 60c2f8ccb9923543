// Customers manage their keys: within the limits of their account, with CSRF token and permission, and every change is in the audit log.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PORTAL_ENDPOINTS } from '../../../src/http/portal/schemas.ts'
import { openFixture } from '../../support/fixture.ts'
import type { Loose } from '../../support/http-call.ts'
import { enterPortal } from '../../support/portal.ts'
import { until } from '../../support/until.ts'

const { gateway } = await openFixture()
const LIMITS = {
  max_keys: 3,
  rpm_limit: 60,
  daily_limit: 1000,
  max_concurrent: 5,
  credit_limit: '25',
  expires_in_days: 30,
  allowed_models: ['test/*', 'other-*'],
}

test('lists of keys are read a few at a time: a customer who requests very many is refused, and others are served', async () => {
  const [hog, other] = [await gateway.createAccount(), await gateway.createAccount()]
  const [customer, neighbour] = [await enterPortal(gateway, hog.id), await enterPortal(gateway, other.id)]

  const many = Array.from({ length: 100 }, () => customer.call('GET', '/keys?limit=1000'))
  const served = await neighbour.call('GET', '/keys')
  const statuses = (await Promise.all(many)).map(({ status }) => status)

  assert.equal(served.status, 200)
  assert.deepEqual([...new Set(statuses)].sort(), [200, 429])
})

test('the keys that their limits stop are found among all keys of the account, and of no other', async () => {
  const { id } = await gateway.createAccount()
  await gateway.addCredits(id, '5')
  const oldest = await gateway.createKey({ account_id: id, daily_limit: 1 })
  const another = await gateway.createKey({ daily_limit: 1 })
  for (const { secret } of [oldest, another]) assert.equal((await gateway.chat({}, { key: secret })).status, 200)
  for (let i = 0; i < 101; i++) await gateway.createKey({ account_id: id })
  const customer = await enterPortal(gateway, id)
  const stopped = async () => {
    const { body } = await customer.call<{ data: Loose[] }>('GET', '/keys?status=stopped&limit=100')
    return body.data.map(key => [String(key.id), String(key.state)])
  }

  await until('the stored balance has the request', async () => (await stopped()).length > 0)

  assert.deepEqual(await stopped(), [[oldest.id, 'limit_reached']])
})

test('a customer creates, uses, rotates and revokes a key; the log names the portal session', async () => {
  const { id } = await gateway.createAccount()
  await gateway.addCredits(id, '5')
  const customer = await enterPortal(gateway, id)

  const made = await customer.call('POST', '/keys', {
    name: 'my key',
    rpm_limit: 7,
    budgets: [{ amount: '1', window: 'day' }],
  })
  assert.equal(made.status, 201, made.text)
  const keyId = String(made.body.id)
  assert.equal((await gateway.chat({}, { key: String(made.body.secret) })).status, 200)
  const rotated = await customer.call('POST', `/keys/${keyId}/rotate`, {})
  const ended = await customer.call('POST', `/keys/${keyId}/end-grace`, {})
  assert.equal((await gateway.chat({}, { key: String(made.body.secret) })).status, 401)
  assert.equal((await gateway.chat({}, { key: String(rotated.body.secret) })).status, 200)
  const revoked = await customer.call('POST', `/keys/${keyId}/revoke`, {})

  assert.deepEqual([rotated.status, ended.status, revoked.status], [200, 200, 200])
  assert.deepEqual([made.body.account_id, made.body.rpm_limit], [id, 7])
  assert.equal((rotated.body.previous as unknown as Loose[]).length, 1)
  assert.deepEqual(ended.body.previous, [])
  assert.equal(revoked.body.status, 'revoked')
  assert.equal((await gateway.chat({}, { key: String(rotated.body.secret) })).status, 401)
  const listed = await customer.call('GET', '/keys')
  assert.ok(!listed.text.includes(String(rotated.body.secret)))
  const { data } = (await gateway.admin<{ data: Loose[] }>('GET', `/events?subject=${keyId}`)).body
  assert.deepEqual(
    data.map(event => event.action),
    ['key.revoke', 'key.end_grace', 'key.rotate', 'key.create'],
  )
  const sessions = await gateway.admin<{ data: Loose[] }>('GET', `/accounts/${id}/portal-sessions`)
  for (const event of data) {
    assert.equal(event.actor, `portal:${id}`)
    assert.equal(event.actor_id, sessions.body.data[0]?.id)
  }
})

test('a hundred racing creations make as many keys as the account may have', async () => {
  const { id } = await gateway.createAccount({ portal_key_limits: { max_keys: 8 } })
  const sessions = await Promise.all(Array.from({ length: 3 }, () => enterPortal(gateway, id)))
  const before = await gateway.admin<{ portal_key_limits: Loose }>('GET', `/accounts/${id}`)
  assert.equal(before.body.portal_key_limits.max_keys, 8)

  // Only 60 changes a minute are accepted, which is more than enough.
  const made = await Promise.all(
    Array.from({ length: 100 }, (_, i) => sessions[i % 3]?.call('POST', '/keys', { name: `k${i}` })),
  )

  const statuses = made.map(answer => answer?.status)
  assert.equal(statuses.filter(status => status === 201).length, 8, String(statuses))
  assert.ok(
    statuses.every(status => status === 201 || status === 409 || status === 429),
    String(statuses),
  )
  assert.equal((await gateway.admin<{ data: Loose[] }>('GET', `/keys?account_id=${id}`)).body.data.length, 8)
})

test('keys get the limits of the account, and none may exceed them', async () => {
  const { id } = await gateway.createAccount({ portal_key_limits: LIMITS })
  const customer = await enterPortal(gateway, id)
  assert.deepEqual((await customer.call('GET', '/account')).body.portal_key_limits, LIMITS)

  const tooMuch: readonly [object, string][] = [
    [{ rpm_limit: 61 }, 'rpm_limit'],
    [{ daily_limit: 1001 }, 'daily_limit'],
    [{ daily_limit: null }, 'daily_limit'],
    [{ max_concurrent: 6 }, 'max_concurrent'],
    [{ credit_limit: '25.000000001' }, 'credit_limit'],
    [{ credit_limit: null }, 'credit_limit'],
    [{ expires_at: null }, 'expires_at'],
    [{ expires_at: new Date(Date.now() + 31 * 86_400_000).toISOString() }, 'expires_at'],
    [{ allowed_models: ['test/m1', 'secret/m2'] }, 'allowed_models'],
    [{ allowed_models: ['*'] }, 'allowed_models'],
    [{ tags: { team: 'x' } }, 'tags'],
    [{ account_id: 'acct_other' }, 'account_id'],
  ]
  for (const [fields, param] of tooMuch) {
    const answer = await customer.call('POST', '/keys', { name: 'too much', ...fields })
    assert.deepEqual([answer.status, answer.body.error?.param], [400, param], answer.text)
  }

  const usual = await customer.call('POST', '/keys', { name: 'usual' })
  const lower = await customer.call('POST', '/keys', {
    name: 'lower',
    rpm_limit: 1,
    daily_limit: 2,
    max_concurrent: 3,
    credit_limit: '0.5',
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    allowed_models: ['test/m1', 'other-x*'],
  })

  const limitsOf = ({ body }: typeof usual) => [
    body.rpm_limit,
    body.daily_limit,
    body.max_concurrent,
    body.credit_limit,
    body.allowed_models,
  ]
  assert.deepEqual(limitsOf(usual), [60, 1000, 5, '25', ['test/*', 'other-*']])
  const days = (new Date(String(usual.body.expires_at)).getTime() - Date.now()) / 86_400_000
  assert.ok(days > 29.9 && days <= 30, `${days} days`)
  assert.deepEqual(limitsOf(lower), [1, 2, 3, '0.5', ['test/m1', 'other-x*']])

  await gateway.admin('PATCH', `/accounts/${id}`, { portal_key_limits: null })
  const free = await customer.call('POST', '/keys', { name: 'free', daily_limit: null, rpm_limit: 9999 })
  assert.deepEqual(limitsOf(free), [9999, null, 100, null, []])
})

test('limits of an account are checked and replaced as a whole', async () => {
  const { id } = await gateway.createAccount()
  const wrong: readonly [object, string][] = [
    [{ max_keys: -1 }, 'portal_key_limits.max_keys'],
    [{ credit_limit: '-1' }, 'portal_key_limits.credit_limit'],
    [{ allowed_models: ['a b'] }, 'portal_key_limits.allowed_models.0'],
    [{ keys: 1 }, 'portal_key_limits.keys'],
  ]
  for (const [limits, param] of wrong) {
    const answer = await gateway.admin('PATCH', `/accounts/${id}`, { portal_key_limits: limits })
    assert.deepEqual([answer.status, answer.body.error?.param], [400, param], answer.text)
  }
  await gateway.admin('PATCH', `/accounts/${id}`, { portal_key_limits: LIMITS })
  const other = await gateway.admin('PATCH', `/accounts/${id}`, { name: 'unrelated' })
  assert.deepEqual(other.body.portal_key_limits, LIMITS)
  const none = await gateway.admin('PATCH', `/accounts/${id}`, { portal_key_limits: { max_keys: 0 } })
  assert.deepEqual(none.body.portal_key_limits, {
    max_keys: 0,
    rpm_limit: null,
    daily_limit: null,
    max_concurrent: null,
    credit_limit: null,
    expires_in_days: null,
    allowed_models: [],
  })
  const refused = await (await enterPortal(gateway, id)).call('POST', '/keys', { name: 'x' })
  assert.deepEqual([refused.status, refused.body.error?.code], [409, 'conflict'])
})

test('a change without its CSRF token, or with that of another session, is refused', async () => {
  const { id, accountId } = await gateway.createKey()
  const [customer, other] = [await enterPortal(gateway, accountId), await enterPortal(gateway, accountId)]

  for (const token of ['', 'x', other.csrf]) {
    const answer = await customer.call('POST', `/keys/${id}/revoke`, {}, { 'x-csrf-token': token })
    assert.deepEqual([answer.status, answer.body.error?.code], [403, 'csrf_failed'], token)
  }
  assert.equal((await customer.call('GET', `/keys/${id}`)).body.status, 'active')
})

test('beyond sixty changes of an account in a minute a change is refused; refused ones and signing out do not count', async () => {
  const { id, accountId } = await gateway.createKey()
  const usageOnly = await enterPortal(gateway, accountId, { permissions: ['usage'] })
  const [customer, other] = [await enterPortal(gateway, accountId), await enterPortal(gateway, accountId)]
  const change = (of: typeof customer) => of.call('POST', `/keys/${id}/end-grace`, {})
  for (let i = 0; i < 70; i++) assert.equal((await change(usageOnly)).body.error?.code, 'permission_missing')

  const began = Date.now()
  let done = 0
  let refused = await change(customer)
  for (; refused.status === 200 && done < 500; refused = await change(done % 2 === 0 ? customer : other)) done++

  const refilled = Math.ceil((Date.now() - began) / 1000)
  assert.ok(done >= 60 && done <= 60 + refilled, `${done} changes within ${refilled} s`)
  assert.deepEqual([refused.status, refused.body.error?.code], [429, 'rate_limit_exceeded'])
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  assert.equal((await other.call('GET', '/account')).status, 200)
  assert.equal((await other.call('DELETE', '/session')).status, 204)
})

test('a key gets at most 24 secrets within a day from its customer', async () => {
  const { id, accountId } = await gateway.createKey()
  const customer = await enterPortal(gateway, accountId)
  for (let i = 0; i < 23; i++) {
    assert.equal((await customer.call('POST', `/keys/${id}/rotate`, {})).status, 200)
    await customer.call('POST', `/keys/${id}/end-grace`, {})
  }

  const refused = await customer.call('POST', `/keys/${id}/rotate`, {})

  assert.deepEqual([refused.status, refused.body.error?.code], [409, 'conflict'], refused.text)
  assert.match(refused.text, /too often within a day/)
  assert.equal((await gateway.admin('POST', `/keys/${id}/rotate`, {})).status, 200)
})

test('a session does only what it was given', async () => {
  const { id, accountId } = await gateway.createKey()
  const usageOnly = await enterPortal(gateway, accountId, { permissions: ['usage'] })
  const keysOnly = await enterPortal(gateway, accountId, { permissions: ['keys'] })
  const nothing = await enterPortal(gateway, accountId, { permissions: [] })
  const may: readonly [typeof nothing, readonly string[]][] = [
    [usageOnly, ['usage']],
    [keysOnly, ['keys']],
    [nothing, []],
  ]

  for (const [customer, permissions] of may) {
    assert.deepEqual(customer.session.permissions, permissions)
    for (const { method, path, permission } of PORTAL_ENDPOINTS) {
      if (permission === undefined || permissions.includes(permission)) continue
      const at = path.slice('/portal/v1'.length).replace(/\{\w+\}/, id)
      const answer = await customer.call(method, at, method === 'GET' ? undefined : {})
      assert.deepEqual([answer.status, answer.body.error?.code], [403, 'permission_missing'], `${method} ${path}`)
    }
    assert.equal((await customer.call('GET', '/keys')).status, 200)
  }
  assert.equal((await usageOnly.call('GET', '/usage')).status, 200)
  assert.equal((await keysOnly.call('POST', `/keys/${id}/rotate`, {})).status, 200)
})

test('names of 200 characters, with HTML and right-to-left text, come back unchanged', async () => {
  const { id } = await gateway.createAccount()
  const customer = await enterPortal(gateway, id)
  for (const name of ['x'.repeat(200), '<img src=x onerror=alert(1)>', 'مفتاح \u202eabc', '"\'&;--']) {
    const made = await customer.call('POST', '/keys', { name })
    assert.equal((await customer.call('GET', `/keys/${made.body.id}`)).body.name, name)
  }
  const long = await customer.call('POST', '/keys', { name: 'x'.repeat(201) })
  assert.deepEqual([long.status, long.body.error?.param], [400, 'name'])
})

test('an operator cannot take the name of a portal session', async () => {
  const { status, body } = await gateway.admin('POST', '/operators', { name: 'Portal:acct_1', role: 'viewer' })
  assert.deepEqual([status, body.error?.param], [400, 'name'])
})
