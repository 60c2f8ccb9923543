// A request for embeddings lives like a chat: limits, a caller that leaves, failures in the middle of several calls, and a crash.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { withBounds } from '../../support/bounds.ts'
import { startEmbeddingVendor } from '../../support/embedding-vendor.ts'
import { startGateway } from '../../support/gateway.ts'
import { httpCall } from '../../support/http-call.ts'
import { until } from '../../support/until.ts'
import { balanceOf, nano, settledRow } from '../../support/usage.ts'

const vendor = await startEmbeddingVendor()
const other = await startEmbeddingVendor()
const embedding = (id: string, targets: readonly object[]) => ({
  id,
  type: 'embedding',
  context_length: 8192,
  dimensions: 8,
  pricing: { prompt: '0.00000002' },
  targets,
})
const gateway = await startGateway({
  // The rows of a killed node are recovered when its lease has ended.
  ...withBounds({ nodeLeaseMs: 3000, sweepEveryMs: 300 }),
  config: {
    providers: [
      { id: 'bedrock', kind: 'bedrock', region: 'us-east-1', base_url: vendor.origin, api_key: 'AKIA:secret' },
      { id: 'openai', kind: 'openai', base_url: `${other.origin}/v1`, api_key: 'k' },
    ],
    models: [
      ...['one', 'left', 'killed', 'limited'].map(id => embedding(id, [{ provider: 'openai', model: id }])),
      embedding('many', [
        { provider: 'bedrock', model: 'amazon.titan-embed-text-v2:0' },
        { provider: 'openai', model: 'many', priority: 1 },
      ]),
    ],
  },
})
after(async () => {
  const { ok, output } = await gateway.audit()
  await gateway[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
  assert.ok(ok, `the audit found: ${JSON.stringify(output)}`)
})
const caller = await gateway.createKey({ credits: '100' })
const input = Array.from({ length: 30 }, (_, at) => 'word '.repeat(at + 1))

function embed(body: object, key = caller.secret, signal?: AbortSignal) {
  return httpCall(`${gateway.url}/v1/embeddings`, {
    body,
    headers: { authorization: `Bearer ${key}` },
    ...(signal === undefined ? {} : { signal }),
  })
}

test('keys, scopes, limits and credits are refused with the status and code of a chat', async () => {
  const body = { model: 'one', input: 'Hello' }
  const revoked = await gateway.createKey()
  await gateway.admin('POST', `/keys/${revoked.id}/revoke`, {})
  const blind = await gateway.createKey({ scopes: ['chat.completions', 'models.read'] })
  const spent = await gateway.createKey({ rpm_limit: 1 })
  const poor = await gateway.createKey({ credits: '0' })
  await gateway.get('/v1/models', spent.secret)

  const refusals = [
    await embed(body, revoked.secret),
    await embed(body, blind.secret),
    await embed(body, spent.secret),
    await embed(body, poor.secret),
    await embed({ ...body, model: 'none' }),
    await httpCall(`${gateway.url}/v1/embeddings`, { headers: { authorization: `Bearer ${caller.secret}` } }),
    await httpCall(`${gateway.url}/v1/embeddings`, {
      body: '{',
      headers: { authorization: `Bearer ${caller.secret}` },
    }),
  ]

  assert.deepEqual(
    refusals.map(answer => [answer.status, answer.body.error?.code]),
    [
      [401, 'invalid_api_key'],
      [403, 'insufficient_scope'],
      [429, 'rate_limit_exceeded'],
      [402, 'insufficient_credits'],
      [404, 'model_not_found'],
      [405, 'method_not_allowed'],
      [400, 'invalid_json'],
    ],
  )
})

test('a failure in the middle of several calls ends all of them, and the next provider embeds everything', async () => {
  vendor.calls.length = other.calls.length = 0
  vendor.delayMs = 20
  vendor.statuses.push(200, 200, 200, 500)

  const answer = await embed({ model: 'many', input })

  vendor.delayMs = 0
  assert.deepEqual([answer.status, answer.headers['x-svc-provider']], [200, 'openai'])
  assert.equal((answer.body.data as unknown as unknown[]).length, 30)
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
  const left = embed({ model: 'left', input }, own.secret, leaving.signal).catch(() => undefined)
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
  const cut = embed({ model: 'killed', input }, own.secret).catch(() => undefined)
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
