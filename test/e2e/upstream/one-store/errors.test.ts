// What the caller gets for an upstream's status: the row of the error table, cost 0, no upstream headers, and the
// upstream's message only for client errors, sanitized.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UPSTREAM_ID } from '../../../support/completion-parts.ts'
import { openFixture } from '../../../support/fixture.ts'
import { PROVIDER_KEY_CANARY } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import { balanceOf, settledRow } from '../../../support/usage.ts'

const { gateway, upstream } = await openFixture()
const caller = await gateway.createKey({ credits: '5' })

const TABLE = [
  [400, 400, 'invalid_request_error', 'upstream_rejected', 'rejected'],
  [413, 400, 'invalid_request_error', 'upstream_rejected', 'rejected'],
  [422, 400, 'invalid_request_error', 'upstream_rejected', 'rejected'],
  [429, 503, 'upstream_error', 'provider_unavailable', 'limited'],
  [503, 503, 'upstream_error', 'provider_unavailable', 'limited'],
  [500, 502, 'upstream_error', 'all_providers_failed', 'status'],
  [502, 502, 'upstream_error', 'all_providers_failed', 'status'],
  [401, 502, 'upstream_error', 'all_providers_failed', 'credential'],
  [403, 502, 'upstream_error', 'all_providers_failed', 'credential'],
  [404, 502, 'upstream_error', 'all_providers_failed', 'status'],
  [504, 504, 'upstream_error', 'upstream_timeout', 'timeout'],
] as const

for (const [theirs, status, type, code, kind] of TABLE) {
  for (const stream of [false, true]) {
    test(`${theirs} from the upstream is ${status} ${code} ${stream ? 'before a stream' : 'for JSON'}, and free`, async () => {
      upstream.next({ status: theirs, setCookie: 'a=b', headers: { 'x-svc-cost': '99', 'x-svc-provider': 'evil' } })

      const answer = await gateway.chat({ stream }, { key: caller.secret })

      assert.equal(answer.status, status)
      assert.deepEqual([answer.body.error?.type, answer.body.error?.code], [type, code])
      assert.equal(answer.headers['x-svc-cost'], '0')
      assert.equal(answer.headers['x-svc-provider'], undefined)
      assert.equal(answer.headers['set-cookie'], undefined)
      assert.equal(answer.headers['retry-after'] !== undefined, status === 503)
      const row = await settledRow(gateway, answer.headers['x-request-id'])
      assert.deepEqual(
        [row.outcome, row.http_status, row.error_code, row.cost, row.usage_source],
        ['upstream_failed', status, code, '0', 'none'],
      )
      assert.deepEqual(
        row.attempts.map(attempt => [attempt.provider, attempt.outcome, attempt.status]),
        [['up', kind, theirs]],
      )
    })
  }
}

test("an answer has no upstream headers, and its id is the gateway's", async () => {
  const headers = { 'x-svc-cost': '99', 'x-svc-provider': 'evil', 'x-request-id': 'theirs', 'x-powered-by': 'them' }
  for (const stream of [false, true]) {
    upstream.next({ setCookie: ['a=b', 'c=d'], headers })

    const answer = await gateway.chat({ stream })

    assert.equal(answer.status, 200)
    assert.equal(answer.headers['set-cookie'], undefined)
    assert.equal(answer.headers['x-powered-by'], undefined)
    assert.equal(answer.headers['x-svc-provider'], 'up')
    assert.notEqual(answer.headers['x-request-id'], 'theirs')
    assert.notEqual(answer.headers['x-svc-cost'] ?? answer.trailers['x-svc-cost'], '99')
    assert.ok(!answer.text.includes(UPSTREAM_ID))
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.equal(row.upstream_id, UPSTREAM_ID)
  }
})

test('failures release the whole hold', async () => {
  assert.deepEqual(await balanceOf(gateway, caller.accountId), { available: '5', held: '0', spent: '0', owed: '0' })
})

test("the upstream's Retry-After is forwarded, up to five minutes, from seconds or a date", async () => {
  const inTwoMinutes = new Date(Date.now() + 120_000).toUTCString()
  const cases = [
    ['7', 7, 7],
    ['7200', 300, 300],
    [inTwoMinutes, 100, 121],
    ['soon', 1, 1],
  ] as const
  for (const [theirs, least, most] of cases) {
    upstream.next({ status: 429, headers: { 'retry-after': theirs } })

    const { headers } = await gateway.chat({}, { key: caller.secret })

    const ours = Number(headers['retry-after'])
    assert.ok(ours >= least && ours <= most, `${theirs} became ${ours}`)
  }
})

test('the message of a rejection is forwarded without addresses, keys, markup and control characters', async () => {
  const secrets = [
    'sk-proj-abcdefghijklmnop1234',
    'AIzaSyD4abcdefGHIJKLmnop1234567890xyzAB',
    PROVIDER_KEY_CANARY,
    '0123456789abcdef0123456789abcdef',
    'https://internal.example/v1/chat?key=1',
    new URL(upstream.url).host,
    'Bearer abcdefghijkl',
    '<script>alert(1)</script>'.slice(0, 8),
  ]
  const message = `top_p is too high\r\n for ${secrets.join(' and ')} <b>bold</b> \u0000 end`
  upstream.next({ status: 400, body: JSON.stringify({ error: { message } }) })

  const { body } = await gateway.chat({}, { key: caller.secret })

  const words = String(body.error?.message)
  assert.match(words, /^top_p is too high for /)
  assert.match(words, / end$/)
  for (const secret of secrets) assert.ok(!words.includes(secret), `${words} holds ${secret}`)
  assert.doesNotMatch(words, /[<>\u0000-\u001f]/)
})

test('long messages are shortened, and a rejection that is not JSON gets a standard message', async () => {
  upstream.next({ status: 400, body: JSON.stringify({ error: { message: 'ö'.repeat(50_000) } }) })
  const long = await gateway.chat({}, { key: caller.secret })
  upstream.next({ status: 400, contentType: 'text/html', body: '<html><h1>Bad Request</h1> nginx </html>' })
  const html = await gateway.chat({}, { key: caller.secret })
  upstream.next({ status: 400, body: 'x'.repeat(3_000_000) })
  const huge = await gateway.chat({}, { key: caller.secret })

  assert.ok(String(long.body.error?.message).length <= 400)
  for (const { body } of [html, huge])
    assert.equal(body.error?.message, 'The provider rejected the request as invalid.')
})

test("an upstream's error text, which may quote the prompt, is not logged", async () => {
  upstream.next({
    status: 400,
    body: JSON.stringify({ error: { message: 'bad word: prompt-canary-1', code: 'content_policy_violation' } }),
  })
  await gateway.chat({}, { key: caller.secret })
  upstream.next({
    status: 500,
    body: JSON.stringify({ error: { message: 'oops at prompt-canary-2', code: 'overloaded_error' } }),
  })
  await gateway.chat({}, { key: caller.secret })

  // The log is written a moment later. No other test of this file has these codes.
  for (const why of ['status 400 (content_policy_violation)', 'status 500 (overloaded_error)'])
    await until(`the log has ${why}`, () => gateway.lines.some(line => line.includes(why)))
  assert.deepEqual(
    gateway.lines.filter(line => line.includes('prompt-canary')),
    [],
  )
})
