// Long vectors are copied as bytes, and yet none has a value that is not finite.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEmbeddings } from '../../src/upstream/openai/embeddings.ts'
import { base64Of } from '../support/embedding-vendor.ts'

const SIZE = 512
const long = Array.from({ length: SIZE }, (_, at) => at * 1e-7)

test('a long vector with a value that is not finite is refused in both encodings', () => {
  for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    const vector = base64Of(long.with(300, odd))
    for (const encoding of ['float', 'base64'] as const) assert.throws(() => read(`"${vector}"`, encoding))
  }
  for (const odd of ['1e999', '-1E39', '1e+400', '2e00039', '9'.repeat(400)])
    for (const encoding of ['float', 'base64'] as const)
      assert.throws(() => read(JSON.stringify(long.with(300, 8)).replace(',8,', `,${odd},`), encoding), odd)
})

test('a long vector with small and large values is accepted', () => {
  const large = JSON.stringify(long.with(300, 3e37).with(301, -1e-45)).replace('3e+37', '2e00038')
  for (const encoding of ['float', 'base64'] as const) {
    assert.ok(read(large, encoding).written.length > SIZE)
    assert.ok(read(`"${base64Of(long.with(300, 3e38))}"`, encoding).written.length > SIZE)
  }
})

function read(embedding: string, encoding: 'float' | 'base64') {
  const answer = Buffer.from(`{"data":[{"index":0,"embedding":${embedding}}]}`)
  return readEmbeddings(answer, { encoding, dimensions: SIZE, count: 1, from: 0 }, [])
}
