// Holds and costs: the formulas of contract section 8 to the last nano-credit, and the same number wherever a cost is
// reported.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import { standardConfig, standardModel } from '../../support/standard-config.ts'
import { chargedTo, nano, promptBound, settledRow } from '../../support/usage.ts'

const messages = [
  { role: 'system', content: 'Du bist höflich. 🙂' },
  { role: 'user', content: 'Say hello' },
]
// Prices in odd pico-credits, so that rounding shows; the most expensive of the three prompt prices is the cache
// write's.
const odd = {
  prompt: '0.000000123457',
  completion: '0.000000654321',
  input_cache_read: '0.000000012345',
  input_cache_write: '0.000000154321',
  request: '0.000100000001',
}
const PICO = { prompt: 123457n, completion: 654321n, read: 12345n, write: 154321n, request: 100_000_001n }

const { gateway, upstream } = await openFixture(url =>
  standardConfig(url, {
    models: [
      standardModel(),
      standardModel({ id: 'test/eyes', input_modalities: ['text', 'image'], media_max_tokens: 1500 }),
      standardModel({ id: 'test/odd', pricing: odd, targets: [{ provider: 'up', model: 'odd' }] }),
    ],
  }),
)
const caller = await gateway.createKey({ credits: '100' })

test('a hold is prompt bound times the highest prompt price, output bound times completion price times n, and the request price', async () => {
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]
  const response_format = { type: 'json_object' }
  const body = { model: 'test/odd', messages, max_tokens: 77, n: 3, tools, response_format }

  const answer = await gateway.chat(body, { key: caller.secret })

  const row = await settledRow(gateway, answer.headers['x-request-id'])
  const pico =
    BigInt(promptBound(messages, tools, response_format)) * PICO.write + 77n * 3n * PICO.completion + PICO.request
  assert.equal(nano(row.hold), ceil(pico))
})

test('an image counts the tokens that the model declares, however long its URL is', async () => {
  const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(20_000)}` } }
  const seen = [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, picture] }]

  const answer = await gateway.chat({ model: 'test/eyes', messages: seen, max_tokens: 10 }, { key: caller.secret })

  const row = await settledRow(gateway, answer.headers['x-request-id'])
  const bytes = Buffer.byteLength(JSON.stringify(seen)) - Buffer.byteLength(JSON.stringify(picture))
  assert.equal(nano(row.hold), BigInt(bytes + 16 + 1500) * 2500n + 10n * 10_000n)
})

test("without max_tokens the hold covers the model's maximum output", async () => {
  const answer = await gateway.chat({ messages }, { key: caller.secret })

  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.equal(nano(row.hold), BigInt(promptBound(messages)) * 2500n + 4096n * 10_000n)
  assert.equal(answer.headers['x-svc-output-cap'], undefined)
})

test('a cost is every token at its own price and the request price, rounded up once', async () => {
  upstream.next({
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 301, cache_write_tokens: 98 },
    },
  })

  const answer = await gateway.chat({ model: 'test/odd', messages }, { key: caller.secret })

  const pico = 601n * PICO.prompt + 301n * PICO.read + 98n * PICO.write + 7n * PICO.completion + PICO.request
  assert.notEqual(pico % 1000n, 0n)
  assert.equal(nano(answer.headers['x-svc-cost']), ceil(pico))
})

test('every choice of n is billed', async () => {
  const answer = await gateway.chat({ messages, n: 3, max_tokens: 10 }, { key: caller.secret })

  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.equal(row.completion_tokens, upstream.journal.at(-1)?.tokens.completion)
  assert.equal(row.completion_tokens, 30)
  assert.equal(nano(row.cost), BigInt(row.prompt_tokens) * 2500n + 30n * 10_000n)
})

test('header, body, row and ledger of a JSON answer name one cost', async () => {
  const answer = await gateway.chat({ model: 'test/odd', messages }, { key: caller.secret })

  const cost = answer.headers['x-svc-cost']
  assert.match(answer.text, new RegExp(`"cost":${String(cost).replace('.', '\\.')}[,}]`))
  await assertBooked(answer.headers['x-request-id'], cost)
})

test('trailer, usage chunk, row and ledger of a stream name one cost', async () => {
  const body = { model: 'test/odd', messages, stream_options: { include_usage: true } }

  const stream = await gateway.openChat(body, { key: caller.secret })
  const { raw } = await stream.rest()

  const cost = stream.trailers['x-svc-cost']
  assert.equal(stream.headers['x-svc-cost'], undefined)
  assert.match(String(stream.headers.trailer), /x-svc-cost/i)
  assert.match(raw, new RegExp(`"cost":${String(cost).replace('.', '\\.')}[,}]`))
  await assertBooked(stream.headers['x-request-id'], cost)
})

test('a row is already exact when [DONE] has arrived', async () => {
  const stream = await gateway.openChat({ messages }, { key: caller.secret })
  for (let chunk = await stream.nextChunk(); chunk !== undefined; chunk = await stream.nextChunk());

  const { body } = await gateway.get(`/v1/usage/${stream.headers['x-request-id']}`, caller.secret)

  assert.equal(body.state, 'settled')
  assert.ok(nano(body.cost) > 0n)
  assert.equal(body.cost, (await stream.rest()) && stream.trailers['x-svc-cost'])
})

async function assertBooked(requestId: unknown, cost: unknown): Promise<void> {
  const row = await settledRow(gateway, requestId)
  assert.equal(row.cost, cost)
  const rows = await gateway.admin<{ data: { cost: string }[] }>(
    'GET',
    `/usage?account_id=${caller.accountId}&limit=1000`,
  )
  assert.equal(
    await chargedTo(gateway, caller.accountId),
    rows.body.data.reduce((sum, each) => sum + nano(each.cost), 0n),
  )
}

function ceil(pico: bigint): bigint {
  return (pico + 999n) / 1000n
}
