// The admin API and the command line of webhooks: what is refused and why, what viewers see, and what is stored.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cli } from '../../support/cli.ts'
import { openFixture } from '../../support/fixture.ts'
import { httpCall, type Loose } from '../../support/http-call.ts'
import { startReceiver } from '../../support/webhook-receiver.ts'

// Private addresses are not allowed here.
const { gateway } = await openFixture()
// A public address that nothing is sent to.
const URL = 'https://93.184.215.14/hooks/T000SECRET'
const make = (fields: object = {}) => gateway.admin('POST', '/webhooks', { url: URL, events: ['*'], ...fields })

test('bad input is refused with its parameter', async () => {
  const cases: readonly (readonly [param: string, fields: object])[] = [
    ['url', { url: 'ftp://93.184.215.14/' }],
    ['url', { url: 'hooks.example.com' }],
    ['url', { url: 'https://user:pass@93.184.215.14/' }],
    ['url', { url: `https://93.184.215.14/${'x'.repeat(2048)}` }],
    ['url', { url: 'https://93.184.215.14/\n' }],
    ['events', { events: [] }],
    ['events.0', { events: ['*.created'] }],
    ['events.1', { events: ['key.*', 'nothing.*'] }],
    ['events', { events: Array.from({ length: 65 }, () => '*') }],
    ['events.0', { events: ['*'.repeat(10_000)] }],
    ['account_id', { account_id: 'acct_none' }],
    ['format', { format: 'teams' }],
    ['description', { description: 'bell \u0007' }],
    ['description', { description: 'x'.repeat(201) }],
    ['secret', { secret: 'whsec_mine' }],
  ]
  for (const [param, fields] of cases) {
    const answer = await make(fields)
    assert.equal(answer.status, 400, `${param} ${JSON.stringify(fields).slice(0, 80)}: ${answer.text}`)
    assert.equal((answer.body.error as Loose).param, param)
  }
  assert.deepEqual((await gateway.admin('GET', '/webhooks')).body.data, [])
})

test('private addresses are refused in any notation, at creation and when they are called', async () => {
  await using receiver = await startReceiver()
  const { port } = new globalThis.URL(receiver.url)
  const hosts = [
    '127.0.0.1',
    '0x7f.1',
    '2130706433',
    '[::1]',
    '[::ffff:127.0.0.1]',
    'localhost',
    '10.0.0.1',
    '169.254.169.254',
  ]
  for (const host of hosts) {
    const answer = await make({ url: `http://${host}:${port}/` })
    assert.equal(answer.status, 400, host)
    assert.match(String((answer.body.error as Loose).message), /TURNPIKE_WEBHOOKS_ALLOW_PRIVATE=1/)
  }

  // A name whose address has changed since: the address that is called is checked as well.
  const { id } = (await make()).body
  const database = gateway.storeEnv.DATABASE_URL
  if (database === undefined) {
    const { DatabaseSync } = await import('node:sqlite')
    using db = new DatabaseSync(`${gateway.dataDir}/turnpike.db`, { timeout: 5000 })
    db.prepare('UPDATE webhook SET url = ? WHERE id = ?').run(`http://localhost:${port}/`, String(id))
    const sent = await gateway.admin('POST', `/webhooks/${id}/test`, {})
    assert.equal(sent.body.delivered, false)
    assert.match(String(sent.body.error), /not a public address/)
  }
  assert.equal(receiver.received.length, 0)
  await gateway.admin('DELETE', `/webhooks/${id}`)
})

test('a webhook is created, read, changed and deleted; its secret is shown once and stored encrypted', async () => {
  const { accountId } = await gateway.createKey()
  const made = await make({ events: ['key.*', 'key.*', 'balance.low'], account_id: accountId, description: 'ops' })
  const { secret, ...webhook } = made.body
  const path = `/webhooks/${webhook.id}`

  assert.equal(made.status, 201)
  assert.deepEqual(webhook, {
    object: 'webhook',
    id: webhook.id,
    url: URL,
    events: ['key.*', 'balance.low'],
    account_id: accountId,
    description: 'ops',
    format: 'standard',
    enabled: true,
    disabled_at: null,
    disabled_reason: null,
    failing_since: null,
    next_attempt_at: null,
    previous_secret_expires_at: null,
    version: 1,
    created_at: webhook.created_at,
  })
  assert.deepEqual((await gateway.admin('GET', path)).body, webhook)
  const stale = await gateway.admin('PATCH', path, { enabled: false }, { 'if-match': '"9"' })
  assert.equal(stale.status, 409)
  const changed = await gateway.admin('PATCH', path, { enabled: false, account_id: null }, { 'if-match': '"1"' })
  assert.deepEqual([changed.body.enabled, changed.body.account_id, changed.body.version], [false, null, 2])
  const rotated = await gateway.admin('POST', `${path}/rotate-secret`, {})
  assert.notEqual(rotated.body.secret, secret)

  const stored = await gateway.stored()
  for (const text of [String(secret), String(rotated.body.secret)]) assert.ok(!stored.includes(text.slice(6)))
  const log = await gateway.admin<{ data: readonly { action: string; detail: string }[] }>(
    'GET',
    '/events?action=webhook',
  )
  const actions = log.body.data.slice(0, 3).map(({ action }) => action)
  assert.deepEqual(actions, ['webhook.rotate_secret', 'webhook.update', 'webhook.create'])
  assert.ok(!JSON.stringify(log.body).includes('T000SECRET'))

  assert.equal((await gateway.admin('DELETE', path)).status, 204)
  for (const [method, at] of [
    ['GET', path],
    ['PATCH', path],
    ['DELETE', path],
    ['GET', `${path}/deliveries`],
    ['POST', `${path}/test`],
    ['POST', `${path}/rotate-secret`],
  ] as const)
    assert.equal((await gateway.admin(method, at, method === 'GET' ? undefined : {})).status, 404, `${method} ${at}`)
})

test('viewers read webhooks without the path of their URLs, and change nothing', async () => {
  const operator = await gateway.admin('POST', '/operators', { name: 'reader', role: 'viewer' })
  const { id } = (await make()).body
  const asViewer = (method: string, path: string, body?: unknown) =>
    httpCall(`${gateway.url}/admin/v1${path}`, {
      method,
      body,
      headers: { authorization: `Bearer ${operator.body.token}` },
    })

  const read = await asViewer('GET', `/webhooks/${id}`)
  assert.equal(read.body.url, 'https://93.184.215.14/…')
  assert.ok(!(await asViewer('GET', '/webhooks')).text.includes('T000SECRET'))
  assert.equal((await asViewer('GET', `/webhooks/${id}/deliveries`)).status, 200)
  for (const [method, path] of [
    ['POST', '/webhooks'],
    ['PATCH', `/webhooks/${id}`],
    ['DELETE', `/webhooks/${id}`],
    ['POST', `/webhooks/${id}/test`],
    ['POST', `/webhooks/${id}/rotate-secret`],
    ['POST', `/webhooks/${id}/deliveries/x/resend`],
  ] as const)
    assert.equal((await asViewer(method, path, {})).status, 403, `${method} ${path}`)
  await gateway.admin('DELETE', `/webhooks/${id}`)
})

test('there are at most fifty webhooks, in pages', async () => {
  const made = await Promise.all(Array.from({ length: 55 }, () => make()))
  assert.equal(made.filter(({ status }) => status === 201).length, 50)
  assert.equal(made.filter(({ status }) => status === 409).length, 5)

  const first = await gateway.admin<{ data: readonly Loose[]; has_more: boolean }>('GET', '/webhooks?limit=30')
  const last = String(first.body.data.at(-1)?.id)
  const second = await gateway.admin<{ data: readonly Loose[]; has_more: boolean }>(
    'GET',
    `/webhooks?limit=30&after=${last}`,
  )
  assert.deepEqual([first.body.has_more, second.body.data.length, second.body.has_more], [true, 20, false])
  for (const { id } of [...first.body.data, ...second.body.data]) await gateway.admin('DELETE', `/webhooks/${id}`)
})

test('the command line does all of it', async () => {
  const run = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await cli(gateway, ['webhooks', ...args, '--json'])
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout === '' ? '{}' : stdout) as Loose
  }
  const made = await run('create', URL, '--event', 'key.*', '--event', 'balance.low', '--description', 'ops')
  const id = String(made.id)
  assert.match(String(made.secret), /^whsec_/)
  assert.deepEqual((await run('show', id)).events, ['key.*', 'balance.low'])
  assert.equal((await run('update', id, '--disable', '--format', 'slack')).enabled, false)
  assert.notEqual((await run('rotate-secret', id)).secret, made.secret)
  assert.equal((await run('deliveries', id)).object, 'list')
  const list = await cli(gateway, ['webhooks', 'list'])
  assert.match(list.stdout, new RegExp(`^${id}\t${URL}\t`, 'm'))
  const wrong = await cli(gateway, ['webhooks', 'create', URL])
  assert.deepEqual([wrong.code, /--event is required/.test(wrong.stderr)], [2, true])
  const none = await cli(gateway, ['webhooks', 'resend', id, 'whd_none'])
  assert.deepEqual([none.code, /There is no delivery with this id/.test(none.stderr)], [1, true])
  await run('delete', id)
  assert.equal((await gateway.admin('GET', `/webhooks/${id}`)).status, 404)
})
