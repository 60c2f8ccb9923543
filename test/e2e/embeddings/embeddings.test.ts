// POST /v1/embeddings on five kinds of providers: the same vectors, one row and one charge, whatever the number of calls that the
// provider's limits require.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openEmbeddingFixture } from '../../support/embedding-fixture.ts'
import { base64Of, tokensOf, vectorOf } from '../../support/embedding-vendor.ts'
import type { Loose } from '../../support/http-call.ts'
import { embeddingModel, standardModel } from '../../support/standard-config.ts'
import { nano, settledRow } from '../../support/usage.ts'

const PRICE = 20_000n
const embedding = (id: string, provider: string, model: string, more: object = {}) =>
  embeddingModel({ id, targets: [{ provider, model }], ...more })
const {
  gateway,
  vendor,
  caller,
  embed: send,
} = await openEmbeddingFixture((origin, other) => ({
  providers: [
    { id: 'openai', kind: 'openai', base_url: `${origin}/v1`, api_key: 'k' },
    { id: 'second', kind: 'openai', base_url: `${other}/v1`, api_key: 'k' },
    { id: 'google', kind: 'google', base_url: `${origin}/v1beta`, api_key: 'k' },
    { id: 'vertex', kind: 'vertex', base_url: `${origin}/v1/publishers/google`, api_key: 'k' },
    { id: 'bedrock', kind: 'bedrock', region: 'us-east-1', base_url: origin, api_key: 'AKIA:secret' },
    { id: 'cohere', kind: 'cohere', base_url: `${origin}/v2`, api_key: 'k' },
  ],
  models: [
    standardModel({ targets: [{ provider: 'openai', model: 'chat' }] }),
    embedding('openai', 'openai', 'text-embedding-3-small'),
    embedding('resizable', 'openai', 'text-embedding-3-large', { dimensions: 16, dimensions_min: 2 }),
    embedding('google', 'google', 'gemini-embedding-001', { dimensions_min: 4 }),
    embedding('vertex', 'vertex', 'text-embedding-005', { dimensions_min: 4 }),
    embedding('vertex-gemini', 'vertex', 'gemini-embedding-001'),
    embedding('bedrock', 'bedrock', 'amazon.titan-embed-text-v2:0'),
    embedding('cohere', 'cohere', 'embed-v4.0'),
    // One for each odd answer, so that no circuit breaker opens.
    ...Array.from({ length: 14 }, (_, at) => embedding(`odd-${at}`, 'openai', `odd-${at}`)),
    embedding('two', 'openai', 'a', {
      targets: [
        { provider: 'openai', model: 'a' },
        { provider: 'second', model: 'b', priority: 1 },
      ],
    }),
  ],
}))

function embed(body: object, key?: string) {
  vendor.calls.length = 0
  return send(body, key === undefined ? {} : { key })
}

const words = (count: number) => Array.from({ length: count }, (_, at) => 'x'.repeat((at % 300) + 1))

// The number of inputs that the vendor takes at once, and whether it reports usage.
const KINDS = [
  { model: 'openai', max: 2048 },
  { model: 'google', max: 100, isCounted: false },
  { model: 'vertex', max: 250 },
  { model: 'vertex-gemini', max: 1 },
  { model: 'bedrock', max: 1 },
  { model: 'cohere', max: 96 },
]

for (const { model, max, isCounted = true } of KINDS) {
  for (const encoding_format of ['float', 'base64']) {
    test(`${model}: one text has its vector as ${encoding_format}, at its price`, async () => {
      const answer = await embed({ model, input: 'hello world', encoding_format })

      assert.equal(answer.status, 200, answer.text)
      const vector = vectorOf('hello world', 8)
      const { body } = answer
      assert.deepEqual(body.data, [
        { object: 'embedding', index: 0, embedding: encoding_format === 'float' ? vector : base64Of(vector) },
      ])
      assert.deepEqual([body.object, body.model], ['list', model])
      const row = await settledRow(gateway, answer.headers['x-request-id'])
      const cost = (BigInt(body.usage.prompt_tokens as unknown as number) * PRICE + 999n) / 1000n
      assert.deepEqual(
        [
          (row as unknown as Loose).endpoint,
          row.outcome,
          row.finish_reason,
          row.completion_tokens,
          row.usage_source,
          nano(row.cost),
        ],
        ['embeddings', 'completed', null, 0, isCounted ? 'upstream' : 'estimate', cost],
      )
      assert.equal(answer.headers['x-svc-cost'], row.cost)
      assert.equal(Number(row.cost), body.usage.cost)
      assert.equal(body.usage.total_tokens, row.prompt_tokens)
      assert.equal(answer.headers['x-svc-provider'], model.replace('-gemini', ''))
    })
  }

  test(`${model}: three hundred inputs keep their order, and are one row and one charge`, async () => {
    const input = words(300)

    const answer = await embed({ model, input })

    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(
      answer.body.data.map(({ index, embedding: vector }) => [index, vector]),
      input.map((text, at) => [at, vectorOf(text, 8)]),
    )
    assert.ok(vendor.calls.every(({ inputs }) => inputs.length <= max))
    assert.equal(
      vendor.calls.reduce((sum, { inputs }) => sum + inputs.length, 0),
      300,
    )
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    if (isCounted) assert.equal(row.prompt_tokens, tokensOf(input))
    assert.equal((row.attempts as unknown as unknown[]).length, 1)
    assert.equal(Number(row.cost), answer.body.usage.cost)
  })
}

test('at most eight calls of one request run at once', async () => {
  vendor.atOnceMax = 0
  vendor.delayMs = 10

  const answer = await embed({ model: 'bedrock', input: words(40) })

  vendor.delayMs = 0
  assert.equal(answer.status, 200)
  assert.equal(vendor.calls.length, 40)
  assert.equal(vendor.atOnceMax, 8)
})

test('all tokens of one call stay below the limit of the vendor', async () => {
  const input = Array.from({ length: 700 }, () => 'y'.repeat(1000))

  const answer = await embed({ model: 'openai', input })

  assert.equal(answer.status, 200)
  assert.deepEqual(
    vendor.calls.map(({ inputs }) => inputs.length).sort((a, b) => b - a),
    [300, 300, 100],
  )
})

for (const [model, input] of [
  ['openai', Array.from({ length: 700 }, () => 'y'.repeat(1000))],
  ['cohere', words(250)],
] as const) {
  test(`${model}: what was embedded is billed if the provider rejects another part of the request`, async () => {
    vendor.statuses.push(200, 400)

    const answer = await embed({ model, input })

    const row = await settledRow(gateway, answer.headers['x-request-id'])
    const embedded = vendor.calls.filter((_, at) => at !== 1).reduce((sum, { inputs }) => sum + tokensOf(inputs), 0)
    assert.deepEqual([answer.status, answer.body.error?.code], [400, 'upstream_rejected'])
    assert.deepEqual([row.outcome, row.prompt_tokens, row.completion_tokens], ['upstream_broke', embedded, 0])
    assert.equal(nano(row.cost), (BigInt(embedded) * PRICE + 999n) / 1000n)
    assert.equal(answer.headers['x-svc-cost'], row.cost)
  })
}

test('tokens and lists of tokens are embedded where the provider takes them', async () => {
  const one = await embed({ model: 'openai', input: [1, 2, 3] })
  const several = await embed({
    model: 'openai',
    input: [
      [1, 2, 3],
      [0, 2_147_483_647],
    ],
  })
  const refused = await embed({ model: 'cohere', input: [[1, 2, 3]] })

  assert.deepEqual(one.body.data[0]?.embedding, vectorOf([1, 2, 3], 8))
  assert.equal(several.body.data.length, 2)
  assert.equal(several.body.usage.prompt_tokens, 5)
  assert.equal(refused.status, 400)
  assert.equal(refused.body.error?.code, 'upstream_rejected')
  assert.match(String(refused.body.error?.message), /accepts text only/)
})

for (const encoding of ['float', 'base64'] as const) {
  test(`a provider that answers in ${encoding} whatever was asked serves both`, async () => {
    vendor.encoding = encoding

    const floats = await embed({ model: 'openai', input: ['a', 'bcd'] })
    const bytes = await embed({ model: 'openai', input: ['a', 'bcd'], encoding_format: 'base64' })

    vendor.encoding = 'asked'
    const vectors = [vectorOf('a', 8), vectorOf('bcd', 8)]
    assert.deepEqual(
      floats.body.data.map(({ embedding: vector }) => vector),
      vectors,
    )
    assert.deepEqual(
      bytes.body.data.map(({ embedding: vector }) => vector),
      vectors.map(base64Of),
    )
  })
}

test('entries that come in another order are put in order', async () => {
  vendor.order = 'reversed'

  const answer = await embed({ model: 'openai', input: ['a', 'bcd', 'ef'] })

  vendor.order = 'asked'
  assert.deepEqual(
    answer.body.data.map(({ index, embedding: vector }) => [index, vector]),
    ['a', 'bcd', 'ef'].map((text, at) => [at, vectorOf(text, 8)]),
  )
})

test('dimensions are accepted where the model has several, and sent on every call', async () => {
  const usual = await embed({ model: 'resizable', input: 'a' })
  const sent = vendor.calls[0]?.body.dimensions
  const smaller = await embed({ model: 'resizable', input: 'a', dimensions: 4 })
  const google = await embed({ model: 'google', input: ['a', 'b'], dimensions: 4 })
  const vertex = await embed({ model: 'vertex', input: ['a', 'b'], dimensions: 4 })
  const same = await embed({ model: 'openai', input: 'a', dimensions: 8 })
  const notSent = vendor.calls[0]?.body.dimensions
  const fixed = await embed({ model: 'openai', input: 'a', dimensions: 4 })
  const below = await embed({ model: 'resizable', input: 'a', dimensions: 1 })

  assert.deepEqual([sent, notSent], [16, undefined])
  assert.equal(usual.body.data[0]?.embedding.length, 16)
  for (const answer of [smaller, google, vertex]) assert.equal(answer.body.data[0]?.embedding.length, 4, answer.text)
  assert.equal(same.status, 200)
  assert.deepEqual(
    [fixed.status, fixed.body.error?.code, fixed.body.error?.param],
    [400, 'unsupported_value', 'dimensions'],
  )
  assert.deepEqual(
    [below.status, below.body.error?.code, below.body.error?.param],
    [400, 'invalid_value', 'dimensions'],
  )
})

test('a model of the other type is refused with unsupported_value and the field model', async () => {
  const chat = await gateway.chat({ model: 'openai' }, { key: caller.secret })
  const embedded = await embed({ model: 'test/m1', input: 'a' })

  for (const answer of [chat, embedded])
    assert.deepEqual(
      [answer.status, answer.body.error?.code, answer.body.error?.param],
      [400, 'unsupported_value', 'model'],
    )
})

const WRONG: readonly (readonly [name: string, body: object, param: string, code?: string])[] = [
  ['no input', {}, 'input', 'missing_field'],
  ['a null input', { input: null }, 'input', 'missing_field'],
  ['an empty text', { input: '' }, 'input'],
  ['an empty list', { input: [] }, 'input'],
  ['an empty text in a list', { input: ['a', ''] }, 'input.1'],
  ['2,049 inputs', { input: Array.from({ length: 2049 }, () => 'a') }, 'input'],
  ['texts and tokens', { input: ['a', 1] }, 'input.1'],
  ['tokens and texts', { input: [1, 'a'] }, 'input.1'],
  ['a negative token', { input: [[1], [-1]] }, 'input.1.0'],
  ['a token out of range', { input: [2 ** 31] }, 'input.0'],
  ['a fractional token', { input: [[1.5]] }, 'input.0.0'],
  ['an empty list of tokens', { input: [[]] }, 'input.0'],
  ['an object', { input: { text: 'a' } }, 'input'],
  ['another encoding', { input: 'a', encoding_format: 'int8' }, 'encoding_format'],
  ['no dimensions', { input: 'a', dimensions: 0 }, 'dimensions'],
  ['a long input', { input: ['a', 'word '.repeat(9000)] }, 'input', 'context_length_exceeded'],
  ['too many tokens', { input: Array.from({ length: 8193 }, () => 1) }, 'input', 'context_length_exceeded'],
]
for (const [name, fields, param, code = 'invalid_value'] of WRONG) {
  test(`${name} is refused`, async () => {
    const answer = await embed({ model: 'openai', ...fields })

    assert.deepEqual([answer.status, answer.body.error?.code, answer.body.error?.param], [400, code, param])
    assert.equal(vendor.calls.length, 0)
  })
}

test('a failed provider is replaced by the next one', async () => {
  vendor.statuses.push(500)

  const answer = await embed({ model: 'two', input: ['a', 'b'] })

  assert.equal(answer.status, 200)
  assert.equal(answer.headers['x-svc-provider'], 'second')
  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.equal((row.attempts as unknown as unknown[]).length, 2)
})

const ODD: readonly (readonly [name: string, answer: string])[] = [
  ['not JSON', 'hello'],
  ['no list', '{"object":"list"}'],
  ['too few', '{"data":[]}'],
  ['the same index twice', entries([0, 0])],
  ['an index out of range', entries([0, 2])],
  ['another size', '{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1,2]}]}'],
  ['null in a vector', entries([0, 1]).replace('0.5', 'null')],
  ['a list in a vector', entries([0, 1]).replace('0.5', '[1]')],
  ['an object', '{"data":[{"index":0,"embedding":{}},{"index":1,"embedding":{}}]}'],
  ['bad base64', `{"data":[{"embedding":"${'!'.repeat(44)}"},{"embedding":"${'!'.repeat(44)}"}]}`],
  ['infinity', entries([0, 1]).replace('0.5', '1e999')],
  ['a float that is not a number', entriesOf(base64Of([1, 2, 3, 4, 5, 6, 7, Number.NaN]))],
  ['an infinite float', entriesOf(base64Of([1, 2, 3, 4, 5, 6, 7, Number.NEGATIVE_INFINITY]))],
  ['an error with status 200', '{"error":{"message":"no","code":500}}'],
]
function entriesOf(vector: string): string {
  return JSON.stringify({ data: [0, 1].map(index => ({ index, embedding: vector })) })
}
function entries(indexes: readonly number[]): string {
  return JSON.stringify({ data: indexes.map(index => ({ index, embedding: Array.from({ length: 8 }, () => 0.5) })) })
}
for (const [at, [name, wrong]] of ODD.entries()) {
  test(`an answer with ${name} is an upstream failure that costs nothing`, async () => {
    vendor.answer = wrong

    const answers = [
      await embed({ model: `odd-${at}`, input: ['a', 'b'] }),
      await embed({ model: `odd-${at}`, input: ['a', 'b'], encoding_format: 'base64' }),
    ]

    vendor.answer = undefined
    for (const answer of answers) {
      assert.deepEqual([answer.status, answer.body.error?.code], [502, 'all_providers_failed'], answer.text)
      const row = await settledRow(gateway, answer.headers['x-request-id'])
      assert.deepEqual([row.cost, row.outcome], ['0', 'upstream_failed'])
    }
  })
}

test('a new key has the scope embeddings', () => {
  assert.deepEqual(caller.key.scopes, ['chat.completions', 'embeddings', 'models.read'])
})

test('402 is answered where the credits do not cover the input, and the hold is the prompt alone', async () => {
  const { secret } = await gateway.createKey({ credits: '0.000001' })

  const few = await embed({ model: 'openai', input: 'hello' }, secret)
  const many = await embed({ model: 'openai', input: Array.from({ length: 60 }, () => 7) }, secret)

  assert.equal(few.status, 200)
  assert.deepEqual([many.status, many.body.error?.code], [402, 'insufficient_credits'])
})

test('usage that is missing is estimated by the tokenizer, without framing', async () => {
  vendor.hasUsage = false
  await embed({ model: 'openai', input: 'Hello' })

  const answer = await embed({ model: 'openai', input: 'Hello' })
  const tokens = await embed({ model: 'openai', input: [5, 6, 7] })

  vendor.hasUsage = true
  assert.ok(Number(answer.body.usage.prompt_tokens) <= 3, answer.text)
  assert.equal(tokens.body.usage.prompt_tokens, 3)
  const row = await settledRow(gateway, tokens.headers['x-request-id'])
  assert.equal(row.usage_source, 'estimate')
})

test('/v1/models shows type and dimensions', async () => {
  const { body } = await gateway.get('/v1/models/resizable', caller.secret)
  const chat = await gateway.get('/v1/models/test/m1', caller.secret)

  assert.deepEqual([body.type, body.dimensions, body.dimensions_min], ['embedding', 16, 2])
  assert.deepEqual([chat.body.type, chat.body.dimensions], ['chat', undefined])
})

test('fields that are not forwarded are named', async () => {
  const answer = await embed({ model: 'openai', input: 'a', input_type: 'query', user: 'me' })

  assert.equal(answer.headers['x-svc-ignored-fields'], 'input_type')
  assert.notEqual(vendor.calls[0]?.body.user, 'me')
  assert.equal(typeof vendor.calls[0]?.body.user, 'string')
})
