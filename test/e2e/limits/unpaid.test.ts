// Refusals that cost a key no token are bounded too: refusals for credits, and the rows of refusals at or before the
// limits. The real allowances are 6,000 refusals a minute, or the key's own limit if that is higher, and 10 rows a
// second, after which refusals are counted for a minute; here for half a second.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOUNDS } from '../../../src/config/limits.ts'
import { withBounds } from '../../support/bounds.ts'
import { openFixture } from '../../support/fixture.ts'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import type { Loose } from '../../support/http-call.ts'
import { openRaw } from '../../support/raw-http.ts'
import { assertRefusal, seen } from '../../support/refusal.ts'
import { until } from '../../support/until.ts'

const ALLOWED = 6
const FLOOD = 200
const REFILL_MS = 60_000 / ALLOWED
const bounds = withBounds({ unpaidPerMinuteMin: ALLOWED, refusalRowsPerSecond: 2, refusalsCountedForMs: 500 })
const { gateway, upstream } = await openFixture(undefined, bounds)

test('the default allowance is 6,000 refusals for credits per minute and 10 rows per second', () => {
  const { unpaidPerMinuteMin, refusalRowsPerSecond, refusalsCountedForMs } = BOUNDS
  assert.deepEqual([unpaidPerMinuteMin, refusalRowsPerSecond, refusalsCountedForMs], [6000, 10, 60_000])
})

test('a request refused for credits leaves no open row', async () => {
  const { secret } = await gateway.createKey({ credits: '0', rpm_limit: 100 })
  for (let i = 0; i < ALLOWED; i++) assertRefusal(await gateway.chat({}, { key: secret }), 'insufficient_credits')

  assert.match((await gateway.get('/metrics')).text, /^turnpike_open_rows 0$/m)
})

test('a key without credits is rate limited after its allowance, before its body is read', async () => {
  const { secret, id } = await gateway.createKey({ credits: '0', rpm_limit: ALLOWED })
  for (let i = 0; i < ALLOWED; i++) assertRefusal(await gateway.chat({}, { key: secret }), 'insufficient_credits')

  using connection = await openRaw(gateway.port)
  connection.send(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n',
  )
  const [answer] = await connection.answers(1)

  const refused = seen(answer!)
  const error = assertRefusal(refused, 'rate_limit_exceeded')
  assert.equal(error.metadata?.limit, 'unpaid')
  assert.ok(Number(refused.headers['retry-after']) <= REFILL_MS / 1000)
  assert.deepEqual(
    [refused.headers['ratelimit-limit'], refused.headers['ratelimit-remaining']],
    [String(ALLOWED), '0'],
    'the figures are those of the policy that refused',
  )
  assert.match(String(refused.headers['ratelimit-policy']), /^"rpm";q=6;w=60, .*"unpaid";q=6;w=60$/)
  const used = (await gateway.get('/v1/key/introspect', secret)).body.limits?.rpm?.remaining
  assert.equal(Number(used), ALLOWED - 1, 'only the introspection itself has taken a token')
  await until('its row is written', async () => (await rows(id)).some(row => row.error_code === error.code))
})

test('concurrent refusals for credits all count', async () => {
  const { secret } = await gateway.createKey({ credits: '0', rpm_limit: ALLOWED })
  const first = await Promise.all(Array.from({ length: ALLOWED }, () => gateway.chat({}, { key: secret })))

  const { status, headers } = await gateway.chat({}, { key: secret })

  assert.deepEqual(new Set(first.map(answer => answer.status)), new Set([402]))
  assert.equal(status, 429)
  assert.ok(Number(headers['retry-after-ms']) > REFILL_MS - 5_000, `${headers['retry-after-ms']} ms`)
})

test("the allowance is at least the key's own requests per minute", async () => {
  const rpm_limit = 10 * ALLOWED
  const { secret } = await gateway.createKey({ credits: '0', rpm_limit })

  for (let i = 0; i < rpm_limit; i++) assert.equal((await gateway.chat({}, { key: secret })).status, 402)
  // Not many more, although one was refilled every second.
  let next = await gateway.chat({}, { key: secret })
  for (let i = 0; i < 30 && next.status === 402; i++) next = await gateway.chat({}, { key: secret })

  assert.deepEqual([next.status, next.headers['ratelimit-limit']], [429, String(rpm_limit)])
})

test('a top-up applies at once, and earlier refusals do not count against paid requests', async () => {
  const { secret, accountId } = await gateway.createKey({ credits: '0', rpm_limit: 2 * ALLOWED })
  for (let i = 0; i < 2 * ALLOWED - 1; i++) assert.equal((await gateway.chat({}, { key: secret })).status, 402)
  await gateway.addCredits(accountId, '1')

  for (let i = 0; i < 2 * ALLOWED; i++) assert.equal((await gateway.chat({}, { key: secret })).status, 200)
})

test('a key past its allowance can still read its balance, and other keys can chat', async () => {
  const { secret } = await gateway.createKey({ credits: '0', rpm_limit: ALLOWED })
  for (let i = 0; i < ALLOWED; i++) await gateway.chat({}, { key: secret })
  assert.equal((await gateway.chat({}, { key: secret })).status, 429)

  for (const path of ['/v1/key/introspect', '/v1/models', '/v1/usage']) {
    assert.equal((await gateway.get(path, secret)).status, 200)
  }
  assert.equal((await gateway.chat()).status, 200)
  assert.equal(upstream.inFlight, 0)
})

// Ten a second have their own rows; the others of a flood share one for each endpoint and code, which counts them.
for (const [what, path, code] of [
  ['at or before the limits', '/v1/nothing', 'not_found'],
  ['for credits', '/v1/chat/completions', 'insufficient_credits'],
] as const) {
  test(`a flood of refusals ${what} leaves few rows, which add up to the total in every report`, async () => {
    const { secret, id } = await gateway.createKey({ credits: '0', rpm_limit: 1000 })
    const other = await gateway.createKey()
    const refuse = () => (code === 'not_found' ? gateway.get(path, secret) : gateway.chat({}, { key: secret }))
    for (let i = 0; i < FLOOD; i += 10) {
      for (const { body } of await Promise.all(Array.from({ length: 10 }, refuse))) assert.equal(body.error?.code, code)
    }
    const seconds = await secondsOf(id)
    await gateway.get('/v1/nothing', other.secret)

    await until('all are written', async () => (await counted(id)) === FLOOD)
    await until("another key's row is written", async () => (await rows(other.id)).length === 1)

    const written = await rows(id)
    // At most ten at once, two a second, and a count every half second.
    assert.ok(written.length <= 12 + 4 * (seconds + 1), `${written.length} rows in ${seconds} s`)
    assert.ok(written.length < FLOOD / 2, `${written.length} rows for ${FLOOD} refusals`)
    assert.deepEqual(new Set(written.map(row => row.error_code)), new Set([code]))
    const { body: sums } = await gateway.admin<{ data: Loose[] }>(
      'GET',
      `/usage/summary?group_by=key&endpoint=all&key_id=${id}`,
    )
    assert.equal(sums.data[0]?.requests, FLOOD)
    const { text } = await gateway.admin('GET', `/usage?key_id=${id}&endpoint=all&format=csv`)
    const [header = '', ...lines] = text.trim().split('\r\n')
    const column = header.split(',').indexOf('requests')
    assert.equal(
      lines.reduce((sum, line) => sum + Number(line.split(',')[column]), 0),
      FLOOD,
    )
  })
}

test('counted refusals are written when the gateway stops', async () => {
  await using other = await startGateway({ config: standardConfig(upstream.url) })
  const { secret, id } = await other.createKey()
  for (let i = 0; i < FLOOD; i += 10)
    await Promise.all(Array.from({ length: 10 }, () => other.get('/v1/nothing', secret)))

  await other.stop({ hurry: true })
  await other.restart()

  assert.equal(await counted(id, other), FLOOD)
  assert.ok((await other.audit()).ok)
})

async function counted(keyId: string, at = gateway): Promise<number> {
  return (await rows(keyId, at)).reduce((sum, row) => sum + Number(row.requests), 0)
}

// From the first refusal to the last.
async function secondsOf(keyId: string): Promise<number> {
  const times = (await rows(keyId)).map(row => Date.parse(String(row.created_at)))
  return (Date.now() - Math.min(...times, Date.now())) / 1000
}

async function rows(keyId: string, at = gateway): Promise<readonly Loose[]> {
  const { body } = await at.admin<{ data: Loose[] }>('GET', `/usage?key_id=${keyId}&endpoint=all&limit=1000`)
  return body.data
}
