// A request for embeddings lives like a chat: a limited provider, a caller that leaves, failures in the middle of several calls, and a crash.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withBounds } from '../../support/bounds.ts'
import { openEmbeddingFixture } from '../../support/embedding-fixture.ts'
import { embeddingModel } from '../../support/standard-config.ts'
import { until } from '../../support/until.ts'
import { balanceOf, nano, settledRow } from '../../support/usage.ts'

const config = (vendor: string, other: string) => ({
  providers: [
    { id: 'bedrock', kind: 'bedrock', region: 'us-east-1', base_url: vendor, api_key: 'AKIA:secret' },
    { id: 'openai', kind: 'openai', base_url: `${other}/v1`, api_key: 'k' },
  ],
  models: [
    ...['one', 'left', 'killed', 'limited'].map(id =>
      embeddingModel({ id, targets: [{ provider: 'openai', model: id }] }),
    ),
    embeddingModel({ id: 'split', targets: [{ provider: 'bedrock', model: 'amazon.titan-embed-text-v2:0' }] }),
    embeddingModel({ id: 'large', targets: [{ provider: 'openai', model: 'large' }] }),
    embeddingModel({
      id: 'many',
      targets: [
        { provider: 'bedrock', model: 'amazon.titan-embed-text-v2:0' },
        { provider: 'openai', model: 'many', priority: 1 },
      ],
    }),
  ],
})
// The rows of a killed node are recovered when its lease has ended.
const { gateway, vendor, other, embed } = await openEmbeddingFixture(
  config,
  withBounds({ nodeLeaseMs: 3000, sweepEveryMs: 300 }),
)
// Two calls, by the limit of tokens.
const LARGE = Array.from({ length: 500 }, () => 'y'.repeat(1000))
const input = Array.from({ length: 30 }, (_, at) => 'word '.repeat(at + 1))

test('a failure in the middle of several calls ends all of them, and the next provider embeds everything', async () => {
  vendor.calls.length = other.calls.length = 0
  vendor.delayMs = 20
  vendor.statuses.push(200, 200, 200, 500)

  const answer = await embed({ model: 'many', input })

  vendor.delayMs = 0
  assert.deepEqual([answer.status, answer.headers['x-svc-provider']], [200, 'openai'])
  assert.equal(answer.body.data.length, 30)
  assert.deepEqual(
    other.calls.map(({ inputs }) => inputs.length),
    [30],
  )
  assert.ok(vendor.calls.length <= 12, `${vendor.calls.length} calls were made after the failure`)
  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.deepEqual(
    row.attempts.map(({ provider }) => provider),
    ['bedrock', 'openai'],
  )
})

for (const model of ['split', 'large']) {
  test(`${model}: a provider that fails in the middle of several calls, without another one, costs nothing`, async () => {
    const called = model === 'split' ? vendor : other
    called.calls.length = 0
    called.delayMs = 20
    called.statuses.push(200, 500)

    const answer = await embed({ model, input: model === 'split' ? input : LARGE })

    called.delayMs = 0
    assert.deepEqual([answer.status, answer.headers['x-svc-cost']], [502, '0'], answer.text)
    assert.ok(called.calls.length >= 2)
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.deepEqual([row.outcome, row.cost, row.attempts.length], ['upstream_failed', '0', 1])
  })
}

test('a limited provider is a 503 with the time to wait, and costs nothing', async () => {
  other.statuses.push(429)

  const answer = await embed({ model: 'limited', input: 'Hello' })

  assert.deepEqual([answer.status, answer.body.error?.code], [503, 'provider_unavailable'])
  assert.ok(Number(answer.headers['retry-after']) >= 1)
  assert.equal((await settledRow(gateway, answer.headers['x-request-id'])).cost, '0')
})

test('a caller that leaves pays for the input, by the count of the provider', async () => {
  const own = await gateway.createKey({ credits: '10' })
  other.calls.length = 0
  other.delayMs = 400
  const leaving = new AbortController()
  const left = embed({ model: 'left', input }, { key: own.secret, signal: leaving.signal }).catch(() => undefined)
  await until('the provider was called', () => other.calls.length > 0)

  leaving.abort()
  await left

  const rows = async () =>
    (await gateway.get(`/v1/usage?endpoint=embeddings`, own.secret)).body.data as unknown as Row[]
  await until('the row is settled', async () => (await rows())[0]?.state === 'settled')
  other.delayMs = 0
  const [row] = await rows()
  assert.deepEqual([row?.outcome, row?.usage_source], ['client_left', 'upstream'])
  assert.equal((await balanceOf(gateway, own.accountId)).spent, row?.cost)
  assert.ok(nano(row?.cost ?? '0') > 0n)
})

test('after kill -9 a request that was running is recovered at its checkpoint, and its hold is released', async () => {
  const own = await gateway.createKey({ credits: '10' })
  other.calls.length = 0
  other.delayMs = 60_000
  const cut = embed({ model: 'killed', input }, { key: own.secret }).catch(() => undefined)
  await until('the provider was called', () => other.calls.length > 0)
  // The first checkpoint is written after a second.
  await new Promise(resolve => setTimeout(resolve, 2500))

  await gateway.kill()
  await cut
  other.delayMs = 0
  await gateway.restart()

  const rows = async () =>
    (await gateway.get(`/v1/usage?endpoint=embeddings`, own.secret)).body.data as unknown as Row[]
  // A gateway that has just started may not have its store yet, and answers 503.
  await until('the row is recovered', async () => (await rows())?.[0]?.state === 'recovered', 20_000)
  const [row] = await rows()
  const { held, spent } = await balanceOf(gateway, own.accountId)
  assert.deepEqual([held, spent], ['0', row?.cost])
  assert.ok(nano(row?.cost ?? '0') > 0n)
})

type Row = { readonly state: string; readonly outcome: string; readonly cost: string; readonly usage_source: string }
