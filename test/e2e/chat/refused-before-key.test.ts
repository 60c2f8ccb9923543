// Refusals before authentication: HTTP that cannot be parsed, no key or a bad one, and an address that tries too many
// of them. (Slow requests are in edge/one-store/slow.test.ts.)
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { REFUSALS } from '../../../src/domain/refusal.ts'
import { withBounds } from '../../support/bounds.ts'
import { type Gateway, standardConfig, startGateway } from '../../support/gateway.ts'
import { openRaw, rawRequest } from '../../support/raw-http.ts'
import { assertCommonHeaders, assertRefusal, CODES, type Code, seen } from '../../support/refusal.ts'
import { startUpstream } from '../../support/upstream.ts'

const FLOOD = 1500

const junkKey = () => `svc_live_${randomBytes(32).toString('hex').slice(0, 43)}`
const get = (path: string, ...headers: string[]) => `GET ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`
// Pipelined on one connection, which the last of them closes.
const together = (count: number, caller: () => string) =>
  Array.from({ length: count }, (_, i) =>
    get(
      '/v1/models',
      'Host: x',
      `Authorization: Bearer ${caller()}`,
      `Connection: ${i + 1 < count ? 'keep-alive' : 'close'}`,
    ),
  ).join('')
const fillers = (count: number) => Array.from({ length: count }, (_, i) => `X-Filler-${i}: a`)

test('the table in the code matches the documented one', () => {
  for (const [code, [status, type]] of Object.entries(CODES)) {
    const { status: ours, type: kind } = REFUSALS[code as Code]

    assert.deepEqual([ours, kind], [status, type], code)
  }
})

test('an unauthenticated request is refused in the usual shape, with the limits of its address', async t => {
  await using upstream = await startUpstream()
  const bounds = withBounds({ unknownKeyLookupsTogetherMax: 8, unknownKeyLookupsWaitingPerAddressMax: 16 })
  await using gateway = await startGateway({ config: standardConfig(upstream.url), ...bounds })
  const { secret, id } = await gateway.createKey()
  const authorization = `Authorization: Bearer ${secret}`

  await t.test('invalid HTTP gets an answer, then the connection closes', async () => {
    const cases: [string, Code][] = [
      ['GARBAGE\r\n\r\n', 'malformed_request'],
      [get('/v1/models', authorization), 'malformed_request'],
      ['CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n', 'malformed_request'],
      [get('/v1/models', 'Host: x', authorization, 'Expect: the-unexpected'), 'expectation_failed'],
      [get('/v1/models', 'Host: x', authorization, ...fillers(99)), 'headers_too_large'],
      [get('/v1/models', 'Host: x', authorization, `X-Long: ${'a'.repeat(17_000)}`), 'headers_too_large'],
    ]

    for (const [request, code] of cases) {
      const { answer, ended } = await rawRequest(gateway.port, request)

      assertRefusal(seen(answer), code)
      assert.equal(answer.header('connection'), 'close')
      assert.equal(answer.header('ratelimit-limit'), '600')
      assert.equal(ended, 'peer')
    }
  })

  await t.test('100 headers are accepted', async () => {
    const { answer } = await rawRequest(gateway.port, get('/v1/models', 'Host: x', authorization, ...fillers(98)), {
      expect: 1,
    })

    assert.equal(answer.status, 200)
  })

  await t.test('two Authorization headers are refused even when both are the same valid key', async () => {
    const { answer } = await rawRequest(gateway.port, get('/v1/models', 'Host: x', authorization, authorization), {
      expect: 1,
    })

    assertRefusal(seen(answer), 'duplicate_authorization')
    assert.equal(answer.header('ratelimit-policy'), '"address";q=600;w=60')
  })

  await t.test(
    'missing, malformed, unknown, expired and revoked keys and ended secrets get the same message',
    async () => {
      const revoked = await gateway.createKey()
      await gateway.admin('POST', `/keys/${revoked.id}/revoke`, {})
      const rotated = await gateway.createKey()
      await gateway.admin('POST', `/keys/${rotated.id}/rotate`, {})
      await gateway.admin('POST', `/keys/${rotated.id}/end-grace`, {})
      const expired = await gateway.createKey({ expires_at: new Date(Date.now() + 2000).toISOString() })
      await new Promise(resolve => setTimeout(resolve, 2100))
      const bearers = [junkKey(), revoked.secret, rotated.secret, expired.secret, 'x', `${secret}x`, id]
      const headers: Record<string, string>[] = [
        {},
        { authorization: secret },
        { authorization: `Basic ${secret}` },
        { authorization: 'Bearer ' },
      ]
      const words = new Set<unknown>()

      for (const attempt of [...headers, ...bearers.map(caller => ({ authorization: `Bearer ${caller}` }))]) {
        const answer = await gateway.get('/v1/key/introspect', undefined, attempt)

        const error = assertRefusal(answer, 'invalid_api_key')
        assert.equal(answer.headers['ratelimit-policy'], '"address";q=600;w=60')
        words.add(JSON.stringify([error.message, Object.keys(error.metadata ?? {})]))
      }

      assert.equal(words.size, 1)
    },
  )

  await t.test('more concurrent unknown keys than can be looked up are a 503, never a 401', async () => {
    await using load = new AsyncDisposableStack()
    const connections = await Promise.all(Array.from({ length: 500 }, () => openRaw(gateway.port)))
    for (const connection of connections) load.use(connection)

    // All of them exist at the second lookup.
    gateway.signal('SIGSTOP')
    for (const connection of connections) {
      connection.send(get('/v1/models', 'Host: x', `Authorization: Bearer ${junkKey()}`))
    }
    gateway.signal('SIGCONT')
    const answers = (await Promise.all(connections.map(connection => connection.answers(1)))).flat()

    const busy = answers.filter(answer => answer.status === 503)
    assert.ok(busy.length > 0, 'none was 503')
    for (const answer of busy) assertRefusal(seen(answer), 'service_unavailable')
    assert.equal(answers.filter(answer => answer.status === 401).length + busy.length, 500)
  })

  await t.test('an address past its limit gets 429, and a valid key from it is served', async () => {
    const flood = together(FLOOD, () => 'junk')
    const startedAt = performance.now()

    const { answers, ended } = await rawRequest(gateway.port, flood, { timeoutMs: 60_000 })

    // The bucket holds 600 and refills ten a second; some were used before.
    const seconds = (performance.now() - startedAt) / 1000
    const refused = answers.filter(answer => answer.status === 429).map(seen)
    const failed = answers.filter(answer => answer.status === 401).length
    assert.deepEqual([answers.length, failed + refused.length, ended], [FLOOD, FLOOD, 'peer'])
    assert.ok(failed <= 600 + 10 * seconds, `${failed} in ${seconds} s`)
    assert.ok(refused.length > 0, `none of ${FLOOD} in ${seconds} s`)
    for (const answer of refused) {
      assertRefusal(answer, 'too_many_failures')
      assert.equal(answer.headers['ratelimit-policy'], '"address";q=600;w=60')
    }
    await assertStillServed(gateway, secret)
  })

  assert.ok((await gateway.audit()).ok)
})

async function assertStillServed(gateway: Gateway, secret: string): Promise<void> {
  const answer = await gateway.get('/v1/models', secret)

  assert.equal(answer.status, 200)
  assertCommonHeaders(answer.headers)
}
