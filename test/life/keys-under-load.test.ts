// S6: while requests pour in, whoever was shut out is shut out from the moment the operator has the answer. No request
// that started later is admitted, whatever was cached: after a revoke, after end-grace, after a suspension.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pool } from 'undici'
import { type Gateway, standardConfig, startGateway } from '../kit/gateway.ts'
import { until } from '../kit/until.ts'
import { startUpstream } from '../kit/upstream.ts'

const CALLERS = 6

type Victim = { readonly secret: string; served: number; shutOutAt: number; tries: number }

test('no request that starts after the operator has shut its bearer out is admitted', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const free = { rpm_limit: 1_000_000, daily_limit: null, max_concurrent: 1000 }

  await t.test('a hundred revokes', async () => {
    const { id: accountId } = await gateway.createAccount()
    await gateway.addCredits(accountId, '1000')
    const keys = await makeMany(100, () => gateway.createKey({ account_id: accountId, ...free }))

    await shutOutUnderLoad(
      gateway,
      keys.map(({ id, secret }) => ({ secret, shutOut: () => gateway.admin('POST', `/keys/${id}/revoke`, {}) })),
    )
  })

  await t.test('thirty revokes of keys that are just being looked up for the first time', async () => {
    const keys = await makeMany(30, () => gateway.createKey(free))
    const pool = new Pool(gateway.url, { connections: 8, pipelining: 1 })

    for (const { id, secret } of keys) {
      const racing = Array.from({ length: 4 }, (_, i) => call(pool, secret, i % 3))
      await gateway.admin('POST', `/keys/${id}/revoke`, {})
      const late = await Promise.all([call(pool, secret, 0), call(pool, secret, 1)])
      await Promise.all(racing)
      const later = await call(pool, secret, 0)

      assert.ok(
        [...late, later].every(status => status === 401 || status === 429),
        `${late} ${later}`,
      )
    }
    await pool.close()
  })

  await t.test('twenty ends of a grace period, while the current secret is served on', async () => {
    const keys = await makeMany(20, async () => {
      const { id, secret } = await gateway.createKey(free)
      const { body } = await gateway.admin('POST', `/keys/${id}/rotate`, {})
      return { id, secret, current: String(body.secret) }
    })

    await shutOutUnderLoad(
      gateway,
      keys.map(({ id, secret }) => ({ secret, shutOut: () => gateway.admin('POST', `/keys/${id}/end-grace`, {}) })),
    )
    for (const { current } of keys) assert.equal((await gateway.get('/v1/models', current)).status, 200)
  })

  await t.test('twenty suspensions of an account', async () => {
    const keys = await makeMany(20, () => gateway.createKey(free))

    await shutOutUnderLoad(
      gateway,
      keys.map(({ accountId, secret }) => ({
        secret,
        shutOut: () => gateway.admin('PATCH', `/accounts/${accountId}`, { status: 'suspended' }),
      })),
    )
    for (const { secret } of keys) assert.equal((await gateway.get('/v1/key/introspect', secret)).status, 200)
  })

  await upstream.idle()
  assert.ok((await gateway.audit()).ok)
})

// One after the other is shut out as soon as it is being served; the callers hammer the one whose turn it is, the next
// one, and those that are out already.
async function shutOutUnderLoad(
  gateway: Gateway,
  turns: readonly { readonly secret: string; shutOut(): Promise<{ readonly status: number }> }[],
): Promise<void> {
  const victims = turns.map(({ secret }): Victim => ({ secret, served: 0, shutOutAt: Infinity, tries: 0 }))
  const admittedLate: string[] = []
  const pool = new Pool(gateway.url, { connections: CALLERS, pipelining: 1 })
  let turn = 0
  let over = false

  async function hammer(caller: number): Promise<void> {
    for (let i = caller; !over; i++) {
      const victim = victims[Math.min(victims.length - 1, Math.max(0, turn + 1 - (i % 4)))] as Victim
      const startedAt = performance.now()
      const status = await call(pool, victim.secret, i % 3)
      const late = startedAt > victim.shutOutAt
      if (status === 200) victim.served += 1
      if (late) victim.tries += 1
      if (late && ![401, 403, 429].includes(status)) admittedLate.push(`${status} to victim ${victims.indexOf(victim)}`)
    }
  }

  const callers = Array.from({ length: CALLERS }, (_, caller) => hammer(caller))
  try {
    for (turn = 0; turn < turns.length; turn++) await takeTurn(turn)
  } finally {
    over = true
    await Promise.all(callers)
    await pool.close()
  }

  async function takeTurn(i: number): Promise<void> {
    const victim = victims[i] as Victim
    await until(`victim ${i} is served`, () => victim.served > 0)
    assert.equal((await turns[i]?.shutOut())?.status, 200)
    victim.shutOutAt = performance.now()
    await until(`victim ${i} has tried again`, () => victim.tries > 1)
  }

  assert.deepEqual(admittedLate, [])
}

async function call(pool: Pool, secret: string, kind: number): Promise<number> {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const body = JSON.stringify({
    model: 'test/m1',
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 5,
    stream: kind === 2,
  })
  const answer = await (kind === 0
    ? pool.request({ path: '/v1/models', method: 'GET', headers })
    : pool.request({ path: '/v1/chat/completions', method: 'POST', headers, body }))
  await answer.body.dump()
  return answer.statusCode
}

// A few at a time: each is several calls.
async function makeMany<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = []
  while (made.length < count) made.push(...(await Promise.all(Array.from({ length: 10 }, make))))
  return made
}
