// Any caller can put any address into a header; only the socket has the real one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { assertRefusal } from '../../../support/refusal.ts'
import { startUpstream } from '../../../support/upstream.ts'

const FORGERIES = (address: string): readonly Readonly<Record<string, string>>[] => [
  { 'x-forwarded-for': address },
  { 'x-forwarded-for': `${address}, 127.0.0.1` },
  { 'x-forwarded-for': `127.0.0.1, ${address}` },
  { 'x-real-ip': address },
  { forwarded: `for=${address}` },
  { forwarded: `for="${address}";proto=https;by=127.0.0.1` },
  { 'cf-connecting-ip': address },
  { 'true-client-ip': address },
  { 'x-client-ip': address },
  { 'x-cluster-client-ip': address },
  { 'x-originating-ip': address },
  { 'fastly-client-ip': address },
  { via: `1.1 ${address}` },
  { 'x-forwarded-for': address, 'x-real-ip': address, forwarded: `for=${address}`, 'cf-connecting-ip': address },
]

// The second is a socket that reports its IPv4 peers in the mapped form.
for (const host of ['127.0.0.1', '::ffff:127.0.0.1']) {
  test(`on a listener at ${host}, no header of an untrusted peer changes its address`, async t => {
    await using upstream = await startUpstream()
    await using gateway = await startGateway({ config: standardConfig(upstream.url), env: { TURNPIKE_HOST: host } })

    await t.test('to an allowed one', async () => {
      const { secret } = await gateway.createKey({ ip_allowlist: ['10.0.0.0/8', '2001:db8::/32'] })

      for (const headers of [...FORGERIES('10.1.2.3'), ...FORGERIES('2001:db8::1'), ...FORGERIES('::ffff:10.1.2.3')]) {
        assertRefusal(await gateway.get('/v1/models', secret, headers), 'ip_not_allowed')
      }
    })

    await t.test('to one that is not allowed or unreadable', async () => {
      const { secret } = await gateway.createKey({ ip_allowlist: ['127.0.0.1'] })

      for (const headers of [...FORGERIES('203.0.113.9'), ...FORGERIES('garbage'), ...FORGERIES('')]) {
        assert.equal((await gateway.get('/v1/models', secret, headers)).status, 200)
      }
    })

    await t.test('in its rows', async () => {
      const { secret } = await gateway.createKey()
      await gateway.chat({}, { key: secret, headers: { 'x-forwarded-for': '203.0.113.9', 'x-real-ip': '203.0.113.9' } })

      const { body } = await gateway.get<{ data: { client_ip: string }[] }>('/v1/usage', secret)

      assert.deepEqual(
        body.data.map(row => row.client_ip),
        ['127.0.0.1'],
      )
    })

    await t.test('in the count of its failures', async () => {
      const startedAt = performance.now()
      const remaining = await Promise.all(
        Array.from({ length: 50 }, async (_, i) => {
          const answer = await gateway.get('/v1/models', 'junk', { 'x-forwarded-for': `203.0.113.${i}` })
          return Number(answer.headers['ratelimit-remaining'])
        }),
      )
      const refilled = Math.ceil((performance.now() - startedAt) / 100)

      assert.ok(Math.min(...remaining) <= 550 + refilled, `${Math.min(...remaining)} left of 600`)
    })

    assert.ok((await gateway.audit()).ok)
  })
}
