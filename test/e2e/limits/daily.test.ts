// The daily limit: counted in the transaction that writes the request's row, so it is exact under any load and survives
// kill -9; a refused request returns its rpm token.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type Gateway, standardConfig, startGateway } from '../../support/gateway.ts'
import { assertRefusal } from '../../support/refusal.ts'
import { until } from '../../support/until.ts'
import { startUpstream } from '../../support/upstream.ts'

const DAY = 86_400_000

test('a key gets exactly its daily limit', async t => {
  await awayFromMidnight()
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })

  await t.test('the limit is exact under concurrency on every endpoint', async () => {
    const { secret } = await gateway.createKey({ daily_limit: 25, rpm_limit: 10_000 })

    const statuses = await Promise.all(Array.from({ length: 90 }, (_, i) => any(gateway, secret, i)))

    assert.equal(statuses.filter(status => status === 200).length, 25)
    assert.equal(statuses.filter(status => status === 429).length, 65)
  })

  await t.test('past the limit the answer is a 429 with Retry-After until midnight', async () => {
    const { secret } = await gateway.createKey({ daily_limit: 1 })
    await gateway.get('/v1/models', secret)

    const refused = await gateway.chat({}, { key: secret })

    const error = assertRefusal(refused, 'daily_limit_exceeded')
    const midnight = Math.ceil((DAY - (Date.now() % DAY)) / 1000)
    assert.equal(error.metadata?.limit, 'daily')
    assert.equal(refused.headers['x-should-retry'], 'false')
    assert.ok(Math.abs(Number(refused.headers['retry-after']) - midnight) < 20)
    assert.deepEqual([refused.headers['ratelimit-limit'], refused.headers['ratelimit-remaining']], ['1', '0'])
    assert.equal(refused.headers['ratelimit-reset'], refused.headers['retry-after'])
  })

  await t.test('a refused request returns its rpm token', async () => {
    const { secret, id } = await gateway.createKey({ daily_limit: 1, rpm_limit: 3 })
    await gateway.get('/v1/models', secret)

    for (let i = 0; i < 10; i++) assertRefusal(await gateway.get('/v1/models', secret), 'daily_limit_exceeded')
    await gateway.admin('PATCH', `/keys/${id}`, { daily_limit: 3 })

    assert.equal((await gateway.get('/v1/models', secret)).status, 200)
    assert.equal((await gateway.get('/v1/models', secret)).status, 200)
  })

  await t.test(
    'requests refused before the limit or for credits are not counted; those refused after it are',
    async () => {
      const { secret } = await gateway.createKey({ credits: '0', daily_limit: 3, scopes: ['chat.completions'] })
      for (let i = 0; i < 4; i++) {
        assertRefusal(await gateway.get('/v1/nothing', secret), 'not_found')
        assertRefusal(await gateway.get('/v1/models', secret), 'insufficient_scope')
        assertRefusal(await gateway.chat({}, { key: secret }), 'insufficient_credits')
      }
      assertRefusal(await gateway.chat({ model: 'nobody' }, { key: secret }), 'model_not_found', 'model')
      assertRefusal(await gateway.chat({ messages: [] }, { key: secret }), 'invalid_value', 'messages')

      const { body } = await gateway.get('/v1/key/introspect', secret)

      const { resets_at, ...daily } = (body.limits?.daily ?? {}) as Record<string, unknown>
      assert.deepEqual(daily, { limit: 3, used: 3, remaining: 0 })
      assert.equal(Date.parse(String(resets_at)), Math.ceil(Date.now() / DAY) * DAY)
    },
  )

  await t.test('kill -9 under load loses no count and counts nothing twice', async () => {
    const { secret, id } = await gateway.createKey({ daily_limit: 120, rpm_limit: 10_000, max_concurrent: 1000 })

    let served = 0
    const doomed = Promise.allSettled(
      Array.from({ length: 12 }, async (_, i) => {
        while ((await any(gateway, secret, i++)) === 200) served += 1
      }),
    )
    await until('some are served', () => served > 30)
    await gateway.kill()
    await doomed
    await gateway.restart()
    const { body: before } = await gateway.get('/v1/key/introspect', secret)
    const after = await Promise.all(Array.from({ length: 200 }, (_, i) => any(gateway, secret, i)))

    const usedBefore = Number(before.limits?.daily?.used) - 1
    assert.ok(usedBefore >= served && usedBefore <= served + 12, `${usedBefore} counted, ${served} served`)
    assert.equal(after.filter(status => status === 200).length, 120 - usedBefore - 1)
    const { body: rows } = await gateway.admin<{ data: { error_code: string | null }[] }>(
      'GET',
      `/usage?endpoint=all&limit=1000&key_id=${id}`,
    )
    assert.equal(rows.data.filter(row => row.error_code !== 'daily_limit_exceeded').length, 120)
  })

  await t.test('an operator can reset the day; it applies to the next request', async () => {
    const { secret, id } = await gateway.createKey({ daily_limit: 2 })
    const before = [await any(gateway, secret, 1), await any(gateway, secret, 2), await any(gateway, secret, 1)]

    const reset = await gateway.admin('POST', `/keys/${id}/reset-day`, {})

    const after = [await any(gateway, secret, 1), await any(gateway, secret, 2), await any(gateway, secret, 1)]
    assert.deepEqual([before, reset.status, after], [[200, 200, 429], 200, [200, 200, 429]])
    const { body } = await gateway.admin<{ data: { action: string }[] }>('GET', `/events?subject=${id}&limit=1`)
    assert.equal(body.data[0]?.action, 'key.reset_day')
    assert.equal((await gateway.admin('POST', '/keys/key_nobody/reset-day', {})).status, 404)
  })

  assert.ok((await gateway.audit()).ok)
})

async function any(gateway: Gateway, key: string, i: number): Promise<number> {
  const answer = await (i % 3 === 0
    ? gateway.chat({ max_tokens: 2 }, { key })
    : gateway.get(i % 3 === 1 ? '/v1/models' : '/v1/key/introspect', key))
  return answer.status
}

// The day must not end in the middle of the test.
async function awayFromMidnight(): Promise<void> {
  const left = DAY - (Date.now() % DAY)
  if (left < 60_000) await setTimeout(left + 100)
}
