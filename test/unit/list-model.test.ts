// The price list as exact decimals: no float arithmetic, nothing guessed, the most expensive of alternatives.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parsePrice } from '../../src/domain/credits.ts'
import { documentOf, perToken } from '../../src/domain/list-model.ts'
import { type ListedModel, priceListOf } from '../../src/lib/price-list.ts'

const NOW = Date.parse('2026-11-15')
const AS = { provider: 'p', prefix: 'p/', upstreamPrefix: '' }

test('dollars per million become dollars per token by their digits', () => {
  const cases: readonly (readonly [number, string])[] = [
    [0.15, '0.00000015'],
    [2.5, '0.0000025'],
    [10, '0.00001'],
    [0, '0'],
    [1e-7, '0.000000000001'],
    [0.1 + 0.2, '0.000000300001'],
    [0.08333333333333334, '0.000000083334'],
    [1e21, '1000000000000000'],
  ]

  for (const [dollars, text] of cases) assert.equal(perToken(dollars), text)
})

test('any price of up to six decimals is exact, and no price is rounded down', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000_000 }), millionths => {
      assert.equal(parsePrice(perToken(millionths / 1_000_000)), BigInt(millionths))
    }),
  )
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e6, noNaN: true }), dollars => {
      assert.ok(Number(parsePrice(perToken(dollars))) >= Math.floor(dollars * 1e6 * (1 - 1e-15)))
    }),
  )
})

test("a known model is complete: context, maximum, exact prices, the vendor's name for it", () => {
  const listed = find('openai', 'gpt-4o-mini')

  const pricing = { prompt: '0.00000015', completion: '0.0000006', input_cache_read: '0.000000075' }
  assert.deepEqual(documentOf(listed, { ...AS, upstreamPrefix: 'accounts/' }), {
    id: 'p/gpt-4o-mini',
    name: listed.name,
    description: listed.description,
    context_length: 128_000,
    max_output_tokens: 16_384,
    pricing,
    targets: [{ provider: 'p', model: 'accounts/gpt-4o-mini', cost: pricing }],
  })
})

test('prices by prompt length become tiers, each with all of its prices', () => {
  assert.deepEqual(pricingOf('google', 'gemini-2.5-pro'), {
    prompt: '0.00000125',
    completion: '0.00001',
    input_cache_read: '0.000000125',
    tiers: [
      {
        above_prompt_tokens: 200_000,
        prompt: '0.0000025',
        completion: '0.000015',
        input_cache_read: '0.00000025',
      },
    ],
  })
  const claude = pricingOf('anthropic', 'claude-sonnet-4-5')
  assert.deepEqual([claude.input_cache_write_1h, claude.tiers?.[0]?.input_cache_write_1h], ['0.000006', '0.000012'])
})

test('prices of audio and images in the prompt are taken', () => {
  const { prompt, audio } = pricingOf('google', 'gemini-2.5-flash')

  assert.deepEqual([prompt, audio], ['0.0000003', '0.000001'])
})

test('of prices by time of day the most expensive is used, and reported', () => {
  const hourly = find('deepseek', 'deepseek-chat')

  assert.deepEqual([hourly.dollars.input, hourly.dollars.output], [0.27, 1.1])
  assert.match(hourly.notes.join(), /time of day/)
})

test('of dated prices the one in force is used, and a future one is reported', () => {
  assert.equal(find('openai', 'o3').dollars.input, 2)
  assert.equal(find('openai', 'o3', Date.parse('2025-01-01')).dollars.input, 10)
  const coming = find('google', 'gemini-3.6-flash')
  assert.equal(coming.dollars.input, 0.75)
  assert.match(coming.notes.join(), /2027-01-01/)
})

test('unknown values are required and never guessed', () => {
  assert.match(String(documentOf(find('openai', 'text-embedding-3-small'), AS)), /no text prices/)
  const bare: ListedModel = { ...find('openai', 'gpt-4o'), id: 'surprise-9', contextLength: undefined }
  assert.match(String(documentOf(bare, AS)), /context length/)
  assert.match(String(documentOf({ ...bare, contextLength: 1000 }, AS)), /maximum number of output/)
  const stated = documentOf(bare, { ...AS, contextLength: 1000, maxOutputTokens: 5000 })
  assert.ok(typeof stated === 'object')
  assert.deepEqual([stated.context_length, stated.max_output_tokens], [1000, 1000])
})

test('an unknown vendor is undefined', () => {
  assert.equal(priceListOf('nobody-at-all', NOW), undefined)
})

function pricingOf(vendor: string, id: string) {
  const document = documentOf(find(vendor, id), AS)
  return typeof document === 'string' ? assert.fail(document) : document.pricing
}

function find(vendor: string, id: string, now = NOW): ListedModel {
  return priceListOf(vendor, now)?.models.find(model => model.id === id) ?? assert.fail(`${vendor} lists ${id}`)
}
