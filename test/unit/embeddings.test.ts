// Requests for embeddings as they are parsed, and vectors as they are read and written.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseEmbeddings } from '../../src/chat/parse-embeddings.ts'
import { Failure } from '../../src/domain/failure.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import { readEmbeddings } from '../../src/upstream/openai/embeddings.ts'
import { base64Of } from '../support/embedding-vendor.ts'

test('a text and a list of tokens are one input; their size is in bytes or in tokens', () => {
  const text = parseEmbeddings({ model: 'm', input: 'wörld' })
  const tokens = parseEmbeddings({ model: 'm', input: [1, 2, 3] })
  const lists = parseEmbeddings({ model: 'm', input: [[1, 2], [3]], encoding_format: 'base64', dimensions: null })

  assert.deepEqual([text.embedding?.inputs, text.promptBytes, text.messages.length], [['wörld'], 6, 1])
  assert.deepEqual([tokens.embedding?.inputs, tokens.promptBytes, tokens.messages.length], [[[1, 2, 3]], 3, 0])
  assert.deepEqual([lists.embedding?.inputs.length, lists.promptBytes], [2, 3])
  assert.deepEqual([lists.embedding?.encoding, lists.embedding?.dimensions], ['base64', null])
})

test('preferences are read, identifiers are set apart, and other fields are extras', () => {
  const chat = parseEmbeddings({ model: 'm', input: 'x', user: 'u', models: ['n'], input_type: 'query' })

  assert.deepEqual(
    [chat.identifiers, chat.preferences.models, [...chat.extras]],
    [{ user: 'u' }, ['n'], [['input_type', 'query']]],
  )
  assert.throws(() => parseEmbeddings({ model: 'm', input: 'x', service_tier: 'flex' }), Refusal)
})

test('a million tokens are checked in a moment, and the first wrong one is named', () => {
  const list = Array.from({ length: 1_000_000 }, (_, at) => at)
  list[999_999] = -1
  const startedMs = performance.now()

  assert.throws(() => parseEmbeddings({ model: 'm', input: list }), /^Error: input\.999999 must be a token/)
  assert.ok(performance.now() - startedMs < 500)
})

// JSON has no negative zero.
const float = fc.float({ noNaN: true, noDefaultInfinity: true }).map(value => value || 0)
const floats = fc.array(float, { minLength: 1, maxLength: 400, size: 'max' })
const ENCODINGS = ['float', 'base64'] as const

test('vectors are the same in either encoding, whatever the upstream sent', () => {
  fc.assert(
    fc.property(floats, fc.constantFrom(...ENCODINGS), fc.constantFrom(...ENCODINGS), (vector, sent, wanted) => {
      const embedding = sent === 'float' ? vector : base64Of(vector)
      const text = JSON.stringify({ data: [{ embedding, index: 0 }], usage: { prompt_tokens: 3 } }, null, 1)

      const { written, usage } = read(text, wanted, vector.length)

      const [entry] = JSON.parse(`[${Buffer.from(written).toString()}]`) as [{ index: number; embedding: unknown }]
      assert.equal(entry.index, 7)
      if (wanted === 'base64') assert.equal(entry.embedding, base64Of(vector))
      else assert.deepEqual(Float32Array.from(entry.embedding as number[]), Float32Array.from(vector))
      assert.deepEqual(usage, { prompt_tokens: 3, completion_tokens: 0 })
    }),
  )
})

test('a value that a 32-bit float cannot have is refused, however it is written', () => {
  const sent = (value: string) => `{"data":[{"index":0,"embedding":[0.5,${value}]}],"usage":{"prompt_tokens":3}}`
  for (const value of ['1e999', '-1E+999', '1e39', '12345e37', `1${'0'.repeat(400)}`, `1${'0'.repeat(39)}`])
    for (const encoding of ENCODINGS) assert.throws(() => read(sent(value), encoding, 2), /not a vector/, value)
  for (const value of ['3.4e38', '1e+38', '-1e38', '1e-400', `1${'0'.repeat(38)}`, `0.${'0'.repeat(60)}1`])
    for (const encoding of ENCODINGS) assert.doesNotThrow(() => read(sent(value), encoding, 2), value)
})

test('escapes in base64 are read, and text that only looks like a vector is not', () => {
  const vector = Array.from({ length: 400 }, () => -1.5)
  const escaped = `{"data":[{"embedding":"${base64Of(vector).replaceAll('/', '\\/')}"}]}`

  assert.deepEqual(entryOf(escaped, 'float', 400), vector)
  for (const wrong of [
    `{"data":[{"embedding":"${'!'.repeat(2136)}"}]}`,
    '{"data":[{"embedding":[1,"2"]}]}',
    '{"data":[{"embedding":[1,true]}]}',
    '{"data":[{"embedding":[]}]}',
    '{"data":[{"embedding":[1,2,3]}]}',
    '{"data":[{"embedding":[1,2]},{"embedding":[1,2]}]}',
    '{"data":{"embedding":[1,2]}}',
    '[1,2]',
    '{"data":[{"embedding":[1,2',
    `{"data":[{"embedding":"${base64Of([Number.NaN, 1])}"}]}`,
  ]) {
    assert.throws(() => read(wrong, 'float', 2), Failure, wrong.slice(0, 60))
  }
})

function read(text: string, encoding: (typeof ENCODINGS)[number], dimensions: number) {
  return readEmbeddings(Buffer.from(text), { encoding, dimensions, count: 1, from: 7 }, [])
}

function entryOf(text: string, encoding: (typeof ENCODINGS)[number], dimensions: number): unknown {
  return (JSON.parse(Buffer.from(read(text, encoding, dimensions).written).toString()) as { embedding: unknown })
    .embedding
}
