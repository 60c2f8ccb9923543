// S6: under load, access ends from the moment the operator has the response. No request that started later is admitted,
// whatever was cached: after a revoke, after end-grace, after a suspension.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pool } from 'undici'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import { callAs, makeMany, shutOutUnderLoad } from '../../support/revocation-load.ts'
import { startUpstream } from '../../support/upstream.ts'

test('no request that starts after a revocation is answered to the operator is admitted', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const free = { rpm_limit: 1_000_000, daily_limit: null, max_concurrent: 1000 }

  await t.test('100 revokes', async () => {
    const { id: accountId } = await gateway.createAccount()
    await gateway.addCredits(accountId, '1000')
    const keys = await makeMany(100, () => gateway.createKey({ account_id: accountId, ...free }))

    await shutOutUnderLoad(
      [gateway.url],
      keys.map(({ id, secret }) => ({ secret, shutOut: () => gateway.admin('POST', `/keys/${id}/revoke`, {}) })),
    )
  })

  await t.test('30 revokes of keys during their first lookup', async () => {
    const keys = await makeMany(30, () => gateway.createKey(free))
    const pool = new Pool(gateway.url, { connections: 8, pipelining: 1 })

    for (const { id, secret } of keys) {
      const racing = Array.from({ length: 4 }, (_, i) => callAs(secret, i % 3, pool))
      await gateway.admin('POST', `/keys/${id}/revoke`, {})
      const late = await Promise.all([callAs(secret, 0, pool), callAs(secret, 1, pool)])
      await Promise.all(racing)
      const later = await callAs(secret, 0, pool)

      assert.ok(
        [...late, later].every(status => status === 401 || status === 429),
        `${late} ${later}`,
      )
    }
    await pool.close()
  })

  await t.test('20 ends of a grace period, while the current secret is served', async () => {
    const keys = await makeMany(20, async () => {
      const { id, secret } = await gateway.createKey(free)
      const { body } = await gateway.admin('POST', `/keys/${id}/rotate`, {})
      return { id, secret, current: String(body.secret) }
    })

    await shutOutUnderLoad(
      [gateway.url],
      keys.map(({ id, secret }) => ({ secret, shutOut: () => gateway.admin('POST', `/keys/${id}/end-grace`, {}) })),
    )
    for (const { current } of keys) assert.equal((await gateway.get('/v1/models', current)).status, 200)
  })

  await t.test('20 suspensions of an account', async () => {
    const keys = await makeMany(20, () => gateway.createKey(free))

    await shutOutUnderLoad(
      [gateway.url],
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
