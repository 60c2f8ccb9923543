// The allowlist of a key: ranges of IPv4 and IPv6, where only a mapped address equals the IPv4 address, and where a
// list with a mistake is refused instead of being read as a wider one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import { assertRefusal } from '../../support/refusal.ts'
import { startUpstream } from '../../support/upstream.ts'

type Case = {
  readonly list: readonly string[]
  readonly inside: readonly string[]
  readonly outside: readonly string[]
}

const CASES: Readonly<Record<string, Case>> = {
  'one IPv4 address': {
    list: ['198.51.100.7'],
    inside: ['198.51.100.7', '::ffff:198.51.100.7', '::ffff:c633:6407', '0:0:0:0:0:ffff:c633:6407'],
    outside: ['198.51.100.6', '198.51.100.8', '::198.51.100.7', '64:ff9b::198.51.100.7', '2002:c633:6407::1'],
  },
  'an IPv4 range': {
    list: ['10.0.0.0/8', '192.0.2.128/25'],
    inside: ['10.0.0.0', '10.255.255.255', '192.0.2.128', '::ffff:10.1.2.3'],
    outside: ['9.255.255.255', '11.0.0.0', '192.0.2.127', '::10.1.2.3', '::1', 'fe80::10.1.2.3'],
  },
  'one IPv6 address, in any spelling': {
    list: ['2001:DB8:0:0::1'],
    inside: ['2001:db8::1', '2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::0.0.0.1'],
    outside: ['2001:db8::2', '2001:db8:1::1', '1.0.0.0', '0.0.0.1'],
  },
  'an IPv6 range': {
    list: ['2001:db8:42::/48'],
    inside: ['2001:db8:42::', '2001:db8:42:ffff:ffff:ffff:ffff:ffff'],
    outside: ['2001:db8:41:ffff::', '2001:db8:43::', '10.0.0.1'],
  },
  'a mapped range, which is an IPv4 range': {
    list: ['::ffff:10.0.0.0/104'],
    inside: ['10.9.9.9', '::ffff:10.9.9.9'],
    outside: ['11.0.0.1', '::10.9.9.9', '2001:db8::1'],
  },
  'all of IPv6, which is none of IPv4': {
    list: ['::/0'],
    inside: ['::1', '2001:db8::1', '64:ff9b::1.2.3.4'],
    outside: ['1.2.3.4', '::ffff:1.2.3.4', '127.0.0.1'],
  },
  'all of IPv4, which is none of IPv6': {
    list: ['0.0.0.0/0'],
    inside: ['1.2.3.4', '::ffff:255.255.255.255'],
    outside: ['::1', '::1.2.3.4', '2001:db8::1'],
  },
  'an empty list, which allows everybody': {
    list: [],
    inside: ['1.2.3.4', '::ffff:1.2.3.4', '2001:db8::1', '127.0.0.1'],
    outside: [],
  },
}

const INVALID = [
  '10.0.0.0/33',
  '10.0.0.1/8',
  '10.0.0/8',
  '10.0.0.0/08',
  '10.0.0.0/-1',
  '10.0.0.0/',
  '/8',
  '010.0.0.1',
  '0x0a.0.0.1',
  '167772161',
  ' 10.0.0.1',
  '10.0.0.1:80',
  '2001:db8::/129',
  '2001:db8::1/64',
  '2001:db8:::1',
  'fe80::1%eth0',
  '[2001:db8::1]',
  '::ffff:10.0.0.0/95',
  '::ffff:0:0/0',
  'localhost',
  '*',
  'any',
]

test('a key works only from the addresses of its allowlist', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({
    config: standardConfig(upstream.url),
    env: { TURNPIKE_TRUSTED_PROXIES: '127.0.0.1' },
  })
  const from = (secret: string, address: string) =>
    gateway.get('/v1/key/introspect', secret, { 'x-forwarded-for': address })

  for (const [what, { list, inside, outside }] of Object.entries(CASES)) {
    await t.test(what, async () => {
      const { secret } = await gateway.createKey({ ip_allowlist: list })

      for (const address of inside) assert.equal((await from(secret, address)).status, 200, address)
      for (const address of outside) {
        const answer = await from(secret, address)

        assertRefusal(answer, 'ip_not_allowed')
        assert.ok(!answer.text.includes(address))
      }
    })
  }

  await t.test(
    'the address is checked before account, path and scope, and a refusal counts against no limit',
    async () => {
      const { secret, accountId } = await gateway.createKey({ ip_allowlist: ['192.0.2.1'], scopes: [], rpm_limit: 1 })
      await gateway.admin('PATCH', `/accounts/${accountId}`, { status: 'suspended' })

      for (const path of ['/v1/key/introspect', '/v1/models', '/v1/nothing']) {
        assertRefusal(await gateway.get(path, secret), 'ip_not_allowed')
      }

      assert.equal((await from(secret, '192.0.2.1')).status, 200)
    },
  )

  await t.test('a changed allowlist applies to the next request', async () => {
    const { secret, id } = await gateway.createKey({ ip_allowlist: ['192.0.2.1'] })
    assert.equal((await from(secret, '192.0.2.1')).status, 200)

    await gateway.admin('PATCH', `/keys/${id}`, { ip_allowlist: ['192.0.2.2'] })

    assertRefusal(await from(secret, '192.0.2.1'), 'ip_not_allowed')
    assert.equal((await from(secret, '192.0.2.2')).status, 200)
  })

  await t.test('a list with an invalid entry is refused with its index, and the old list stays in force', async () => {
    const { secret, id } = await gateway.createKey({ ip_allowlist: ['192.0.2.1'] })

    for (const entry of INVALID) {
      const ip_allowlist = ['10.0.0.0/8', entry]
      const created = await gateway.admin('POST', '/keys', { name: 'slip', ip_allowlist })
      const patched = await gateway.admin('PATCH', `/keys/${id}`, { ip_allowlist })

      for (const { status, body } of [created, patched]) {
        assert.equal(status, 400, entry)
        assert.deepEqual([body.error?.code, body.error?.param], ['invalid_value', 'ip_allowlist.1'], entry)
      }
    }

    assert.equal((await from(secret, '192.0.2.1')).status, 200)
    for (const address of ['10.0.0.1', '203.0.113.1']) {
      assertRefusal(await from(secret, address), 'ip_not_allowed')
    }
  })

  assert.ok((await gateway.audit()).ok)
})
