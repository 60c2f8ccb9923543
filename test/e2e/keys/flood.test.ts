// A caller tries keys by the thousand: beyond its policy an address is rate limited, a valid key from the same address
// is served, and each IPv6 network is one address.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Pool } from 'undici'
import { encodeBase62 } from '../../../src/lib/base62.ts'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import type { HttpAnswer } from '../../support/http-response.ts'
import { rawRequest } from '../../support/raw-http.ts'
import { assertCommonHeaders, assertRefusal } from '../../support/refusal.ts'
import { startUpstream } from '../../support/upstream.ts'

const LIMIT = 600

test('a flood of unknown keys is rate limited and affects nobody else', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({
    config: standardConfig(upstream.url),
    env: { TURNPIKE_TRUSTED_PROXIES: '127.0.0.1' },
  })
  const { secret } = await gateway.createKey({ rpm_limit: 100_000 })
  const fresh = await gateway.createKey()
  const from = (address: string) => ({ 'x-forwarded-for': address })

  await t.test('each failed authentication takes one of 600 tokens; a valid key takes none', async () => {
    const address = '192.0.2.77'

    const served = await gateway.get('/v1/models', secret, from(address))
    const [first] = await failOnce([address])

    assert.match(String(served.headers['ratelimit-policy']), /^"rpm";q=100000;/)
    assert.equal(first?.header('ratelimit-policy'), '"address";q=600;w=60')
    assert.equal(first?.header('ratelimit-limit'), '600')
    assert.equal(first?.header('ratelimit-remaining'), '599')
    assert.equal(first?.header('ratelimit-reset'), '1')
  })

  await t.test('an IPv6 /64 network counts as one address', async () => {
    const network = Array.from({ length: 40 }, (_, i) => `2001:db8:0:1:${i}::${i}`)
    const startedAt = performance.now()

    const answers = await failOnce([...network, '2001:db8:0:2::1', '::ffff:192.0.2.78'])
    const refilled = Math.ceil((performance.now() - startedAt) / 100)

    const remaining = answers.map(answer => Number(answer.header('ratelimit-remaining')))
    const [next, mapped] = remaining.splice(40)
    // One of 600 was taken, and may be refilled by the time the answer is written.
    for (const left of [next, mapped]) assert.ok(left === 599 || left === 600, `${left}`)
    const least = Math.min(...remaining)
    assert.ok(least >= 560 && least <= 560 + refilled, `${least}, refilled ${refilled}`)
  })

  await t.test(
    'of 3,000 unknown keys at most 600 plus 10 a second get 401, the others 429, and a valid key is served',
    async () => {
      const pool = new Pool(gateway.url, { connections: 32, pipelining: 1 })
      const startedAt = performance.now()
      const counts = new Map<number, number>()
      let left = 3000

      async function flood(): Promise<void> {
        while (left-- > 0) {
          const headers = { authorization: `Bearer ${unknownKey()}`, ...from('203.0.113.5') }
          const { statusCode, body } = await pool.request({ path: '/v1/models', method: 'GET', headers })
          await body.dump()
          counts.set(statusCode, (counts.get(statusCode) ?? 0) + 1)
        }
      }
      const flooding = Array.from({ length: 32 }, flood)
      const served = []
      while (left > 0) served.push((await gateway.get('/v1/models', secret, from('203.0.113.5'))).status)
      await Promise.all(flooding)
      const seconds = (performance.now() - startedAt) / 1000
      await pool.close()

      const failed = counts.get(401) ?? 0
      assert.deepEqual([...counts.keys()].sort(), [401, 429])
      // Exactly what a bucket of this size can give in this time.
      assert.ok(failed >= LIMIT && failed <= LIMIT + (LIMIT * seconds) / 60, `${failed} in ${seconds} s`)
      assert.ok(served.length > 5 && served.every(status => status === 200))
    },
  )

  await t.test('past the limit every failure is a 429 with Retry-After', async () => {
    for (let i = 0; i < 700; i++) {
      const answer = await gateway.get('/v1/models', i % 2 === 0 ? undefined : 'junk', from('203.0.113.5'))
      if (answer.status === 401) continue

      const error = assertRefusal(answer, 'too_many_failures')
      assert.equal(error.metadata?.limit, 'address')
      assert.equal(answer.headers['ratelimit-remaining'], '0')
      assert.ok(Number(answer.headers['retry-after']) <= 60)
      return
    }
    assert.fail('no 429 came')
  })

  await t.test(
    'a valid key that is not cached is served from the flooding address, and other addresses are not affected',
    async () => {
      const unseen = await gateway.get('/v1/models', fresh.secret, from('203.0.113.5'))
      const elsewhere = await gateway.get('/v1/models', unknownKey(), from('203.0.113.6'))

      assert.equal(unseen.status, 200)
      assertCommonHeaders(unseen.headers)
      assertRefusal(elsewhere, 'invalid_api_key')
      assert.equal(elsewhere.headers['ratelimit-remaining'], '599')
    },
  )

  assert.ok((await gateway.audit()).ok)

  // All at once, because ten failures a second are refilled.
  async function failOnce(addresses: readonly string[]): Promise<HttpAnswer[]> {
    const requests = addresses.map(
      address =>
        `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer junk\r\nX-Forwarded-For: ${address}\r\n\r\n`,
    )
    return (await rawRequest(gateway.port, requests.join(''), { expect: addresses.length })).answers
  }
})

function unknownKey(): string {
  return `svc_live_${encodeBase62(randomBytes(32))}`
}
