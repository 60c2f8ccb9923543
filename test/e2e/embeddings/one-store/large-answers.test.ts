// The largest answers: 2,048 vectors of 3,072 values, in either encoding, without blocking the event loop.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openEmbeddingFixture } from '../../../support/embedding-fixture.ts'
import { base64Of, vectorOf } from '../../../support/embedding-vendor.ts'
import { watchHealth } from '../../../support/health-watch.ts'
import { MIB, residentBytes } from '../../../support/memory.ts'
import { embeddingModel } from '../../../support/standard-config.ts'

const DIMENSIONS = 3072
// The limit is 100 ms on an idle machine; the vendor and other tests run at the same time here.
const HEALTH_MS_MAX = 2000

const model = (id: string, dimensions: number) =>
  embeddingModel({ id, dimensions, dimensions_min: 1, targets: [{ provider: id, model: 'large' }] })
const { gateway, embed } = await openEmbeddingFixture(origin => ({
  providers: [
    { id: 'openai', kind: 'openai', base_url: `${origin}/v1`, api_key: 'k' },
    { id: 'cohere', kind: 'cohere', base_url: `${origin}/v2`, api_key: 'k' },
  ],
  models: [model('openai', DIMENSIONS), model('cohere', 1536)],
}))
const input = Array.from({ length: 2048 }, (_, at) => 'x'.repeat((at % 200) + 1))

for (const [name, dimensions] of [
  ['openai', DIMENSIONS],
  ['cohere', 1536],
] as const) {
  for (const encoding_format of ['base64', 'float'] as const) {
    test(`${name}: 2,048 vectors of ${dimensions} values as ${encoding_format} arrive complete`, async t => {
      const health = watchHealth(gateway.url)

      const answer = await embed({ model: name, input, encoding_format })

      const longest = await health.stop()
      t.diagnostic(`/health took at most ${Math.round(longest)} ms`)
      assert.equal(answer.status, 200, answer.text.slice(0, 300))
      const { data } = answer.body
      assert.equal(data.length, 2048)
      for (const at of [0, 1, 341, 342, 1000, 2047]) {
        const vector = vectorOf(input[at], dimensions)
        assert.deepEqual(data[at]?.embedding, encoding_format === 'float' ? vector : base64Of(vector))
        assert.equal(data[at]?.index, at)
      }
      assert.ok(longest < HEALTH_MS_MAX, `/health took ${longest} ms`)
    })
  }
}

test('their memory is released', async () => {
  assert.ok((await residentBytes(gateway)) < 600 * MIB)
})
