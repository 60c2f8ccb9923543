// The RateLimit headers are correct on every answer: they report the policy with the least left, the one that refused
// on a 429, and the key's whole policy.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Gateway, standardConfig, startGateway } from '../../support/gateway.ts'
import type { Answer } from '../../support/http-call.ts'
import { assertCommonHeaders } from '../../support/refusal.ts'
import { startUpstream } from '../../support/upstream.ts'

const DAY_SECONDS = 86_400

test('the RateLimit headers report the policy with the fewest requests left', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const figures = ({ headers }: Answer) => [headers['ratelimit-limit'], headers['ratelimit-remaining']].map(Number)
  const untilMidnight = () => DAY_SECONDS - (Math.floor(Date.now() / 1000) % DAY_SECONDS)
  const isDaily = ({ headers }: Answer) => Math.abs(Number(headers['ratelimit-reset']) - untilMidnight()) < 20

  await t.test('the daily policy, if it has fewer left', async () => {
    const { secret } = await gateway.createKey({ rpm_limit: 100, daily_limit: 10 })

    const answer = await gateway.get('/v1/models', secret)

    assert.deepEqual(figures(answer), [10, 9])
    assert.ok(isDaily(answer))
    assert.equal(answer.headers['ratelimit-policy'], '"rpm";q=100;w=60, "daily";q=10;w=86400')
  })

  await t.test('the minute policy, if it has fewer or as many left', async () => {
    for (const daily_limit of [1000, 10]) {
      const { secret } = await gateway.createKey({ rpm_limit: 10, daily_limit })

      const answer = await gateway.get('/v1/models', secret)

      assert.deepEqual(figures(answer), [10, 9])
      assert.equal(answer.headers['ratelimit-reset'], '6')
      assert.equal(answer.headers['ratelimit-policy'], `"rpm";q=10;w=60, "daily";q=${daily_limit};w=86400`)
    }
  })

  await t.test('the minute policy, if there is no daily limit', async () => {
    const { secret } = await gateway.createKey({ rpm_limit: 10, daily_limit: null })

    const answer = await gateway.get('/v1/models', secret)

    assert.deepEqual(figures(answer), [10, 9])
    assert.equal(answer.headers['ratelimit-policy'], '"rpm";q=10;w=60')
  })

  await t.test('on a 429 the policy that refused, even if the other is exhausted too', async () => {
    const both = await gateway.createKey({ rpm_limit: 2, daily_limit: 2 })
    const day = await gateway.createKey({ rpm_limit: 4, daily_limit: 2 })
    for (const { secret } of [both, day]) {
      for (let i = 0; i < 2; i++) await gateway.get('/v1/models', secret)
    }

    const byMinute = await gateway.get('/v1/models', both.secret)
    const byDay = await gateway.get('/v1/models', day.secret)

    assert.equal(byMinute.body.error?.code, 'rate_limit_exceeded')
    assert.deepEqual(figures(byMinute), [2, 0])
    assert.ok(Number(byMinute.headers['ratelimit-reset']) <= 60)
    assert.equal(byDay.body.error?.code, 'daily_limit_exceeded')
    assert.deepEqual(figures(byDay), [2, 0])
    assert.ok(isDaily(byDay))
  })

  await t.test('they are on every answer and include that request', async () => {
    const { secret } = await gateway.createKey({ rpm_limit: 10_000, daily_limit: 1000, scopes: ['chat.completions'] })
    const poor = await gateway.createKey({ credits: '0', rpm_limit: 10_000, daily_limit: 1000 })
    let used = 0

    for (const [status, counts, call] of calls(gateway, secret, poor.secret)) {
      const isPoor = status === 402
      const answer = await call()

      if (counts) used += 1
      assert.equal(answer.status, status)
      assertCommonHeaders(answer.headers)
      assert.deepEqual(figures(answer), isPoor ? [10_000, 10_000] : used === 0 ? [10_000, 10_000] : [1000, 1000 - used])
      assert.equal(answer.headers['ratelimit-policy'], '"rpm";q=10000;w=60, "daily";q=1000;w=86400')
    }
  })

  await t.test('introspection reports the same figures', async () => {
    const { secret } = await gateway.createKey({ rpm_limit: 10, daily_limit: 50 })
    await gateway.get('/v1/models', secret)

    const answer = await gateway.get('/v1/key/introspect', secret)

    const { rpm, daily } = answer.body.limits as unknown as Record<string, Record<string, number>>
    assert.deepEqual(rpm, { limit: 10, remaining: 8, reset: 12 })
    assert.deepEqual([daily?.limit, daily?.used, daily?.remaining], [50, 2, 48])
    assert.deepEqual(figures(answer), [10, 8])
  })

  assert.ok((await gateway.audit()).ok)

  function calls(
    on: Gateway,
    key: string,
    poor: string,
  ): [status: number, counts: boolean, call: () => Promise<Answer>][] {
    const fails = () => {
      upstream.next({ status: 500 })
      return on.chat({}, { key })
    }
    return [
      [404, false, () => on.get('/v1/nothing', key)],
      [405, false, () => on.get('/v1/chat/completions', key)],
      [403, false, () => on.get('/v1/models', key)],
      [402, false, () => on.chat({}, { key: poor })],
      [200, true, () => on.chat({}, { key })],
      [200, true, () => on.chat({ stream: true }, { key })],
      [415, true, () => on.chat({}, { key, headers: { 'content-type': 'text/plain' } })],
      // Announced but not sent: the gateway would close the connection while the rest is still being written.
      [413, true, () => on.chat({}, { key, headers: { 'content-length': String(16 * 1024 * 1024 + 1) } })],
      [400, true, () => on.chat({ temperature: 9 }, { key })],
      [404, true, () => on.chat({ model: 'nobody' }, { key })],
      [502, true, fails],
      [404, false, () => on.get('/v1/nothing', key)],
    ]
  }
})
