// Behind trusted proxies the client is the first address from the right of X-Forwarded-For that is not one of them.
// Entries left of it were written by the client itself, and an unreadable hop is refused.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { runProcess } from '../../../support/gateway-process.ts'
import { rawRequest } from '../../../support/raw-http.ts'
import { assertRefusal, seen } from '../../../support/refusal.ts'
import { startUpstream } from '../../../support/upstream.ts'

const HOPS: readonly (readonly [headers: readonly string[], client: string])[] = [
  [[], '127.0.0.1'],
  [['198.51.100.7'], '198.51.100.7'],
  [['198.51.100.7, 10.1.1.1'], '198.51.100.7'],
  [['198.51.100.7,10.1.1.1,\t10.2.2.2 '], '198.51.100.7'],
  [['1.2.3.4, 198.51.100.7, 10.1.1.1'], '198.51.100.7'],
  [['10.9.9.9, 198.51.100.7, 10.1.1.1'], '198.51.100.7'],
  [['garbage, 198.51.100.7, 10.1.1.1'], '198.51.100.7'],
  [['1.2.3.4', '198.51.100.7, 10.1.1.1'], '198.51.100.7'],
  [['198.51.100.7', '10.1.1.1'], '198.51.100.7'],
  [['198.51.100.7, 2001:db8:ffff::2, 10.1.1.1'], '198.51.100.7'],
  [['198.51.100.7, ::ffff:10.1.1.1'], '198.51.100.7'],
  [['::ffff:198.51.100.7, 10.1.1.1'], '198.51.100.7'],
  [['2001:DB8:0:0::7, 10.1.1.1'], '2001:db8::7'],
  [['10.3.3.3, 10.2.2.2, 10.1.1.1'], '10.3.3.3'],
]

const UNREADABLE = [
  'unknown',
  '_hidden',
  '198.51.100.7:1234',
  '[2001:db8::7]',
  '[2001:db8::7]:443',
  '198.51.100',
  '198.51.100.007',
  '0306.0x33.100.7',
  '3325256711',
  'fe80::1%eth0',
  'for=198.51.100.7',
  '"198.51.100.7"',
  '198.51.100.7;x',
  '',
  ' ',
]

test('behind trusted proxies the client is the rightmost hop that is not one of them', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({
    config: standardConfig(upstream.url),
    env: { TURNPIKE_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8, 2001:db8:ffff::/48' },
  })
  const { secret } = await gateway.createKey({ rpm_limit: 10_000 })
  const send = (hops: readonly string[], key = secret, more = '') =>
    rawRequest(
      gateway.port,
      `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${more}` +
        `${hops.map(hop => `X-Forwarded-For: ${hop}\r\n`).join('')}\r\n`,
      { expect: 1 },
    )

  await t.test('whatever is left of it', async () => {
    for (const [hops, client] of HOPS) {
      const { answer } = await send(hops, secret, 'X-Real-IP: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\n')

      const { body } = await gateway.admin('GET', `/usage/${answer.header('x-request-id')}`)
      assert.equal(answer.status, 200, hops.join(' | '))
      assert.equal(body.client_ip, client, hops.join(' | '))
    }
  })

  await t.test('an allowlist checks that address', async () => {
    const { secret: key } = await gateway.createKey({ ip_allowlist: ['198.51.100.7'] })

    const inside = await send(['1.2.3.4, 198.51.100.7, 10.1.1.1'], key)
    const outside = await send(['198.51.100.7, 1.2.3.4, 10.1.1.1'], key)

    assert.equal(inside.answer.status, 200)
    assertRefusal(seen(outside.answer), 'ip_not_allowed')
  })

  await t.test('an unreadable hop is refused, also for a key without an allowlist', async () => {
    for (const hop of UNREADABLE) {
      for (const hops of [[hop], [`198.51.100.7, ${hop}`], [`198.51.100.7, ${hop}, 10.1.1.1`], ['198.51.100.7', hop]]) {
        const { answer } = await send(hops)

        assertRefusal(seen(answer), 'ip_not_allowed')
      }
    }
  })

  await t.test('without a key an unreadable hop is a 401', async () => {
    const { answer } = await send(['unknown'], 'junk')

    assertRefusal(seen(answer), 'invalid_api_key')
  })

  await t.test("an operator's action is recorded with the client's address", async () => {
    const forwarded = { 'x-forwarded-for': '1.2.3.4, 198.51.100.9, 10.1.1.1' }
    await gateway.admin('POST', '/accounts', { name: 'far' }, forwarded)
    const unreadable = await gateway.admin('POST', '/accounts', { name: 'far' }, { 'x-forwarded-for': 'unknown' })

    const { body } = await gateway.admin<{ data: { address: string; action: string }[] }>('GET', '/events?limit=1')

    assert.deepEqual([body.data[0]?.action, body.data[0]?.address], ['account.create', '198.51.100.9'])
    assert.equal(unreadable.status, 400)
  })

  assert.ok((await gateway.audit()).ok)
})

test('an invalid list of proxies stops the start and is named', async () => {
  for (const list of ['10.0.0.0/33', '10.0.0.1/8', 'proxy.local', '10.0.0.0/8,,', 'all']) {
    const { code, stderr } = await runProcess(['serve'], '/tmp', { TURNPIKE_TRUSTED_PROXIES: list })

    assert.equal(code, 2, list)
    assert.match(stderr, /TURNPIKE_TRUSTED_PROXIES/)
  }
})
