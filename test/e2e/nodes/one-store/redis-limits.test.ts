// Requests per minute over several nodes and one Redis: exact on every node, with headers that include the others, also
// through a flush under load.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { Pool } from 'undici'
import { withBounds } from '../../../support/bounds.ts'
import type { Gateway } from '../../../support/gateway.ts'
import type { Answer } from '../../../support/http-call.ts'
import { hasPostgres } from '../../../support/postgres.ts'
import { hasRedis } from '../../../support/redis.ts'
import { startRedisNodes } from '../../../support/redis-nodes.ts'
import { assertRefusal } from '../../../support/refusal.ts'

if (hasPostgres() && hasRedis()) {
  test('four nodes share one limit', async t => {
    // On a machine busy with tests a response may take longer than the product's timeout.
    await using fixture = await startRedisNodes(4, withBounds({ redisCommandMsMax: 60_000 }))
    const { nodes, redis } = fixture
    const [a, b] = nodes as [Gateway, Gateway]

    await t.test('of 1,000 requests on all nodes no more than the limit and its refill are admitted', async () => {
      const limit = 100
      const key = await a.createKey({ rpm_limit: limit, daily_limit: null, max_concurrent: 1000 })

      const startedAt = performance.now()
      const statuses = (await Promise.all(nodes.map(node => hammer(node, key.secret, 250)))).flat()
      const seconds = (performance.now() - startedAt) / 1000

      const admitted = statuses.filter(status => status === 200).length
      assert.ok(statuses.every(status => status === 200 || status === 429))
      assert.ok(admitted >= limit && admitted <= limit + (limit * seconds) / 60, `${admitted} in ${seconds} s`)
      await a.admin('PATCH', `/keys/${key.id}`, { rpm_limit: 100_000 })
      const { body } = await b.get<Introspection>('/v1/key/introspect', key.secret)
      assert.equal(body.limits.daily.used, admitted + 1)
    })

    await t.test('each answer includes what was used on other nodes', async () => {
      const key = await a.createKey({ rpm_limit: 10, daily_limit: null, scopes: ['models.read'] })
      const remaining = (answer: Pick<Answer, 'headers'>) =>
        [answer.headers['ratelimit-limit'], answer.headers['ratelimit-remaining']].join()

      const answers = []
      for (const node of nodes) answers.push(await node.get('/v1/models', key.secret))
      const [noScope, noPath] = [
        await b.get('/v1/chat/completions', key.secret),
        await a.get('/v1/nothing', key.secret),
      ]
      const introspection = await a.get<Introspection>('/v1/key/introspect', key.secret)

      assert.deepEqual(answers.map(remaining), ['10,9', '10,8', '10,7', '10,6'])
      assert.deepEqual([noScope.status, noPath.status], [405, 404])
      assert.deepEqual([remaining(noScope), remaining(noPath)], ['10,6', '10,6'])
      assert.deepEqual([remaining(introspection), introspection.body.limits.rpm.remaining], ['10,5', 5])
    })

    await t.test(
      'an empty bucket refuses on every node, and a retry after Retry-After is served on another',
      async () => {
        // A token in three seconds: on a busy machine the next request may take one.
        const key = await a.createKey({ rpm_limit: 20 })
        let refused = await a.get('/v1/models', key.secret)
        while (refused.status === 200) refused = await a.get('/v1/models', key.secret)
        assertRefusal(refused, 'rate_limit_exceeded')
        const elsewhere = await b.get('/v1/models', key.secret)
        assertRefusal(elsewhere, 'rate_limit_exceeded')
        assert.deepEqual([elsewhere.headers['ratelimit-limit'], elsewhere.headers['ratelimit-remaining']], ['20', '0'])
        const reset = Number(elsewhere.headers['ratelimit-reset'])
        assert.ok(reset >= 55 && reset <= 60, `${reset}`)

        await setTimeout(Number(elsewhere.headers['retry-after-ms']) + 10)

        assert.equal((await (nodes[2] as Gateway).get('/v1/models', key.secret)).status, 200)
      },
    )

    await t.test(
      'requests refused for credits, daily limit or concurrency return their token for all nodes',
      async () => {
        const poor = await a.createKey({ credits: '0', rpm_limit: 5, daily_limit: 1 })
        for (let i = 0; i < 6; i++) {
          assertRefusal(await (nodes[i % 4] as Gateway).chat({}, { key: poor.secret }), 'insufficient_credits')
        }
        assert.equal((await a.get('/v1/models', poor.secret)).status, 200)
        for (let i = 0; i < 6; i++) {
          assertRefusal(await (nodes[i % 4] as Gateway).get('/v1/models', poor.secret), 'daily_limit_exceeded')
        }
        await a.admin('PATCH', `/keys/${poor.id}`, { daily_limit: null })

        assert.equal((await b.get('/v1/models', poor.secret)).headers['ratelimit-remaining'], '3')
      },
    )

    await t.test('a changed limit keeps what was used on all nodes, and an old record does not revert it', async () => {
      const key = await a.createKey({ rpm_limit: 10, daily_limit: null })
      for (const node of nodes) await node.get('/v1/models', key.secret)

      await a.admin('PATCH', `/keys/${key.id}`, { rpm_limit: 20 })
      const raised = await b.get('/v1/models', key.secret)
      await a.admin('PATCH', `/keys/${key.id}`, { rpm_limit: 6 })
      const lowered = await b.get('/v1/models', key.secret)

      const figures = [raised, lowered].map(({ headers }) => [
        headers['ratelimit-limit'],
        headers['ratelimit-remaining'],
      ])
      assert.deepEqual(figures, [
        ['20', '15'],
        ['6', '0'],
      ])
    })

    await t.test('the limits of a restored database apply, although Redis has newer ones', async () => {
      const key = await a.createKey({ rpm_limit: 5, daily_limit: null })
      await a.admin('PATCH', `/keys/${key.id}`, { rpm_limit: 20 })
      const startedAt = performance.now()
      for (const node of nodes) assert.equal((await node.get('/v1/models', key.secret)).status, 200)

      await restored(`UPDATE api_key SET rpm_limit = 5, version = 1 WHERE id = '${key.id}'`, fixture.url)
      const answers = []
      for (let i = 0; i < 12; i++) answers.push(await nodes[i % nodes.length]!.get('/v1/models', key.secret))
      const refilled = Math.ceil((20 * (performance.now() - startedAt)) / 60_000)
      await a.admin('PATCH', `/keys/${key.id}`, { rpm_limit: 200 })
      const changed = await b.get('/v1/models', key.secret)

      const served = answers.filter(({ status }) => status === 200).length
      assert.ok(served <= 1 + refilled, `${served} were served, with one token left and ${refilled} refilled`)
      assert.ok(served >= 1 && served < answers.length)
      assert.deepEqual([changed.status, changed.headers['ratelimit-limit']], [200, '200'])
    })

    await t.test('after a change the bucket refills at the new rate on all nodes', async () => {
      const key = await a.createKey({ rpm_limit: 600, daily_limit: null })
      const startedAt = performance.now()
      await Promise.all(Array.from({ length: 20 }, (_, i) => nodes[i % nodes.length]!.get('/v1/models', key.secret)))
      await a.admin('PATCH', `/keys/${key.id}`, { rpm_limit: 24 })
      const seconds = (performance.now() - startedAt) / 1000

      await setTimeout(1500)
      const { headers } = await b.get('/v1/models', key.secret)

      const most = 24 - 20 + 10 * seconds + 1.5 / 2.5
      assert.ok(Number(headers['ratelimit-remaining']) < most, `${headers['ratelimit-remaining']} of ${most}`)
    })

    await t.test('a flush under load: no 401, no 5xx, no stampede on SQL, and the bucket starts full', async () => {
      const key = await a.createKey({ rpm_limit: 1_000_000, daily_limit: null, max_concurrent: 1000 })
      const small = await a.createKey({ rpm_limit: 4, daily_limit: null })
      for (const node of nodes) for (const { secret } of [key, small]) await node.get('/v1/models', secret)
      const before = await misses(nodes)

      const load = nodes.map(node => hammer(node, key.secret, 500))
      for (let i = 0; i < 5; i++) {
        await redis.command('FLUSHALL')
        await redis.command('SCRIPT', 'FLUSH')
        await setTimeout(50)
      }
      const statuses = (await Promise.all(load)).flat()

      assert.deepEqual([...new Set(statuses)], [200])
      assert.equal((await misses(nodes)) - before, 0)
      assert.equal((await a.get('/v1/models', small.secret)).headers['ratelimit-remaining'], '3')
    })

    await t.test('Redis holds key ids and numbers, no secret and no hash, and everything expires', async () => {
      const names = (await redis.command('KEYS', '*')) as string[]

      assert.ok(names.length > 0)
      for (const name of names) {
        assert.match(name, /^turnpike:rpm:(key_[0-9a-f]{32}|probe)$/)
        assert.match(String(await redis.command('GET', name)), /^[\d.e+-]+ \d+ \d+ [\d.]+$/)
        assert.ok(Number(await redis.command('PTTL', name)) > 0)
      }
    })

    assert.ok((await a.audit()).ok)
  })
}

type Introspection = {
  readonly limits: { readonly rpm: { readonly remaining: number }; readonly daily: { readonly used: number } }
}

async function hammer(node: Gateway, secret: string, times: number): Promise<number[]> {
  const pool = new Pool(node.url, { connections: 16, pipelining: 2 })
  const headers = { authorization: `Bearer ${secret}` }
  const statuses = await Promise.all(
    Array.from({ length: times }, async () => {
      const { statusCode, body } = await pool.request({ path: '/v1/models', method: 'GET', headers })
      await body.dump()
      return statusCode
    }),
  )
  await pool.close()
  return statuses
}

async function misses(nodes: readonly Gateway[]): Promise<number> {
  let sum = 0
  for (const node of nodes) {
    const { text } = await node.get('/metrics')
    sum += Number(/^turnpike_key_cache_total\{result="miss"\} (\d+)/m.exec(text)?.[1])
  }
  return sum
}

// Like a restored backup.
async function restored(statement: string, url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}
