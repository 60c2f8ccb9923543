// OpenAI's own client for Node, unchanged but for its base URL, makes embeddings in both encodings.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI, { BadRequestError } from 'openai'
import { failureOf } from '../support/client-fixture.ts'
import { startEmbeddingVendor, vectorOf } from '../support/embedding-vendor.ts'
import { startGateway } from '../support/gateway.ts'
import { embeddingModel, standardModel } from '../support/standard-config.ts'

const input = ['A gate.', 'A toll, and a road.']

test("OpenAI's client for Node makes embeddings unchanged", async t => {
  await using vendor = await startEmbeddingVendor()
  await using gateway = await startGateway({
    config: {
      providers: [{ id: 'up', kind: 'openai', base_url: `${vendor.origin}/v1`, api_key: 'k' }],
      models: [
        standardModel({ targets: [{ provider: 'up', model: 'chat' }] }),
        embeddingModel({ id: 'embed', dimensions_min: 2, targets: [{ provider: 'up', model: 'e' }] }),
      ],
    },
  })
  const { secret } = await gateway.createKey()
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: secret })

  await t.test('without an encoding, where it requests base64 and decodes it', async () => {
    const { data, request_id } = await client.embeddings.create({ model: 'embed', input }).withResponse()

    assert.equal(vendor.calls.at(-1)?.body.encoding_format, 'base64')
    assert.deepEqual(
      data.data.map(entry => [...entry.embedding]),
      input.map(text => vectorOf(text, 8)),
    )
    const row = await gateway.get(`/v1/usage/${request_id}`, secret)
    assert.equal((data.usage as { cost?: number }).cost, Number(row.body.cost))
    assert.equal(data.usage.prompt_tokens, row.body.prompt_tokens)
  })

  for (const encoding_format of ['float', 'base64'] as const) {
    await t.test(`with the encoding ${encoding_format}`, async () => {
      const { data } = await client.embeddings.create({ model: 'embed', input, encoding_format, dimensions: 4 })

      const vector = data[0]?.embedding as unknown
      const floats =
        typeof vector === 'string'
          ? [...new Float32Array(new Uint8Array(Buffer.from(vector, 'base64')).buffer)]
          : [...(vector as number[])]
      assert.deepEqual(floats, vectorOf(input[0], 4))
    })
  }

  await t.test('a chat model is a BadRequestError that names the model', async () => {
    const error = (await failureOf(client.embeddings.create({ model: 'test/m1', input }))) as BadRequestError

    assert.ok(error instanceof BadRequestError)
    assert.deepEqual([error.code, error.param], ['unsupported_value', 'model'])
  })
})
