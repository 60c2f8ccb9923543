// Access control of the admin API over real HTTP: logins, sessions with CSRF tokens, operators and viewers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { ADMIN, ADMIN_ENDPOINTS } from '../../../src/http/admin/schemas.ts'
import { openAdminFixture, TOKEN } from '../../support/admin-fixture.ts'

type Fixture = Awaited<ReturnType<typeof openAdminFixture>>

const HOUR = 3_600_000

test('a login creates a session: an HttpOnly, SameSite cookie and a CSRF token for changes', async () => {
  await using fixture = await openAdminFixture()

  const login = await fixture.call('POST', '/session', { token: TOKEN }, { authorization: undefined })
  const cookie = login.headers.get('set-cookie') ?? ''
  const secret = /^turnpike_session=([0-9A-Za-z]{43});/.exec(cookie)?.[1] ?? ''
  const browser = browserOf(fixture, secret)
  const read = await browser('GET', '/session')
  const made = await browser('POST', '/accounts', { name: 'x' }, { 'x-csrf-token': login.body.csrf_token })

  assert.equal(login.status, 201)
  assert.match(cookie, /; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/)
  assert.deepEqual(Compile(ADMIN.openSession.response).Errors(login.body), [])
  assert.deepEqual(login.body.operator, { id: 'op_root', name: 'admin', role: 'admin' })
  assert.equal(Date.parse(login.body.expires_at) - Date.parse(login.body.created_at), 12 * HOUR)
  assert.equal(Date.parse(login.body.idle_expires_at) - Date.parse(login.body.created_at), HOUR)
  assert.deepEqual(read.body, login.body)
  assert.equal(made.status, 201)
  const stored = (await fixture.repositories.sql.all('SELECT * FROM session'))
    .map(row => Object.values(row).join())
    .join()
  assert.ok(!stored.includes(secret) && !stored.includes(login.body.csrf_token))
})

test('behind TLS the session cookie is Secure', async () => {
  await using fixture = await openAdminFixture()

  const login = await fixture.call('POST', '/session', { token: TOKEN }, { 'x-forwarded-proto': 'https' })

  assert.match(login.headers.get('set-cookie') ?? '', /; Secure(?:;|$)/)
})

test('a change by session without a valid CSRF token is refused and changes nothing', async () => {
  await using fixture = await openAdminFixture()
  const one = await logIn(fixture)
  const other = await logIn(fixture)

  for (const csrf of [undefined, '', 'x', other.csrf, `${one.csrf}x`, one.csrf.slice(1), 'é']) {
    const headers = { 'x-csrf-token': csrf === 'é' ? '%C3%A9' : csrf }
    const { status, body } = await browserOf(fixture, one.secret)('POST', '/accounts', { name: 'x' }, headers)
    assert.deepEqual([status, body.error.code], [403, 'csrf_failed'], String(csrf))
  }
  const logout = await browserOf(fixture, one.secret)('DELETE', '/session')
  assert.deepEqual([logout.status, logout.body.error.code], [403, 'csrf_failed'])
  assert.equal((await fixture.call('GET', '/accounts')).body.data.length, 0)
  assert.equal((await browserOf(fixture, one.secret)('GET', '/session')).status, 200)
})

test('an expired, idle, ended or forged session returns 401, and a bearer token needs no CSRF token', async () => {
  await using fixture = await openAdminFixture()
  const ended = await logIn(fixture)
  const listed = (await fixture.call('GET', '/sessions')).body.data
  const gone = await fixture.call('DELETE', `/sessions/${listed[0].id}`)
  const again = await fixture.call('DELETE', `/sessions/${listed[0].id}`)
  const idle = await logIn(fixture)
  fixture.repositories.clock.advance(HOUR)
  const over = await logIn(fixture)
  for (let i = 0; i < 24; i++) {
    assert.equal((await browserOf(fixture, over.secret)('GET', '/keys')).status, 200, `after ${i / 2} hours`)
    fixture.repositories.clock.advance(HOUR / 2)
  }

  assert.deepEqual([gone.status, again.status], [204, 404])
  for (const secret of [ended.secret, idle.secret, over.secret, 'x'.repeat(43), '', TOKEN]) {
    const { status, body } = await browserOf(fixture, secret)('GET', '/keys')
    assert.deepEqual([status, body.error.code], [401, 'invalid_api_key'])
    const change = await browserOf(fixture, secret)('POST', '/accounts', { name: 'x' }, { 'x-csrf-token': over.csrf })
    assert.equal(change.status, 401)
  }
})

test('requests marked as background do not extend a session; requests by a person do', async () => {
  await using fixture = await openAdminFixture()
  const { secret } = await logIn(fixture)
  const browser = browserOf(fixture, secret)
  const quarter = () => fixture.repositories.clock.advance(HOUR / 4)

  quarter()
  const asked = await browser('GET', '/session', undefined, { 'x-background': '1' })
  const used = await browser('GET', '/session')
  for (let i = 0; i < 3; i++) {
    quarter()
    assert.equal((await browser('GET', '/keys', undefined, { 'x-background': '1' })).status, 200)
  }
  quarter()
  const over = await browser('GET', '/keys', undefined, { 'x-background': '1' })

  assert.equal(Date.parse(used.body.idle_expires_at) - Date.parse(asked.body.idle_expires_at), HOUR / 4)
  assert.equal(over.status, 401)
})

test('operators can read while the store cannot record their activity', async () => {
  await using fixture = await openAdminFixture()
  const { secret } = await logIn(fixture)
  for (const table of ['session', 'operator']) {
    await fixture.repositories.sql.run(
      `CREATE TRIGGER full_${table} BEFORE UPDATE ON ${table} BEGIN SELECT RAISE(ABORT, 'disk full'); END`,
    )
  }
  fixture.repositories.clock.advance(HOUR / 2)

  const bySession = await browserOf(fixture, secret)('GET', '/session')
  const byToken = await fixture.call('GET', '/keys')

  assert.deepEqual([bySession.status, byToken.status], [200, 200])
  assert.equal(bySession.body.last_used_at, bySession.body.created_at)
})

test('two tabs share a session; a new login in one leaves the other a stale CSRF token, and it can fetch a new one', async () => {
  await using fixture = await openAdminFixture()
  const first = await logIn(fixture)
  const second = await logIn(fixture, TOKEN, first.secret)
  const tab = browserOf(fixture, second.secret)

  const stale = await tab('POST', '/accounts', { name: 'x' }, { 'x-csrf-token': first.csrf })
  const asked = await tab('GET', '/session')
  const fresh = await tab('POST', '/accounts', { name: 'x' }, { 'x-csrf-token': asked.body.csrf_token })

  assert.deepEqual([stale.status, stale.body.error.code], [403, 'csrf_failed'])
  assert.equal(fresh.status, 201)
  // The session that no browser has any more has ended.
  assert.equal((await browserOf(fixture, first.secret)('GET', '/session')).status, 401)
  const out = await tab('DELETE', '/session', undefined, { 'x-csrf-token': second.csrf })
  assert.deepEqual([out.status, out.text], [204, ''])
  assert.match(out.headers.get('set-cookie') ?? '', /^turnpike_session=; Max-Age=0; Path=\/;/)
  assert.equal((await tab('GET', '/session')).status, 401)
})

test('every kind of wrong token gets the same answer after the same time', async () => {
  await using fixture = await openAdminFixture()
  const removed = (await fixture.call('POST', '/operators', { name: 'gone', role: 'admin' })).body
  await fixture.call('DELETE', `/operators/${removed.id}`)
  const wrong = ['', 'x', TOKEN.slice(0, -1), `${TOKEN}x`, removed.token, 'é'.repeat(9), 'x'.repeat(1024)]
  const answers = []

  for (const token of wrong) {
    const since = performance.now()
    const { status, body } = await fixture.call('POST', '/session', { token }, { authorization: undefined })
    answers.push({ ms: performance.now() - since, status, message: body.error.message, code: body.error.code })
  }

  for (const { ms, ...answer } of answers) {
    const { ms: _, ...first } = answers[0]!
    assert.deepEqual(answer, first)
    // The delay is measured from the arrival, so work done meanwhile does not add to it.
    assert.ok(ms >= 240, `${ms} ms`)
  }
  assert.deepEqual([answers[0]?.status, answers[0]?.code], [401, 'invalid_api_key'])
})

test('a session check without a cookie returns at once and does not count as a failed login', async () => {
  await using fixture = await openAdminFixture()

  const asked = await Promise.all(
    Array.from({ length: 30 }, () => fixture.call('GET', '/session', undefined, { authorization: undefined })),
  )

  assert.deepEqual([...new Set(asked.map(({ status }) => status))], [401])
  const wrong = await fixture.call('POST', '/session', { token: 'x' }, { authorization: undefined })
  assert.equal(wrong.status, 401)
})

test('while wrong tokens flood in, the right one is accepted at once, as a bearer token and as a login', async () => {
  await using fixture = await openAdminFixture()
  const flood = Array.from({ length: 200 }, (_, i) =>
    fixture.call('POST', '/session', { token: `wrong-${i}` }, { authorization: undefined }),
  )

  const login = await fixture.call('POST', '/session', { token: TOKEN }, { authorization: undefined })
  const caller = await fixture.call('GET', '/keys')

  assert.deepEqual([login.status, caller.status], [201, 200])
  const statuses = (await Promise.all(flood)).map(({ status }) => status)
  assert.deepEqual(statuses.toSorted(), [...Array(20).fill(401), ...Array(180).fill(429)])
})

test('twenty wrong tokens from an address within a minute return 401, and the next one 429', async () => {
  await using fixture = await openAdminFixture()
  const wrong = (i: number) => fixture.call('GET', '/keys', undefined, { authorization: `Bearer wrong-${i}` })

  const statuses = (await Promise.all(Array.from({ length: 20 }, (_, i) => wrong(i)))).map(({ status }) => status)
  const next = await wrong(20)

  assert.deepEqual([statuses, next.status], [Array(20).fill(401), 429])
})

test('an operator has their own token, shown once, and every event has their name', async () => {
  await using fixture = await openAdminFixture()
  const made = await fixture.call('POST', '/operators', { name: 'alice', role: 'admin' })
  const as = { authorization: `Bearer ${made.body.token}` }

  const account = await fixture.call('POST', '/accounts', { name: 'by alice' }, as)
  const rotated = await fixture.call('POST', `/operators/${made.body.id}/rotate`)
  const old = await fixture.call('GET', '/keys', undefined, as)
  const list = await fixture.call('GET', '/operators')
  const events = await fixture.call('GET', '/events?actor=alice')

  assert.deepEqual([made.status, account.status, rotated.status, old.status], [201, 201, 200, 401])
  assert.match(made.body.token, /^tpk_op_[0-9A-Za-z]{43}$/)
  assert.notEqual(rotated.body.token, made.body.token)
  assert.deepEqual(
    list.body.data.map((operator: { id: string; token?: string }) => [operator.id, operator.token]),
    [
      ['op_root', undefined],
      [made.body.id, undefined],
    ],
  )
  assert.deepEqual(
    events.body.data.map((event: { action: string; subject: string }) => [event.action, event.subject]),
    [['account.create', account.body.id]],
  )
  const trace = (await fixture.call('GET', '/events')).text
  assert.ok(!trace.includes(made.body.token) && !trace.includes(rotated.body.token))
  assert.deepEqual(Compile(ADMIN.createOperator.response).Errors(made.body), [])
  assert.deepEqual(Compile(ADMIN.listOperators.response).Errors(list.body), [])
})

// Written out instead of taken from the tested table: everything not listed must be refused, new endpoints included.
const VIEWERS = [
  'GET /keys',
  'GET /keys/{id}',
  'GET /accounts',
  'GET /accounts/{id}',
  'GET /accounts/{id}/ledger',
  'GET /accounts/{id}/portal-sessions',
  'GET /usage',
  'GET /usage/summary',
  'GET /usage/{request_id}',
  'GET /operator',
  'GET /overview',
  'GET /search',
  'GET /events',
  'GET /nodes',
  'GET /webhooks',
  'GET /webhooks/{id}',
  'GET /webhooks/{id}/deliveries',
  'GET /providers',
  'GET /providers/{id}',
  'GET /providers/{id}/health',
  'GET /models',
  'GET /models/{id}',
  'GET /session',
  'GET /sessions',
  'GET /operators',
  'GET /operators/{id}',
  'GET /settings',
  'POST /session',
  'DELETE /session',
]

test('a viewer can read everything and change nothing, by token and by session, but can log out', async t => {
  await using fixture = await openAdminFixture()
  const { token } = (await fixture.call('POST', '/operators', { name: 'eve', role: 'viewer' })).body
  const { secret, csrf } = await logIn(fixture, token)
  const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path.replace('/admin/v1', '')}`
  const changes = ADMIN_ENDPOINTS.filter(endpoint => !VIEWERS.includes(nameOf(endpoint)))
  const before = JSON.stringify(await fixture.repositories.sql.all('SELECT id, action FROM event ORDER BY id'))

  assert.ok(changes.length > 20)
  assert.equal(ADMIN_ENDPOINTS.length - changes.length, VIEWERS.length)
  for (const { method, path } of changes) {
    await t.test(`${method} ${path}`, async () => {
      const at = path.replace('/admin/v1', '').replace(/\{\w+\}/g, 'op_root')
      const byToken = await fixture.call(method, at, {}, { authorization: `Bearer ${token}` })
      const bySession = await browserOf(fixture, secret)(method, at, {}, { 'x-csrf-token': csrf })

      for (const { status, body } of [byToken, bySession]) {
        assert.deepEqual([status, body.error.code], [403, 'operator_is_viewer'])
      }
    })
  }

  assert.equal(JSON.stringify(await fixture.repositories.sql.all('SELECT id, action FROM event ORDER BY id')), before)
  for (const path of ['/keys', '/accounts', '/usage', '/events', '/operators', '/sessions', '/models', '/providers']) {
    assert.equal((await browserOf(fixture, secret)('GET', path)).status, 200, path)
  }
  assert.equal(
    (await browserOf(fixture, secret)('DELETE', '/session', undefined, { 'x-csrf-token': csrf })).status,
    204,
  )
})

test('open sessions lose a right of their operator with the next request', async () => {
  await using fixture = await openAdminFixture()
  const alice = (await fixture.call('POST', '/operators', { name: 'alice', role: 'admin' })).body
  const { secret, csrf } = await logIn(fixture, alice.token)
  const browser = browserOf(fixture, secret)
  const change = () => browser('POST', '/accounts', { name: 'x' }, { 'x-csrf-token': csrf })

  const before = await change()
  await fixture.call('PATCH', `/operators/${alice.id}`, { role: 'viewer' })
  const degraded = await change()
  await fixture.call('DELETE', `/operators/${alice.id}`)
  const removed = await browser('GET', '/session')

  assert.deepEqual([before.status, degraded.status, removed.status], [201, 403, 401])
})

test('the operator of the configured token cannot be removed; names are unique; bad input is reported by field', async () => {
  await using fixture = await openAdminFixture()
  await fixture.call('POST', '/operators', { name: 'alice', role: 'viewer' })
  const root = await fixture.call('DELETE', '/operators/op_root')
  const degraded = await fixture.call('PATCH', '/operators/op_root', { role: 'viewer' })
  const rotated = await fixture.call('POST', '/operators/op_root/rotate')
  const twice = await fixture.call('POST', '/operators', { name: 'ALICE', role: 'viewer' })
  const nobody = await fixture.call('PATCH', '/operators/op_nobody', { role: 'viewer' })

  for (const { status, body } of [root, degraded, rotated, twice]) {
    assert.deepEqual([status, body.error.code], [409, 'conflict'])
  }
  assert.match(root.body.error.message, /last admin/)
  assert.equal(nobody.status, 404)
  for (const [input, param] of [
    [{ name: 'x' }, 'role'],
    [{ name: 'x', role: 'root' }, 'role'],
    [{ name: 'System', role: 'admin' }, 'name'],
    [{ name: 'x'.repeat(201), role: 'admin' }, 'name'],
    [{ name: 'x', role: 'admin', token: 'mine' }, 'token'],
  ] as const) {
    const { status, body } = await fixture.call('POST', '/operators', input)
    assert.deepEqual([status, body.error.param], [400, param])
  }
  const big = await fixture.call('POST', '/session', { token: 'x'.repeat(5000) }, { authorization: undefined })
  assert.equal(big.body.error.code, 'request_too_large')
})

test('names that look the same are equal, and invisible characters are refused', async () => {
  await using fixture = await openAdminFixture()
  const create = (name: string) => fixture.call('POST', '/operators', { name, role: 'viewer' })

  const made = await create('  Ａlice \u00a0 Smith ')

  assert.deepEqual([made.status, made.body.name], [201, 'Alice Smith'])
  for (const name of ['alice smith', 'Alice  Smith', '\u{1D400}lice Smith']) {
    const { status, body } = await create(name)
    assert.deepEqual([status, body.error.param], [409, 'name'], name)
  }
  for (const name of [
    'bob\u200b',
    'b\u202eob',
    'b\u00adob',
    'bob\u0000',
    '\u3164',
    'b\ufe0fob',
    '\u00a0',
    'Ｓystem',
    ' start',
  ]) {
    const { status, body } = await create(name)
    assert.deepEqual([status, body.error.param], [400, 'name'], JSON.stringify(name))
  }
})

test('an event keeps the id of its operator when the operator is renamed', async () => {
  await using fixture = await openAdminFixture()
  const { body: eve } = await fixture.call('POST', '/operators', { name: 'eve', role: 'admin' })
  const { body: made } = await fixture.call(
    'POST',
    '/accounts',
    { name: 'x' },
    { authorization: `Bearer ${eve.token}` },
  )
  const login = await fixture.call('POST', '/session', { token: eve.token })
  await fixture.call('PATCH', `/operators/${eve.id}`, { name: 'somebody' })
  await fixture.call('POST', '/operators', { name: 'eve', role: 'admin' })

  const { body } = await fixture.call('GET', '/events')
  const of = (subject: string) => body.data.find((event: { subject: string }) => event.subject === subject)

  assert.deepEqual([of(made.id).actor, of(made.id).actor_id], ['eve', eve.id])
  assert.deepEqual([of(login.body.id).actor, of(login.body.id).actor_id], ['eve', eve.id])
  assert.deepEqual([of(eve.id).actor, of(eve.id).actor_id], ['admin', 'op_root'])
  assert.deepEqual(Compile(ADMIN.listEvents.response).Errors(body), [])
})

test('of two operators who change the same key or account, the second gets a conflict if they sent the version they saw', async () => {
  await using fixture = await openAdminFixture()
  const account = (await fixture.call('POST', '/accounts', { name: 'acme' })).body
  const key = (await fixture.call('POST', '/keys', { name: 'ci', account_id: account.id })).body

  for (const [path, version] of [
    [`/accounts/${account.id}`, account.version],
    [`/keys/${key.id}`, key.version],
  ]) {
    const seen = { 'if-match': `"${version}"` }
    const first = await fixture.call('PATCH', path, { name: 'first' }, seen)
    const second = await fixture.call('PATCH', path, { name: 'second' }, seen)
    const careless = await fixture.call('PATCH', path, { name: 'third' })
    const odd = await fixture.call('PATCH', path, { name: 'odd' }, { 'if-match': 'W/"x"' })

    assert.deepEqual([first.status, first.body.version, first.body.name], [200, version + 1, 'first'])
    assert.deepEqual([second.status, second.body.error.code], [409, 'conflict'])
    assert.deepEqual([careless.status, careless.body.name], [200, 'third'])
    assert.deepEqual([odd.status, odd.body.error.param], [400, 'If-Match'])
  }
})

test('a cursor that is not an id of its list, and a control character anywhere, are refused by field', async () => {
  await using fixture = await openAdminFixture()
  const account = (await fixture.call('POST', '/accounts', { name: 'x' })).body
  const lists: Readonly<Record<string, string>> = {
    '/keys': 'key_1',
    '/accounts': account.id,
    [`/accounts/${account.id}/ledger`]: '01a1dfa4-8e1e-7280-bb85-bb2208eca12f-correction',
    '/operators': 'op_root',
    '/sessions': 'ses_1',
    '/events': '01a1dfa4-8e1e-7280-bb85-bb2208eca12f',
    '/usage': '01a1dfa4-8e1e-7280-bb85-bb2208eca12f',
  }

  for (const [path, id] of Object.entries(lists)) {
    assert.equal((await fixture.call('GET', `${path}?after=${id}`)).status, 200, path)
    for (const after of ['junk', '~', 'key_', `${id}%00`, `x${id}`]) {
      const { status, body } = await fixture.call('GET', `${path}?after=${after}`)
      assert.deepEqual([status, body.error.param], [400, 'after'], `${path} ${after}`)
    }
  }
  for (const query of [
    '/keys?q=a%00',
    '/accounts?q=%0a',
    '/events?actor=%1f',
    '/usage?model=%00',
    '/models?after=%7f',
  ]) {
    const { status, body } = await fixture.call('GET', query)
    assert.deepEqual([status, body.error.param], [400, /\?(\w+)=/.exec(query)?.[1]], query)
  }
  assert.equal((await fixture.call('GET', '/models?after=any%20words')).status, 200)
})

test('reversed ranges, pages of a million and unknown filters are refused by field', async () => {
  await using fixture = await openAdminFixture()
  const backwards = 'from=2026-02-01&to=2026-01-01'
  const cases = [
    [`/usage?${backwards}`, 'from'],
    [`/events?${backwards}`, 'from'],
    [`/usage/summary?group_by=day&${backwards}`, 'from'],
    ['/keys?limit=1000000', 'limit'],
    ['/accounts?limit=1000000', 'limit'],
    ['/events?limit=1000000', 'limit'],
    ['/sessions?limit=1000000', 'limit'],
    ['/usage?limit=1000000', 'limit'],
    ['/accounts?status=asleep', 'status'],
    [`/accounts?q=${'x'.repeat(201)}`, 'q'],
    ['/events?who=me', 'who'],
  ]

  for (const [path = '', param] of cases) {
    const { status, body } = await fixture.call('GET', path)
    assert.deepEqual([status, body.error?.param], [400, param], path)
  }
  assert.equal((await fixture.call('GET', '/usage?from=2026-01-01&to=2026-01-01')).status, 200)
})

async function logIn(fixture: Fixture, token: string = TOKEN, secretBefore?: string) {
  const cookie = secretBefore === undefined ? undefined : `turnpike_session=${secretBefore}`
  const login = await fixture.call('POST', '/session', { token }, { authorization: undefined, cookie })
  assert.equal(login.status, 201)
  const secret = /turnpike_session=(\w+);/.exec(login.headers.get('set-cookie') ?? '')?.[1] ?? ''
  return { secret, csrf: String(login.body.csrf_token) }
}

function browserOf(fixture: Fixture, secret: string) {
  const own = { authorization: undefined, cookie: `theme=dark; turnpike_session=${secret}; x` }
  return (method: string, path: string, body?: unknown, headers: Record<string, string | undefined> = {}) =>
    fixture.call(method, path, body, { ...own, ...headers })
}
