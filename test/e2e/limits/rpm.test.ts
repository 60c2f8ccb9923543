// Requests per minute: a bucket that holds the limit and refills by a sixtieth of it per second, exact under any load,
// with headers that report its state and when to retry.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Pool } from 'undici'
import { withBounds } from '../../support/bounds.ts'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import { assertRefusal } from '../../support/refusal.ts'
import { until } from '../../support/until.ts'
import { startUpstream } from '../../support/upstream.ts'

test('a key gets exactly its requests per minute', async t => {
  await using upstream = await startUpstream()
  // Refusals beyond ten a second share rows, which are written once a minute by default.
  const bounds = withBounds({ refusalsCountedForMs: 500 })
  await using gateway = await startGateway({ config: standardConfig(upstream.url), ...bounds })

  for (const limit of [1, 40, 250]) {
    await t.test(
      `of 600 requests at once with a limit of ${limit}, the limit and its refill are admitted`,
      async () => {
        const { secret, id } = await gateway.createKey({ rpm_limit: limit })
        const pool = new Pool(gateway.url, { connections: 24, pipelining: 4 })
        const headers = { authorization: `Bearer ${secret}` }

        const startedAt = performance.now()
        const statuses = await Promise.all(
          Array.from({ length: 600 }, async (_, i) => {
            const path = i % 2 === 0 ? '/v1/models' : '/v1/key/introspect'
            const { statusCode, body } = await pool.request({ path, method: 'GET', headers })
            await body.dump()
            return statusCode
          }),
        )
        const seconds = (performance.now() - startedAt) / 1000
        await pool.close()

        const admitted = statuses.filter(status => status === 200).length
        assert.ok(statuses.every(status => status === 200 || status === 429))
        assert.ok(admitted >= limit && admitted <= limit + (limit * seconds) / 60, `${admitted} in ${seconds} s`)
        await assertRows(id, { 200: admitted, 429: 600 - admitted })
      },
    )
  }

  await t.test('every answer reports the state of the bucket', async () => {
    const { secret } = await gateway.createKey({ rpm_limit: 3, daily_limit: null })

    for (const remaining of [2, 1, 0]) {
      const { headers } = await gateway.get('/v1/models', secret)

      assert.equal(headers['ratelimit-policy'], '"rpm";q=3;w=60')
      assert.deepEqual([headers['ratelimit-limit'], headers['ratelimit-remaining']], ['3', String(remaining)])
      // Twenty seconds per token, until all used tokens are back.
      const reset = Number(headers['ratelimit-reset'])
      assert.ok(reset <= (3 - remaining) * 20 && reset > (3 - remaining) * 20 - 15, `${reset}`)
    }
  })

  await t.test('an empty bucket is a 429 with Retry-After', async () => {
    const { secret } = await gateway.createKey({ rpm_limit: 3 })
    for (let i = 0; i < 3; i++) await gateway.get('/v1/models', secret)

    const refused = await gateway.chat({}, { key: secret })

    const error = assertRefusal(refused, 'rate_limit_exceeded')
    assert.equal(error.metadata?.limit, 'rpm')
    const wait = Number(refused.headers['retry-after'])
    assert.ok(wait <= 20 && wait > 5, `${wait}`)
    assert.deepEqual([refused.headers['ratelimit-limit'], refused.headers['ratelimit-remaining']], ['3', '0'])
  })

  await t.test('a retry after Retry-After is served', async () => {
    const { secret } = await gateway.createKey({ rpm_limit: 60 })
    let refused = await gateway.get('/v1/models', secret)
    while (refused.status === 200) refused = await gateway.get('/v1/models', secret)

    await setTimeout(Number(refused.headers['retry-after-ms']) + 5)
    const served = await gateway.get('/v1/models', secret)

    assert.equal(refused.status, 429)
    assert.equal(served.status, 200)
  })

  await t.test(
    'requests refused before the limit or for credits take no token; those refused after it do',
    async () => {
      const poor = await gateway.createKey({ credits: '0', rpm_limit: 2, scopes: ['chat.completions'] })
      const call = (body?: object) => gateway.chat(body, { key: poor.secret })

      for (let i = 0; i < 4; i++) {
        assertRefusal(await gateway.get('/v1/nothing', poor.secret), 'not_found')
        assertRefusal(await gateway.get('/v1/chat/completions', poor.secret), 'method_not_allowed')
        assertRefusal(await gateway.get('/v1/models', poor.secret), 'insufficient_scope')
        assertRefusal(await call(), 'insufficient_credits')
      }
      assertRefusal(await call({ messages: [] }), 'invalid_value', 'messages')
      assertRefusal(await call({ model: 'nobody' }), 'model_not_found', 'model')

      assertRefusal(await call(), 'rate_limit_exceeded')
    },
  )

  assert.ok((await gateway.audit()).ok)

  // Refusals are written in the background, so their rows may appear a moment later.
  async function assertRows(keyId: string, expected: Readonly<Record<number, number>>): Promise<void> {
    const count = async () => {
      const { body } = await gateway.admin<{ data: { http_status: number; requests: number }[] }>(
        'GET',
        `/usage?endpoint=all&limit=1000&key_id=${keyId}`,
      )
      const groups = Object.entries(Object.groupBy(body.data, row => row.http_status))
      const sum = (rows: typeof body.data = []) => rows.reduce((all, { requests }) => all + requests, 0)
      return Object.fromEntries(groups.map(([status, rows]) => [status, sum(rows)]))
    }
    await until('all rows are written', async () => Object.values(await count()).reduce((a, b) => a + b, 0) === 600)
    assert.deepEqual(await count(), Object.fromEntries(Object.entries(expected).filter(([, rows]) => rows > 0)))
  }
})
