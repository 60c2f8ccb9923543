// The operator's cost of a request: the serving target's cost at the operator's rate, on the row next to the caller's
// price, which does not depend on the target.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import type { Loose } from '../../support/http-call.ts'
import { standardConfig, standardModel } from '../../support/standard-config.ts'
import { nano, settledRow } from '../../support/usage.ts'

const usage = {
  prompt_tokens: 10_001,
  completion_tokens: 7,
  prompt_tokens_details: { cached_tokens: 301, cache_write_tokens: 98 },
}
const DEAR = {
  prompt: '0.000000100001',
  completion: '0.000000500003',
  input_cache_read: '0.000000010001',
  input_cache_write: '0.000000120001',
  request: '0.000000000003',
}
const CHEAP = { prompt: '0.000000000001', completion: '0' }
// In pico-dollars, times the rate in halves of a credit: 12.5 is 25 / 2.
const DEAR_COST = ceil((9602n * 100_001n + 301n * 10_001n + 98n * 120_001n + 7n * 500_003n + 3n) * 25n, 2000n)
const CHEAP_COST = ceil(10_001n * 25n, 2000n)
// At the standard prices of 2.5, 10 and (cached) 1.25 dollars per million: × 12.5 × 2.
const PAID = ((9602n + 98n) * 2500n + 301n * 1250n + 7n * 10_000n) * 25n

const targets = [
  { provider: 'up', model: 'dear', priority: 0, cost: DEAR },
  { provider: 'up2', model: 'cheap', priority: 1, cost: CHEAP },
  { provider: 'up2', model: 'silent', priority: 2 },
]
const { gateway, upstream } = await openFixture(url =>
  standardConfig(url, { credits_per_usd: 12.5, markup: '2', models: [standardModel({ targets })] }),
)
const caller = await gateway.createKey({ credits: '100' })

for (const stream of [false, true]) {
  const form = stream ? 'a stream' : 'a JSON answer'

  test(`${form}: the row has the exact cost of the serving target, and the caller pays the list price`, async () => {
    const served = [
      await rowOf(stream),
      await rowOf(stream, ['dear']),
      // Two 5xx answers would end the failover; an unknown model does not.
      await rowOf(stream, ['dear', 'cheap']),
    ]

    assert.deepEqual(
      served.map(row => (row.upstream_cost === null ? null : nano(row.upstream_cost))),
      [DEAR_COST, CHEAP_COST, null],
    )
    for (const row of served) assert.deepEqual([nano(row.cost), row.price], [PAID, served[0]?.price])
    assert.equal(new Set(served.map(row => row.price_version)).size, 1)
  })
}

test('without output the upstream cost is unknown', async () => {
  const row = await rowOf(false, ['dear', 'cheap', 'silent'])

  assert.deepEqual([row.outcome, row.cost, row.upstream_cost], ['upstream_failed', '0', null])
})

test('a caller that disconnects midway: the row has the upstream cost of its tokens', async () => {
  upstream.reset()
  upstream.next({ chunks: 100_000, chunkDelayMs: 30 })
  const stream = await gateway.openChat({}, { key: caller.secret })
  for (let i = 0; i < 5; i++) await stream.nextChunk()

  stream.abort()

  const row = await settledRow(gateway, stream.headers['x-request-id'])
  const tokens = BigInt(row.prompt_tokens) * 100_001n + BigInt(row.completion_tokens) * 500_003n
  assert.equal(row.outcome, 'client_left')
  assert.ok(row.completion_tokens > 0)
  assert.equal(nano((row as unknown as Loose).upstream_cost), ceil((tokens + 3n) * 25n, 2000n))
})

test('operators read it as JSON and CSV, a caller on its own row', async () => {
  const { request_id: id, upstream_cost: told } = await rowOf(false)

  const own = await gateway.get(`/v1/usage/${String(id)}`, caller.secret)
  const csv = await gateway.admin('GET', '/usage?limit=1', undefined, { accept: 'text/csv' })

  assert.equal(own.body.upstream_cost, told)
  const [names = [], values = []] = csv.text.split('\r\n').map(line => line.split(','))
  assert.equal(values[0], id)
  // Counted from the end: cells before it may contain commas, those after it do not.
  assert.equal(values.at(names.indexOf('upstream_cost') - names.length), told)
})

test('a changed target cost changes no price and applies from the next start', async () => {
  const before = await rowOf(false)
  const [dear, ...others] = targets

  const models = [standardModel({ targets: [{ ...dear, cost: CHEAP }, ...others] })]
  await gateway.writeConfig(standardConfig(upstream.url, { credits_per_usd: 12.5, markup: '2', models }))
  await gateway.restart()
  const row = await rowOf(false)

  assert.deepEqual([row.provider, nano(row.upstream_cost)], ['up', CHEAP_COST])
  assert.deepEqual([row.cost, row.price_version], [before.cost, before.price_version])
})

test('with show_upstream_cost: false only operators see it', async () => {
  const models = [standardModel({ targets })]
  await gateway.writeConfig(standardConfig(upstream.url, { models, show_upstream_cost: false }))
  await gateway.restart()
  const { request_id: id, upstream_cost: told } = await rowOf(false)

  const own = await gateway.get(`/v1/usage/${String(id)}`, caller.secret)
  const list = await gateway.get('/v1/usage?limit=1', caller.secret)

  assert.notEqual(told, null)
  const [first] = list.body.data as unknown as Loose[]
  assert.deepEqual([own.body.upstream_cost, first?.upstream_cost, first?.request_id], [null, null, id])
})

// A chat whose first targets refuse, and its row.
async function rowOf(stream: boolean, refusing: readonly string[] = []): Promise<Loose> {
  upstream.reset()
  for (const { model } of targets) upstream.script(refusing.includes(model) ? { status: 404 } : { usage }, model)
  const { headers } = await gateway.chat({ stream }, { key: caller.secret })
  return (await settledRow(gateway, headers['x-request-id'])) as unknown as Loose
}

function ceil(amount: bigint, by: bigint): bigint {
  return (amount + by - 1n) / by
}
