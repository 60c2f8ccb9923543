// A new key: its secret is shown once and appears nowhere afterwards, neither in an answer nor in the log nor on the
// disk, which has only its SHA-256, its prefix and its last four characters.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import type { Loose } from '../../support/http-call.ts'
import { startUpstream } from '../../support/upstream.ts'

const FORMAT = /^svc_live_[0-9A-Za-z]{43}$/

test('a new key has the defaults, and its secret is shown only once', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })

  await t.test('omitted fields have their defaults', async () => {
    const { status, body } = await gateway.admin('POST', '/keys', { name: 'plain' })

    const { secret, id, label, account_id, created_at, version, ...rest } = body
    assert.deepEqual([status, version], [201, 1])
    assert.match(String(secret), FORMAT)
    assert.match(String(id), /^key_[0-9a-f]{32}$/)
    assert.match(String(account_id), /^acct_/)
    assert.equal(label, `svc_live_…${String(secret).slice(-4)}`)
    assert.ok(Math.abs(Date.parse(String(created_at)) - Date.now()) < 60_000)
    assert.deepEqual(rest, {
      object: 'key',
      name: 'plain',
      status: 'active',
      state: 'active',
      scopes: ['chat.completions', 'embeddings', 'models.read'],
      ip_allowlist: [],
      rpm_limit: 300,
      daily_limit: 10_000,
      credit_limit: null,
      max_concurrent: 100,
      allowed_models: [],
      tags: {},
      budgets: [],
      spent: '0',
      spent_this_month: '0',
      expires_at: null,
      revoked_at: null,
      last_used_at: null,
      previous: [],
    })
  })

  await t.test('secrets are unique', async () => {
    const keys = await Promise.all(Array.from({ length: 50 }, () => gateway.admin('POST', '/keys', { name: 'many' })))

    const secrets = new Set(keys.map(({ body }) => String(body.secret)))

    assert.equal(secrets.size, 50)
    for (const secret of secrets) assert.match(secret, FORMAT)
  })

  await t.test('values out of bounds are refused, and the error names the parameter', async () => {
    const wrong: readonly [field: string, value: unknown][] = [
      ['rpm_limit', 0],
      ['rpm_limit', 10_000_001],
      ['rpm_limit', 1.5],
      ['rpm_limit', null],
      ['daily_limit', 0],
      ['daily_limit', 1_000_000_001],
      ['max_concurrent', 0],
      ['credit_limit', '-1'],
      ['credit_limit', 1],
      ['expires_at', '2001-01-01T00:00:00Z'],
      ['scopes', ['everything']],
      ['name', ''],
      ['account_id', 'acct_nobody'],
      ['secret', 'svc_live_mine'],
      ['allowed_models', Array.from({ length: 101 }, (_, i) => `m-${i}`)],
      ['allowed_models', ['*'.repeat(10_000)]],
      ['allowed_models', ['']],
      ['allowed_models', ['a\u0000b']],
      ['allowed_models', ['two words']],
      ['allowed_models', 'gpt-4o'],
      ['tags', Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`t${i}`, 'x']))],
      ['tags', { Team: 'search' }],
      ['tags', { ['a'.repeat(33)]: 'search' }],
      ['tags', { 'team:x': 'search' }],
      ['tags', { team: 'two\nlines' }],
      ['tags', { team: '\u200b' }],
      ['tags', { team: ' search' }],
      ['tags', { team: 'x'.repeat(65) }],
      ['tags', { team: '' }],
      ['tags', { team: 7 }],
      ['tags', ['team']],
    ]

    for (const [field, value] of wrong) {
      const { status, body } = await gateway.admin('POST', '/keys', { name: 'odd', [field]: value })

      assert.equal(status, 400, `${field} ${String(value)}`)
      assert.match(String(body.error?.param), new RegExp(`^${field}`))
    }
    const { body: misnamed } = await gateway.admin('POST', '/keys', { name: 'odd', tags: { Team: 'search' } })
    assert.match(String(misnamed.error?.message), /^tags\.Team must have as its name 1 to 32 characters from a-z/)
    for (const fields of [
      { rpm_limit: 1, daily_limit: 1 },
      { rpm_limit: 10_000_000, daily_limit: 1_000_000_000 },
      { allowed_models: Array.from({ length: 100 }, (_, i) => `m-${i}*`) },
      { tags: Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`t.${i}`, '\u{1f600}'.repeat(64)])) },
      { tags: { ['__proto__']: 'x', constructor: 'y' } },
    ]) {
      assert.equal((await gateway.admin('POST', '/keys', { name: 'edge', ...fields })).status, 201)
    }
  })

  await t.test(
    'the store, the log and all answers hold the hash, prefix and last four characters of a secret, never the secret',
    async () => {
      const { secret, id } = await gateway.createKey()
      const rotated = (await gateway.admin('POST', `/keys/${id}/rotate`, {})).body as Loose
      const secrets = [secret, String(rotated.secret)]
      await gateway.chat({}, { key: secret })
      const shown = [
        await gateway.admin('GET', `/keys/${id}`),
        await gateway.admin('GET', '/keys?limit=1000'),
        await gateway.admin('GET', '/events?limit=1000'),
        await gateway.admin('GET', '/usage?endpoint=all'),
        await gateway.get('/v1/key/introspect', secret),
        await gateway.get('/metrics'),
      ].map(answer => answer.text)

      await gateway.stop({ hurry: true })
      const stored = await gateway.stored()

      for (const one of secrets) {
        const hash = createHash('sha256').update(one).digest('hex')
        for (const text of [...shown, ...gateway.lines, stored, ...upstream.journal.map(heard)]) {
          assert.ok(!text.includes(one.slice(9, 40)), 'a secret was found')
        }
        for (const text of [...shown, ...gateway.lines]) assert.ok(!text.includes(hash), 'a hash was found')
        assert.ok(stored.includes(hash))
      }
    },
  )

  assert.ok((await gateway.audit()).ok)
})

test('key prefix, header prefix and key defaults are configurable', async () => {
  await using upstream = await startUpstream()
  const config = standardConfig(upstream.url, {
    brand: { key_prefix: 'acme_', header_prefix: 'X-Acme-' },
    defaults: { rpm_limit: 7, daily_limit: null, scopes: ['models.read'], ip_allowlist: ['127.0.0.0/8'] },
  })
  await using gateway = await startGateway({ config })

  const { body: key } = await gateway.admin('POST', '/keys', { name: 'branded' })
  const answer = await gateway.get('/v1/models', String(key.secret))
  const old = await gateway.get('/v1/models', String(key.secret).replace('acme_', 'svc_live_'))

  assert.match(String(key.secret), /^acme_[0-9A-Za-z]{43}$/)
  assert.deepEqual([key.rpm_limit, key.daily_limit], [7, null])
  assert.deepEqual([key.scopes, key.ip_allowlist], [['models.read'], ['127.0.0.0/8']])
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['x-acme-cost'], '0')
  assert.equal(old.status, 401)
  assert.equal(old.headers['x-acme-cost'], '0')
})

function heard({ headers, rawBody }: { headers: object; rawBody: Buffer }): string {
  return JSON.stringify(headers) + rawBody.toString('latin1')
}
