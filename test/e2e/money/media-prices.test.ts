// Images and audio in a prompt have prices of their own: billed as the upstream counts them, and held for only if the request
// has media.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import type { Loose } from '../../support/http-call.ts'
import { standardConfig, standardModel, standardProvider } from '../../support/standard-config.ts'
import { credits, nano, promptBound, settledRow } from '../../support/usage.ts'
import { jsonAnswer, sseAnswer, startVendor } from '../../support/vendor.ts'

// In nano-credits per token.
const [PROMPT, READ, IMAGE, AUDIO, COMPLETION] = [1000n, 100n, 3000n, 7000n, 10_000n] as const
const [LONG_PROMPT, LONG_IMAGE] = [2000n, 6000n] as const
const pricing = {
  prompt: credits(PROMPT),
  completion: credits(COMPLETION),
  input_cache_read: credits(READ),
  image: credits(IMAGE),
  audio: credits(AUDIO),
  tiers: [
    {
      above_prompt_tokens: 5000,
      prompt: credits(LONG_PROMPT),
      completion: credits(COMPLETION),
      image: credits(LONG_IMAGE),
    },
  ],
}
const media = { input_modalities: ['text', 'image', 'audio'], media_max_tokens: 1000 }

const vendor = await startVendor()
after(() => vendor[Symbol.asyncDispose]())
const { gateway, upstream } = await openFixture(url =>
  standardConfig(url, {
    providers: [
      standardProvider(url),
      { id: 'google', kind: 'google', base_url: `${vendor.origin}/v1beta`, api_key: 'canary' },
    ],
    models: [
      standardModel({ pricing, ...media }),
      standardModel({
        id: 'test/google',
        pricing,
        ...media,
        hidden_reasoning: false,
        targets: [{ provider: 'google', model: 'gemini-2.5-flash' }],
      }),
    ],
  }),
)
const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(400)}` } }
const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, picture] }]
const SPOKEN = [{ role: 'user', content: 'Say hello' }]

const usage = (prompt_tokens: number) => ({
  prompt_tokens,
  completion_tokens: 5,
  prompt_tokens_details: { text_tokens: 1, cached_tokens: 100, image_tokens: 300, audio_tokens: 200 },
})

for (const stream of [false, true]) {
  test(`${stream ? 'a stream' : 'a JSON answer'}: each kind has its price, also in a tier`, async () => {
    upstream.next({ usage: usage(1000) }, { usage: usage(6000) })

    const short = await rowOf({ messages, stream })
    const long = await rowOf({ messages, stream })

    assert.deepEqual([short.image_tokens, short.audio_tokens], [300, 200])
    assert.equal(nano(short.cost), 400n * PROMPT + 100n * READ + 300n * IMAGE + 200n * AUDIO + 5n * COMPLETION)
    // The tier states neither a price of audio nor of cached tokens: the base's, or the tier's prompt price if that is higher.
    assert.equal(
      nano(long.cost),
      5400n * LONG_PROMPT + 100n * LONG_PROMPT + 300n * LONG_IMAGE + 200n * AUDIO + 5n * COMPLETION,
    )
    assert.equal(long.price?.tiers?.[0]?.audio, credits(AUDIO))
  })
}

test('the caller sees the counts; a request without media has none, whatever the upstream reports', async () => {
  upstream.next({ usage: usage(1000) }, { usage: usage(1000) })

  const seen = await gateway.chat({ messages })
  const spoken = await gateway.chat({ messages: SPOKEN })

  const details = [seen, spoken].map(({ body }) => (body.usage as unknown as Loose).prompt_tokens_details)
  assert.deepEqual(details, [{ cached_tokens: 100, image_tokens: 300, audio_tokens: 200 }, { cached_tokens: 100 }])
  const row = (await settledRow(gateway, spoken.headers['x-request-id'])) as unknown as Loose
  assert.deepEqual(
    [row.image_tokens, row.audio_tokens, nano(row.cost)],
    [0, 0, 900n * PROMPT + 100n * READ + 5n * COMPLETION],
  )
})

test('the hold is at the highest price with media, and at that of the text without', async () => {
  const [spoken, seen] = [await rowOf({ messages: SPOKEN, max_tokens: 3 }), await rowOf({ messages, max_tokens: 3 })]

  const bytes = BigInt(promptBound(messages) - Buffer.byteLength(JSON.stringify(picture)) + 1000)
  assert.equal(nano(spoken.hold), BigInt(promptBound(SPOKEN)) * PROMPT + 3n * COMPLETION)
  assert.equal(nano(seen.hold), bytes * AUDIO + 3n * COMPLETION)
})

for (const stream of [false, true]) {
  test(`Google's counts by modality, ${stream ? 'streamed' : 'as JSON'}: cached media is not billed twice`, async () => {
    const usageMetadata = {
      promptTokenCount: 1000,
      cachedContentTokenCount: 450,
      candidatesTokenCount: 5,
      totalTokenCount: 1005,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 200 },
        { modality: 'IMAGE', tokenCount: 500 },
        { modality: 'AUDIO', tokenCount: 250 },
        { modality: 'AUDIO', tokenCount: 50 },
      ],
      cacheTokensDetails: [
        { modality: 'IMAGE', tokenCount: 400 },
        { modality: 'AUDIO', tokenCount: 50 },
      ],
    }
    const answer = {
      candidates: [{ content: { role: 'model', parts: [{ text: 'A cat.' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata,
    }
    vendor.next(stream ? sseAnswer([answer], false) : jsonAnswer(answer))

    const row = await rowOf({ model: 'test/google', messages, stream })

    assert.deepEqual([row.cached_tokens, row.image_tokens, row.audio_tokens], [450, 100, 250])
    assert.equal(nano(row.cost), 200n * PROMPT + 450n * READ + 100n * IMAGE + 250n * AUDIO + 5n * COMPLETION)
  })
}

async function rowOf(body: object): Promise<Loose> {
  const { headers, status, text } = await gateway.chat(body)
  assert.equal(status, 200, text)
  return (await settledRow(gateway, headers['x-request-id'])) as unknown as Loose
}
