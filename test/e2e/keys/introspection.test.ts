// Introspection of a key: what it is, what it may do, what is left of its limits and its remaining credits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import type { Loose } from '../../support/http-call.ts'
import { assertCommonHeaders, assertRefusal } from '../../support/refusal.ts'
import { startUpstream } from '../../support/upstream.ts'

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

test('introspection reports every field of the key, up to date', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const ask = async (secret: string) => {
    const answer = await gateway.get('/v1/key/introspect', secret)
    assert.equal(answer.status, 200, answer.text)
    assertCommonHeaders(answer.headers)
    assert.equal(answer.headers['x-svc-cost'], '0')
    return answer
  }

  await t.test(
    'after chats it has the same fields, and nothing that the gateway remembers of key and account',
    async () => {
      const key = await gateway.createKey()
      const before = (await ask(key.secret)).body
      await gateway.chat({}, { key: key.secret })

      const after = (await ask(key.secret)).body

      assert.deepEqual(namesIn(after), namesIn(before))
      assert.deepEqual(after.account, { id: key.accountId, name: 'test', status: 'active' })
    },
  )

  await t.test('it has every documented field', async () => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString()
    const ip_allowlist = ['127.0.0.0/8', '::1/128']
    const controls = {
      name: 'ci',
      scopes: ['models.read'],
      ip_allowlist,
      rpm_limit: 7,
      daily_limit: 50,
      max_concurrent: 3,
    }
    const key = await gateway.createKey({ ...controls, credits: '97.5', expires_at })
    await gateway.get('/v1/models', key.secret)

    const { body, headers } = await ask(key.secret)

    const { limits, created_at, last_used_at, ...rest } = body
    const last4 = key.secret.slice(-4)
    assert.deepEqual(rest, {
      object: 'key',
      id: key.id,
      name: 'ci',
      label: `svc_live_…${last4}`,
      status: 'active',
      secret: { state: 'current', last4, grace_expires_at: null },
      scopes: ['models.read'],
      ip_allowlist,
      balance: { currency: 'credits', remaining: '97.5', held: '0', owed: '0' },
      spent: '0',
      spent_this_month: '0',
      budgets: [],
      account: { id: key.accountId, name: 'test', status: 'active' },
      expires_at,
    })
    const { rpm, daily, concurrent } = limits as Loose
    assert.deepEqual([rpm?.limit, rpm?.remaining, concurrent], [7, 5, { limit: 3, in_use: 1 }])
    assert.ok(Number(rpm?.reset) >= 9 && Number(rpm?.reset) <= 18, `${rpm?.reset} s`)
    const midnight = new Date(new Date().setUTCHours(24, 0, 0, 0)).getTime()
    assert.deepEqual([daily?.limit, daily?.used, daily?.remaining], [50, 2, 48])
    assert.equal(Date.parse(String(daily?.resets_at)), midnight)
    assert.match(String(daily?.resets_at), /T00:00:00Z$/)
    for (const at of [created_at, last_used_at]) assert.match(String(at), ISO)
    assert.deepEqual([headers['ratelimit-limit'], headers['ratelimit-remaining']], ['7', '5'])
    assert.equal(headers['ratelimit-policy'], '"rpm";q=7;w=60, "daily";q=50;w=86400')
  })

  await t.test('without a daily limit the field is null and there is no policy for it', async () => {
    const key = await gateway.createKey({ daily_limit: null })

    const { body, headers } = await ask(key.secret)

    const daily = body.limits?.daily
    assert.deepEqual([daily?.limit, daily?.used, daily?.remaining], [null, 1, null])
    assert.equal(headers['ratelimit-policy'], '"rpm";q=300;w=60')
  })

  await t.test('an old secret sees that it is in its grace period', async () => {
    const key = await gateway.createKey()
    const { body: rotated } = await gateway.admin('POST', `/keys/${key.id}/rotate`, {})

    const old = await ask(key.secret)
    const current = await ask(String(rotated.secret))

    const { state, last4, grace_expires_at } = old.body.secret as Loose
    const left = Date.parse(String(grace_expires_at)) - Date.now()
    assert.deepEqual([state, last4], ['grace', key.secret.slice(-4)])
    assert.ok(left > 3_500_000 && left <= 3_600_000, `${left} ms`)
    assert.equal(current.body.secret?.state, 'current')
    assert.equal(current.body.label, `svc_live_…${String(rotated.secret).slice(-4)}`)
  })

  await t.test(
    "the remaining credits are the lesser of the account's balance and the rest of the key's own limit",
    async () => {
      const key = await gateway.createKey({ credits: '5', credit_limit: '0.001' })
      const before = await ask(key.secret)
      upstream.next({ usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } })
      const { headers } = await gateway.chat({ max_tokens: 20 }, { key: key.secret })

      const after = await ask(key.secret)
      await gateway.admin('PATCH', `/keys/${key.id}`, { credit_limit: '100' })
      const wide = await ask(key.secret)

      assert.equal(headers['x-svc-cost'], '0.00035')
      assert.equal(before.body.balance?.remaining, '0.001')
      assert.equal(after.body.balance?.remaining, '0.00065')
      assert.equal(wide.body.balance?.remaining, '4.99965')
    },
  )

  await t.test('credits held by requests in flight are not remaining credits', async () => {
    const key = await gateway.createKey({ credits: '1' })
    upstream.next({ stallAfterChunks: 1 })
    using stream = await gateway.openChat({ max_tokens: 100 }, { key: key.secret })
    await stream.nextChunk()

    const { body } = await ask(key.secret)

    assert.deepEqual(body.balance, { currency: 'credits', remaining: '0.9988625', held: '0.0011375', owed: '0' })
    assert.equal(body.limits?.concurrent?.in_use, 2)
  })

  await t.test('a key without credits, scopes or an active account can still introspect itself', async () => {
    const key = await gateway.createKey({ credits: '0', scopes: [] })
    await gateway.admin('PATCH', `/accounts/${key.accountId}`, { status: 'suspended' })

    const { body } = await ask(key.secret)

    assert.deepEqual([body.status, body.scopes, body.account?.status], ['active', [], 'suspended'])
    assertRefusal(await gateway.get('/v1/models', key.secret), 'account_suspended')
  })

  assert.ok((await gateway.audit()).ok)
})

// Of all members, also of members of members.
function namesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [name, ...namesIn(inner).map(each => `${name}.${each}`)])
}
