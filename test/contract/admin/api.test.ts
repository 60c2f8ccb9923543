// The contract of the admin API over real HTTP, on the real store.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import type { Endpoint } from '../../../src/http/admin/endpoint-table.ts'
import { ADMIN, ADMIN_ENDPOINTS } from '../../../src/http/admin/schemas.ts'
import { ADMIN_BODIES } from '../../../src/http/openapi/examples.ts'
import { openAdminFixture, PRICE } from '../../support/admin-fixture.ts'

test('the search finds accounts, keys, models and requests, also for a viewer', async () => {
  await using fixture = await openAdminFixture()
  const account = await fixture.call('POST', '/accounts', { name: 'Acme', contact_email: 'ops@acme.example' })
  const key = await fixture.call('POST', '/keys', { name: 'acme production', account_id: account.body.id })
  const viewer = await fixture.call('POST', '/operators', { name: 'v', role: 'viewer' })
  const search = (q: string) => fixture.call('GET', `/search?q=${encodeURIComponent(q)}`)
  const shown = ({ body }: Awaited<ReturnType<typeof search>>) =>
    body.data.map(({ type, name, detail }: Found) => `${type} ${name} ${detail}`)

  const found = await search('ACME')
  assert.deepEqual(shown(found), [
    'account Acme ops@acme.example',
    `key acme production ${key.body.label}`,
    'model acme/m1 Acme One',
  ])
  assertShape(ADMIN.search, found.body)
  assert.deepEqual(shown(await search(key.body.secret.slice(-4))), [`key acme production ${key.body.label}`])
  assert.deepEqual(shown(await search(' ')), [])
  assert.deepEqual(shown(await search('chatcmpl-01a1ea74-dad4-7c8a-909a-321258e4a040')), [])
  assert.equal((await search('')).body.error.param, 'q')
  const asViewer = await fixture.call('GET', '/search?q=acme', undefined, {
    authorization: `Bearer ${viewer.body.token}`,
  })
  assert.equal(asViewer.status, 200)
})

type Found = { readonly type: string; readonly name: string; readonly detail: string | null }

test('a ledger is filtered, has balances, and is exported as CSV', async () => {
  await using fixture = await openAdminFixture()
  const { body: account } = await fixture.call('POST', '/accounts', {
    name: 'acme',
    contact_email: ' ops@acme.example ',
    external_id: 'cus_1',
  })
  const add = (amount: string, note: string) =>
    fixture.call('POST', `/accounts/${account.id}/credits`, { amount, note }, { 'idempotency-key': note })
  assert.equal((await add('10.5', 'first')).body.balance, null)
  await add('-0.5', '=2+5')
  const ledger = (query: string) => fixture.call('GET', `/accounts/${account.id}/ledger${query}`)

  const all = await ledger('')
  const csv = await ledger('?format=csv')
  const lines = (csv.text ?? '').trim().split('\r\n')

  assert.deepEqual([account.contact_email, account.external_id], ['ops@acme.example', 'cus_1'])
  assert.deepEqual(
    all.body.data.map(({ kind, amount, balance }: Entry) => [kind, amount, balance]),
    [
      ['adjustment', '-0.5', '10'],
      ['topup', '10.5', '10.5'],
    ],
  )
  assertShape(ADMIN.listLedger, all.body)
  assert.deepEqual(
    (await ledger('?kind=topup')).body.data.map(({ balance }: Entry) => balance),
    ['10.5'],
  )
  assert.deepEqual((await ledger('?from=2999-01-01T00:00:00Z')).body.data, [])
  assert.equal((await ledger('?kind=gift')).body.error.param, 'kind')
  assert.equal((await ledger('?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z')).body.error.param, 'from')
  assert.equal(lines[0], 'id,account_id,created_at,kind,amount,balance,note,request_id,from,to,requests,errors')
  assert.match(lines[1] ?? '', /,adjustment,-0\.5,10,"'=2\+5",/)
  assert.equal(lines.length, 3)
  const found = await fixture.call('GET', '/accounts?external_id=cus_1')
  assert.deepEqual(
    found.body.data.map(({ id }: { id: string }) => id),
    [account.id],
  )
  for (const [field, value] of [
    ['contact_email', 'nobody'],
    ['contact_email', `${'x'.repeat(250)}@a.example`],
    ['external_id', 'two words'],
    ['external_id', ''],
  ] as const) {
    const refused = await fixture.call('PATCH', `/accounts/${account.id}`, { [field]: value })
    assert.deepEqual([refused.status, refused.body.error.param], [400, field])
  }
})

type Entry = { readonly kind: string; readonly amount: string; readonly balance: string }

test('a key is created, rotated and revoked, and each secret is shown once', async () => {
  await using fixture = await openAdminFixture()
  const account = await fixture.call('POST', '/accounts', { name: 'acme' })

  const made = await fixture.call('POST', '/keys', { name: 'ci', account_id: account.body.id, credit_limit: '2.50' })
  const rotated = await fixture.call('POST', `/keys/${made.body.id}/rotate`)
  const read = await fixture.call('GET', `/keys/${made.body.id}`)
  const ended = await fixture.call('POST', `/keys/${made.body.id}/end-grace`, {})
  const revoked = await fixture.call('POST', `/keys/${made.body.id}/revoke`, { abort_streams: true })

  assert.deepEqual([made.status, rotated.status, read.status, ended.status, revoked.status], [201, 200, 200, 200, 200])
  assert.match(made.body.secret, /^svc_live_[0-9A-Za-z]{43}$/)
  assert.notEqual(rotated.body.secret, made.body.secret)
  assert.equal(read.body.secret, undefined)
  assert.equal(read.body.credit_limit, '2.5')
  assert.equal(read.body.label, `svc_live_…${rotated.body.secret.slice(-4)}`)
  assert.deepEqual(
    read.body.previous.map((secret: { last4: string }) => secret.last4),
    [made.body.secret.slice(-4)],
  )
  assert.deepEqual([ended.body.previous, revoked.body.status], [[], 'revoked'])
  assert.deepEqual(fixture.aborted, [made.body.id])
  assert.equal(fixture.forgotten.length, 3)
  const hash = createHash('sha256').update(rotated.body.secret).digest('hex')
  assert.equal(
    (await fixture.repositories.sql.get('SELECT key_id FROM secret WHERE hash = $1', [hash]))?.key_id,
    made.body.id,
  )
  assertShape(ADMIN.createKey, made.body)
  assertShape(ADMIN.getKey, read.body)
})

test('without the right token every path and method returns 401 in the error format', async () => {
  await using fixture = await openAdminFixture()
  const paths = ['/keys', '/keys/key_x', '/usage', '/nowhere', '/keys/key_x/revoke']

  const methods = ['GET', 'POST', 'PATCH', 'DELETE', 'PUT']
  const calls = paths.flatMap(path =>
    methods.map(method => fixture.call(method, path, undefined, { authorization: 'Bearer wrong' })),
  )

  for (const { status, body, headers } of await Promise.all(calls)) {
    assert([401, 429].includes(status))
    assert(['invalid_api_key', 'too_many_failures'].includes(body.error.code))
    assert.equal(body.error.metadata.request_id, headers.get('x-request-id'))
  }
  const none = await fixture.call('GET', '/keys', undefined, { authorization: '' })
  assert.equal(none.status, 429)
  assert(Number(none.headers.get('retry-after')) > 0)
  assert.equal((await fixture.call('GET', '/keys')).status, 200)
})

test('an empty change honours If-Match: 409 for another version, 400 for an invalid one, otherwise the current state', async t => {
  await using fixture = await openAdminFixture()
  const account = await fixture.call('POST', '/accounts', { name: 'acme' })
  const key = await fixture.call('POST', '/keys', { name: 'ci', account_id: account.body.id })
  const provider = await fixture.call('POST', '/providers', { id: 'acme', kind: 'demo' })
  const model = await fixture.call('POST', '/models', ADMIN_BODIES.createModel)
  const made = { accounts: account, keys: key, providers: provider, models: model }

  for (const [resource, { status, body }] of Object.entries(made)) {
    await t.test(resource, async () => {
      assert.equal(status, 201, JSON.stringify(body))
      const patch = (version: string) => fixture.call('PATCH', `/${resource}/${body.id}`, {}, { 'if-match': version })

      const [stale, odd] = [await patch('"99"'), await patch('W/"x"')]
      const present = await fixture.call('GET', `/${resource}/${body.id}`)
      const right = await patch(`"${present.body.version ?? 1}"`)

      assert.deepEqual([stale.status, stale.body.error.code], [409, 'conflict'])
      assert.deepEqual([odd.status, odd.body.error.param], [400, 'If-Match'])
      assert.equal(right.status, 200)
    })
  }
  const nobody = await fixture.call('PATCH', '/accounts/acct_none', {}, { 'if-match': '"1"' })
  assert.equal(nobody.status, 404)
})

test('unknown paths return 404, known paths with another method return 405 with Allow', async () => {
  await using fixture = await openAdminFixture()

  const nowhere = await fixture.call('GET', '/nowhere')
  const method = await fixture.call('PUT', '/keys/key_x', { a: 1 })
  const head = await fixture.call('HEAD', '/keys')
  const key = await fixture.call('GET', '/keys/key_x')
  const slashes = await fixture.call('PUT', '/models/acme/m1', { a: 1 })

  assert.deepEqual([nowhere.status, nowhere.body.error.code], [404, 'not_found'])
  assert.deepEqual([method.status, method.body.error.code], [405, 'method_not_allowed'])
  assert.equal(method.headers.get('allow'), 'GET, PATCH')
  assert.deepEqual([slashes.status, slashes.headers.get('allow')], [405, 'GET, PATCH, DELETE'])
  assert.equal(head.status, 405)
  assert.deepEqual([key.status, key.body.error.code], [404, 'not_found'])
})

test('every endpoint of a single resource returns 404 for an unknown id', async t => {
  await using fixture = await openAdminFixture()
  const ofOne = Object.entries<Endpoint>(ADMIN).filter(([, { path }]) => path.includes('{'))

  assert.ok(ofOne.length > 20)
  for (const [name, { method, path }] of ofOne) {
    await t.test(`${method} ${path}`, async () => {
      const at = path.replace('/admin/v1', '').replace(/\{\w+\}/g, 'nobody_1')
      const body = method === 'GET' || method === 'DELETE' ? undefined : (ADMIN_BODIES[name] ?? {})
      const answer = await fixture.call(method, at, body, { 'idempotency-key': 'once' })

      assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'])
    })
  }
})

test('bad input is refused with the name of its parameter', async () => {
  await using fixture = await openAdminFixture()
  const { body: account } = await fixture.call('POST', '/accounts', { name: 'acme' })
  const past = new Date(fixture.repositories.clock.now()).toISOString()
  const cases: readonly (readonly [object, string, string])[] = [
    [{}, 'missing_field', 'name'],
    [{ name: 'a', surprise: 1 }, 'invalid_value', 'surprise'],
    [{ name: '' }, 'invalid_value', 'name'],
    [{ name: ' ' }, 'invalid_value', 'name'],
    [{ name: 'a\u0000b' }, 'invalid_value', 'name'],
    [{ name: '\ud800' }, 'invalid_value', 'name'],
    [{ name: 'x'.repeat(201) }, 'invalid_value', 'name'],
    [{ name: `e${'\u0301'.repeat(300)}` }, 'invalid_value', 'name'],
    [{ name: 'a', scopes: ['root'] }, 'invalid_value', 'scopes.0'],
    [{ name: 'a', ip_allowlist: ['10.0.0.1', '10.0.0.300'] }, 'invalid_value', 'ip_allowlist.1'],
    [{ name: 'a', ip_allowlist: Array(257).fill('10.0.0.1') }, 'invalid_value', 'ip_allowlist'],
    [{ name: 'a', rpm_limit: 0 }, 'invalid_value', 'rpm_limit'],
    [{ name: 'a', rpm_limit: 1.5 }, 'invalid_value', 'rpm_limit'],
    [{ name: 'a', rpm_limit: '5' }, 'invalid_value', 'rpm_limit'],
    [{ name: 'a', rpm_limit: 10_000_001 }, 'invalid_value', 'rpm_limit'],
    [{ name: 'a', daily_limit: 1e10 }, 'invalid_value', 'daily_limit'],
    [{ name: 'a', credit_limit: 5 }, 'invalid_value', 'credit_limit'],
    [{ name: 'a', credit_limit: '-1' }, 'invalid_value', 'credit_limit'],
    [{ name: 'a', credit_limit: '1e3' }, 'invalid_value', 'credit_limit'],
    [{ name: 'a', expires_at: past }, 'invalid_value', 'expires_at'],
    [{ name: 'a', expires_at: '2030-02-30' }, 'invalid_value', 'expires_at'],
    [{ name: 'a', expires_at: '2030-01-01T00:00:00' }, 'invalid_value', 'expires_at'],
    [{ name: 'a', account_id: 'acct_none' }, 'invalid_value', 'account_id'],
  ]

  for (const [input, code, param] of cases) {
    const { status, body } = await fixture.call('POST', '/keys', { account_id: account.id, ...input })
    assert.deepEqual(
      [status, body.error?.code, body.error?.param],
      [400, code, param],
      JSON.stringify(input).slice(0, 80),
    )
  }
  assert.equal((await fixture.call('GET', '/keys?limit=0')).body.error.param, 'limit')
  assert.equal((await fixture.call('GET', '/keys?limit=5&limit=6')).body.error.param, 'limit')
  assert.equal((await fixture.call('GET', '/keys?nope=1')).body.error.param, 'nope')
  assert.equal((await fixture.call('GET', '/usage?from=yesterday')).body.error.param, 'from')
  assert.equal((await fixture.call('GET', '/usage/summary')).body.error.param, 'group_by')
  assert.equal((await fixture.call('GET', '/keys?status=&q=&limit=')).status, 200)
})

test('a body that is not a JSON object, too large or of another type is refused with its reason', async () => {
  await using fixture = await openAdminFixture()
  const send = async (body: string, headers: Record<string, string> = {}) =>
    (await fixture.call('POST', '/accounts', body, headers)).body.error.code

  assert.equal(await send('{"name":'), 'invalid_json')
  assert.equal(await send('[1]'), 'invalid_json')
  assert.equal(await send('\ufeff{"name":"a"}'), 'invalid_json')
  assert.equal(await send('['.repeat(100_000)), 'invalid_json')
  assert.equal(await send('{"name":"a","__proto__":{}}'), 'invalid_value')
  assert.equal(await send('{}', { 'content-type': 'text/plain' }), 'unsupported_media_type')
  assert.equal(await send('{}', { 'content-encoding': 'gzip' }), 'unsupported_media_type')
  assert.equal(await send(JSON.stringify({ name: 'x'.repeat(1_100_000) })), 'request_too_large')
})

test('credits are booked once per Idempotency-Key, and never below zero', async () => {
  await using fixture = await openAdminFixture()
  const { body: account } = await fixture.call('POST', '/accounts', { name: 'acme' })
  const add = (amount: unknown, key?: string) =>
    fixture.call(
      'POST',
      `/accounts/${account.id}/credits`,
      { amount },
      key === undefined ? {} : { 'idempotency-key': key },
    )

  const first = await add('10.00', 'a')
  const again = await add('10.00', 'a')
  const other = await add('11', 'a')
  const tooLow = await add('-10.000000001', 'b')

  assert.deepEqual([first.status, first.body.amount, first.body.kind], [201, '10', 'topup'])
  assert.deepEqual(again.body, first.body)
  assert.deepEqual([other.status, other.body.error.code], [422, 'idempotency_mismatch'])
  assert.deepEqual([tooLow.status, tooLow.body.error.code], [409, 'conflict'])
  assert.deepEqual((await add('1')).body.error.param, 'Idempotency-Key')
  assert.deepEqual((await add('0', 'c')).body.error.param, 'amount')
  assert.deepEqual((await add(1, 'd')).body.error.param, 'amount')
  for (const amount of ['9000000000.000000001', '-9000000001', '99999999999999']) {
    const { status, body } = await add(amount, 'e')
    assert.deepEqual([status, body.error.message], [400, 'amount: expected at most 9000000000 credits.'])
  }
  const ledger = (await fixture.call('GET', `/accounts/${account.id}/ledger`)).body
  assert.deepEqual([ledger.data.length, ledger.has_more], [1, false])
  assertShape(ADMIN.listLedger, ledger)
  const suspended = await fixture.call('PATCH', `/accounts/${account.id}`, { status: 'suspended' })
  assert.deepEqual([suspended.body.status, suspended.body.balance.available], ['suspended', '10'])
  assert.deepEqual(fixture.forgottenAccounts, [account.id])
})

test('conflicting changes return 409, and the sixth rotation within an hour explains why', async () => {
  await using fixture = await openAdminFixture()
  const { body: account } = await fixture.call('POST', '/accounts', { name: 'acme' })
  const { body: key } = await fixture.call('POST', '/keys', { name: 'ci', account_id: account.id })
  for (let i = 0; i < 5; i++) await fixture.call('POST', `/keys/${key.id}/rotate`)

  const sixth = await fixture.call('POST', `/keys/${key.id}/rotate`)
  await fixture.call('POST', `/keys/${key.id}/revoke`)
  const patch = await fixture.call('PATCH', `/keys/${key.id}`, { name: 'x' })

  assert.deepEqual([sixth.status, sixth.body.error.code], [409, 'too_many_secrets'])
  assert.deepEqual([patch.status, patch.body.error.code], [409, 'conflict'])
})

test('usage is available as rows, sums and CSV in which no cell is a formula', async () => {
  await using fixture = await openAdminFixture()
  const ids: string[] = []
  for (let i = 0; i < 1203; i++)
    ids.unshift(await fixture.addUsage(fixture.repositories.clock.now() + i, i === 0 ? '=cmd|"x"' : 'm'))
  fixture.repositories.clock.advance(1)

  const page = (await fixture.call('GET', '/usage?limit=2')).body
  const one = (await fixture.call('GET', `/usage/${ids.at(-1)}`)).body
  const sums = (await fixture.call('GET', '/usage/summary?group_by=model')).body
  const csv = await fixture.call('GET', '/usage', undefined, { accept: 'text/csv' })
  const few = await fixture.call('GET', '/usage?limit=3', undefined, { accept: 'text/csv' })
  const byLink = await fixture.call('GET', '/usage?limit=3&format=csv', undefined, { accept: 'text/html,*/*;q=0.8' })
  const asJson = await fixture.call('GET', '/usage?limit=3&format=json', undefined, { accept: 'text/csv' })

  assert.deepEqual(
    page.data.map((row: { request_id: string }) => row.request_id),
    ids.slice(0, 2),
  )
  assertShape(ADMIN.listUsage, page)
  assert.deepEqual([one.model_requested, one.cost, one.price], ['=cmd|"x"', '0.000000007', JSON.parse(PRICE)])
  assert.equal(
    sums.data.reduce((sum: number, row: { requests: number }) => sum + row.requests, 0),
    1203,
  )
  assertShape(ADMIN.summariseUsage, sums)
  assert.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8')
  const lines = csv.text.trimEnd().split('\r\n')
  assert.equal(lines.length, 1204)
  assert.deepEqual(
    lines.slice(1).map(line => line.split(',')[0]),
    ids,
  )
  assert(lines.at(-1)?.includes(`"'=cmd|""x"""`))
  assert.equal(few.text.trimEnd().split('\r\n').length, 4)
  assert.equal(byLink.text, few.text)
  assert.equal(asJson.body.data.length, 3)
  assert.equal((await fixture.call('GET', '/usage/nothing')).status, 404)
})

test('the overview covers the last 24 hours by the hour by default, and bad ranges are refused', async () => {
  await using fixture = await openAdminFixture()
  const now = fixture.repositories.clock.now()
  await fixture.addUsage(now - 30 * 3_600_000, 'm1')
  await fixture.addUsage(now - 2 * 3_600_000, 'm2')
  const at = (hours: number) => new Date(now - hours * 3_600_000).toISOString()

  const usual = (await fixture.call('GET', '/overview')).body
  const longer = (await fixture.call('GET', `/overview?from=${at(24 * 30)}`)).body

  assertShape(ADMIN.overview, usual)
  assert.deepEqual([usual.from, usual.to, usual.step, usual.series.length], [at(24), at(0), 'hour', 24])
  assert.deepEqual([usual.totals.requests, usual.totals.cost, usual.totals.p50_ms], [1, '0.000000007', null])
  assert.deepEqual([longer.step, longer.series.length, longer.totals.requests], ['day', 30, 2])
  assert.deepEqual(
    longer.top.models.map((model: { id: string }) => model.id),
    ['m1', 'm2'],
  )
  const zoned = async (zone: string) => (await fixture.call('GET', `/overview?step=day&time_zone=${zone}`)).body
  assert.equal((await zoned('America/New_York')).time_zone, 'America/New_York')
  // Its days begin in the middle of an hour of UTC.
  assert.equal((await zoned('Asia/Kolkata')).time_zone, 'UTC')
  const minutes = (await fixture.call('GET', `/overview?from=${at(1)}&step=minute`)).body
  assert.deepEqual([minutes.step, minutes.series.length >= 60], ['minute', true])
  for (const [query, param] of [
    [`from=${at(1)}&to=${at(2)}`, 'from'],
    [`from=${at(24 * 60)}&step=hour`, 'from'],
    ['from=yesterday', 'from'],
    ['step=week', 'step'],
    [`from=${at(4)}&step=minute`, 'from'],
    ['step=day&time_zone=Mars/Olympus', 'time_zone'],
  ] as const) {
    const { status, body } = await fixture.call('GET', `/overview?${query}`)
    assert.deepEqual([status, body.error.param], [400, param], query)
  }
  assert.equal((await fixture.call('GET', `/usage?from=${at(1)}&to=${at(2)}`)).status, 400)
})

test('every change is in the events with its operator, and no event holds a secret', async () => {
  await using fixture = await openAdminFixture()
  const { body: account } = await fixture.call('POST', '/accounts', { name: 'acme' })
  fixture.repositories.clock.advance(1)
  const { body: key } = await fixture.call('POST', '/keys', { name: 'ci', account_id: account.id })

  const { body, text } = await fixture.call('GET', '/events')

  assert.deepEqual(
    body.data.map((event: { action: string }) => event.action),
    ['key.create', 'account.create'],
  )
  assert.deepEqual([body.data[0].actor, body.data[0].address], ['admin', '127.0.0.1'])
  assert(!text.includes(key.secret))
  assertShape(ADMIN.listEvents, body)
})

test('the table of endpoints names each path and method once', () => {
  const names = ADMIN_ENDPOINTS.map(({ method, path }) => `${method} ${path}`)

  assert.equal(new Set(names).size, names.length)
  assert(names.every(name => name.includes(' /admin/v1/')))
})

function assertShape({ response }: Endpoint, body: unknown): void {
  assert.deepEqual(Compile(response).Errors(body), [])
}
