// Prices by the length of the prompt: cost against a naive reference, holds that cover every usage within their bounds, and
// what a document may state.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holdEntry, sizeByBytes, worstCost } from '../../src/admit/hold-estimate.ts'
import { InvalidDocument, readModel } from '../../src/catalog/document.ts'
import { parseChat } from '../../src/chat/parse-request.ts'
import { type Model, priceSnapshot, readCost, readPriceSnapshot, writeCost } from '../../src/domain/catalog.ts'
import {
  costOf,
  NO_TOKENS,
  type Prices,
  type Rates,
  type Tier,
  type Tokens,
  worstSum,
} from '../../src/domain/credits.ts'
import { AT_PAR } from '../../src/domain/dollars.ts'
import { countMayHelp } from '../../src/domain/hold.ts'
import { NO_WISHES } from '../../src/domain/routing.ts'
import { unfitModel } from '../../src/route/preferences.ts'

const pico = fc.bigInt({ min: 0n, max: 10n ** 9n })
const tokenRates = fc.record(
  { prompt: pico, completion: pico, cacheRead: pico, cacheWrite: pico, cacheWrite1h: pico, image: pico, audio: pico },
  { requiredKeys: ['prompt', 'completion', 'cacheRead', 'cacheWrite'] },
)
const tiers = fc
  .uniqueArray(fc.record({ abovePromptTokens: fc.integer({ min: 1, max: 5000 }), rates: tokenRates }), {
    selector: ({ abovePromptTokens }) => abovePromptTokens,
    minLength: 1,
    maxLength: 8,
  })
  .map(list =>
    list
      .sort((a, b) => a.abovePromptTokens - b.abovePromptTokens)
      .map(({ abovePromptTokens, rates }): Tier => ({ abovePromptTokens, ...rates })),
  )
const prices: fc.Arbitrary<Prices> = fc
  .record({ rates: tokenRates, request: pico, tiers })
  .map(({ rates, request, tiers: longer }) => ({ ...rates, request, tiers: longer }))
const tokens: fc.Arbitrary<Tokens> = fc
  .record({
    text: fc.nat(2000),
    cached: fc.nat(2000),
    cacheWrite: fc.nat(2000),
    image: fc.nat(1000),
    audio: fc.nat(1000),
    completion: fc.nat(3000),
  })
  .map(({ text, cached, cacheWrite, image, audio, completion }) => ({
    ...NO_TOKENS,
    prompt: text + cached + cacheWrite + image + audio,
    image,
    audio,
    cached,
    cacheWrite,
    cacheWrite1h: Math.floor(cacheWrite / 3),
    completion,
  }))

test('all tokens have the prices of the last tier that the prompt is long enough for, rounded up once', () => {
  fc.assert(
    fc.property(tokens, prices, (used, price) => {
      assert.equal(costOf(used, price), (naive(used, price) + 999n) / 1000n)
    }),
  )
})

test('the bound itself still has the lower price, and one token more the higher one for all', () => {
  const price = { ...flat(10n), request: 0n, tiers: [{ abovePromptTokens: 200, ...flat(20n) }] }
  const cost = (prompt: number) => costOf({ ...NO_TOKENS, prompt, completion: 100 }, price)

  assert.deepEqual([cost(200), cost(201)], [3n, 7n])
})

test('where no tier is cheaper than the one before it, more tokens never cost less', () => {
  const rising = fc.tuple(tokenRates, tiers).map(([base, longer]) => {
    let last = base.prompt
    const next = longer.map(({ abovePromptTokens, prompt }) => {
      last += prompt
      return { abovePromptTokens, ...flat(last) }
    })
    return { ...flat(base.prompt), request: 0n, tiers: next }
  })
  fc.assert(
    fc.property(fc.nat(6000), fc.nat(100), fc.nat(100), rising, (prompt, more, completion, price) => {
      const fewer = costOf({ ...NO_TOKENS, prompt, completion }, price)

      assert.ok(costOf({ ...NO_TOKENS, prompt: prompt + more, completion: completion + more }, price) >= fewer)
    }),
  )
})

test('no usage within the bounds costs more than the worst case, and a rising price reaches it', () => {
  fc.assert(
    fc.property(tokens, prices, fc.nat(3000), fc.nat(3000), (used, price, morePrompt, moreOutput) => {
      const worst = worstSum(used.prompt + morePrompt, used.completion + moreOutput, price)

      assert.ok(costOf(used, price) <= (worst + 999n) / 1000n)
    }),
  )
  const rising = { ...flat(10n), request: 7n, tiers: [{ abovePromptTokens: 100, ...flat(30n) }] }
  assert.equal(worstSum(100, 5, rising), 100n * 10n + 5n * 10n + 7n)
  assert.equal(worstSum(101, 5, rising), 101n * 30n + 5n * 30n + 7n)
})

test('a hold covers every usage within its bounds, also of a model with cheaper tiers', () => {
  fc.assert(
    fc.property(fc.array(prices, { minLength: 1, maxLength: 3 }), tokens, fc.nat(4000), (all, used, bytes) => {
      const chat = parseChat({
        model: 'm',
        n: 2,
        max_tokens: 50,
        messages: [{ role: 'user', content: 'x'.repeat(bytes) }],
      })
      const models = all.map(price => modelWith(price)) as [Model, ...Model[]]
      const size = sizeByBytes(chat)
      const { base, outputPrice, outputTokens } = holdEntry(chat, models, size, 256)
      const hold = (base + BigInt(outputTokens) * outputPrice + 999n) / 1000n

      for (const model of models) {
        const prompt = Math.min(used.prompt, size.tokens(model))
        const within = { ...NO_TOKENS, prompt, completion: Math.min(used.completion, 100) }
        assert.ok(costOf(within, model.prices) <= worstCost(chat, model, size, 50))
        assert.ok(costOf(within, model.prices) <= hold)
      }
    }),
  )
})

test('counting the prompt may help where only a shorter prompt makes the output affordable', () => {
  const free = { ...flat(0n), request: 0n }
  const model = modelWith({ ...free, tiers: [{ abovePromptTokens: 100, ...flat(0n), completion: 5000n }] })
  const chat = parseChat({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'x'.repeat(300) }] })
  const entry = holdEntry(chat, [model], sizeByBytes(chat), 256)
  const key = { spent: 0n, held: 0n, creditLimit: null }

  assert.equal(entry.outputPrice, 5000n)
  assert.equal(countMayHelp(entry, { available: 0n, held: 0n, owed: 0n }, key), true)
})

test('max_price is the most that may be charged: it excludes a model whose tier the prompt may reach', () => {
  const model = modelWith({ ...flat(10n), request: 0n, tiers: [{ abovePromptTokens: 200, ...flat(20n) }] })
  const unfit = (bytes: number, most: bigint) => {
    const chat = parseChat({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(bytes) }] })
    return unfitModel(model, { ...chat, preferences: { ...NO_WISHES, maxPrice: { prompt: most } } })
  }

  assert.deepEqual(
    [unfit(10, 10n), unfit(300, 10n), unfit(300, 20n), unfit(10, 9n)],
    [undefined, 'above_max_price', undefined, 'above_max_price'],
  )
})

test('snapshots and stored costs are read back as written, and a tier without a bound or price is not zero', () => {
  fc.assert(
    fc.property(prices, price => {
      assert.deepEqual(readPriceSnapshot(priceSnapshot(price)), price)
      assert.deepEqual(readCost(JSON.parse(JSON.stringify(writeCost(price as Rates)))), price)
    }),
  )
  const written = JSON.parse(
    priceSnapshot({ ...flat(1n), request: 0n, tiers: [{ abovePromptTokens: 5, ...flat(2n) }] }),
  )
  for (const name of ['above_prompt_tokens', 'prompt', 'completion', 'input_cache_read']) {
    const { [name]: _, ...rest } = written.tiers[0]
    assert.throws(() => readPriceSnapshot(JSON.stringify({ ...written, tiers: [rest] })), name)
  }
})

const tier = (above: unknown, more: object = {}) => ({
  above_prompt_tokens: above,
  prompt: '0.000006',
  completion: '0.00002',
  ...more,
})
const document = (pricing: object) => ({
  id: 'm',
  context_length: 1000,
  max_output_tokens: 100,
  pricing: { prompt: '0.000003', completion: '0.00001', ...pricing },
  targets: [{ provider: 'up', model: 'm' }],
})
const read = (pricing: object) => readModel(document(pricing), { providers: new Set(['up']), exchange: AT_PAR })

test('a price that only the base states applies in a tier, or the prompt price of the tier if that is higher', () => {
  const cache = { input_cache_read: '0.0000003', input_cache_write: '0.000009', input_cache_write_1h: '0.000012' }
  const base = { ...cache, image: '0.000001', audio: '0.00002' }

  const { tiers: longer } = read({ ...base, tiers: [tier(100), tier(200, { input_cache_read: '0.0000006' })] }).prices

  const cacheWrites = { cacheWrite: 9_000_000n, cacheWrite1h: 12_000_000n }
  const shared = { prompt: 6_000_000n, completion: 20_000_000n, image: 6_000_000n, audio: 20_000_000n, ...cacheWrites }
  assert.deepEqual(longer, [
    { abovePromptTokens: 100, ...shared, cacheRead: 6_000_000n },
    { abovePromptTokens: 200, ...shared, cacheRead: 600_000n },
  ])
})

test('accepted: no tiers, eight of them, a cheaper one, and one above the context length', () => {
  assert.equal('tiers' in read({ tiers: [] }).prices, false)
  assert.equal(read({ tiers: Array.from({ length: 8 }, (_, i) => tier(i + 1)) }).prices.tiers?.length, 8)
  assert.equal(read({ tiers: [tier(100, { prompt: '0', completion: '0' })] }).prices.tiers?.[0]?.prompt, 0n)
  assert.equal(read({ tiers: [tier(1001)] }).prices.tiers?.[0]?.abovePromptTokens, 1001)
})

const WRONG: readonly (readonly [what: string, tiers: unknown, path: string, problem: RegExp])[] = [
  ['out of order', [tier(200), tier(100)], 'pricing.tiers.1.above_prompt_tokens', /must be above 200/],
  ['a duplicate', [tier(200), tier(200)], 'pricing.tiers.1.above_prompt_tokens', /must be above 200/],
  ['nine', Array.from({ length: 9 }, (_, i) => tier(i + 1)), 'pricing.tiers', /at most 8 entries/],
  ['a bound of zero', [tier(0)], 'pricing.tiers.0.above_prompt_tokens', /whole number from 1/],
  ['a fraction', [tier(0.5)], 'pricing.tiers.0.above_prompt_tokens', /whole number/],
  ['a bound as text', [tier('200')], 'pricing.tiers.0.above_prompt_tokens', /whole number/],
  ['a negative price', [tier(1, { prompt: '-0.1' })], 'pricing.tiers.0.prompt', /not negative/],
  ['a price that is a number', [tier(1, { prompt: 0.1 })], 'pricing.tiers.0.prompt', /a string/],
  ['a price with an exponent', [tier(1, { completion: '1e-6' })], 'pricing.tiers.0.completion', /no exponent/],
  ['no completion price', [tier(1, { completion: undefined })], 'pricing.tiers.0.completion', /is missing/],
  ['a request price', [tier(1, { request: '1' })], 'pricing.tiers.0.request', /not a known field/],
  [
    '1 h writes that the base lacks',
    [tier(1, { input_cache_write_1h: '1' })],
    'pricing.tiers.0.input_cache_write_1h',
    /base|before the tiers/,
  ],
  ['a price that is too high', [tier(1, { prompt: '900000' })], 'pricing', /too high/],
  ['an object', {}, 'pricing.tiers', /must be a list/],
]

for (const [what, given, path, problem] of WRONG) {
  test(`refused: ${what}`, () => {
    const clean = JSON.parse(JSON.stringify({ tiers: given }))
    assert.throws(
      () => read(clean),
      (error: unknown) => {
        assert.ok(error instanceof InvalidDocument)
        assert.equal(error.fault.path.join('.'), path)
        assert.match(error.fault.problem, problem)
        return true
      },
    )
  })
}

test('refused: tiers of a model that embeds', () => {
  const { max_output_tokens: _, ...rest } = document({ completion: undefined, tiers: [tier(1)] })
  const embedding = JSON.parse(JSON.stringify({ ...rest, type: 'embedding', dimensions: 8 }))
  const known = { providers: new Set(['up']), exchange: AT_PAR }

  assert.throws(() => readModel(embedding, known), /tiers applies to type chat only/)
})

function flat(rate: bigint) {
  return { prompt: rate, completion: rate, cacheRead: rate, cacheWrite: rate }
}

// Written a second time, as plainly as possible.
function naive(used: Tokens, price: Prices): bigint {
  const at = [...(price.tiers ?? [])].reverse().find(each => used.prompt > each.abovePromptTokens) ?? price
  return (
    BigInt(used.prompt - used.cached - used.cacheWrite - used.image - used.audio) * at.prompt +
    BigInt(used.image) * (at.image ?? at.prompt) +
    BigInt(used.audio) * (at.audio ?? at.prompt) +
    BigInt(used.cached) * at.cacheRead +
    BigInt(used.cacheWrite - used.cacheWrite1h) * at.cacheWrite +
    BigInt(used.cacheWrite1h) * (at.cacheWrite1h ?? at.cacheWrite) +
    BigInt(used.completion) * at.completion +
    price.request
  )
}

function modelWith(price: Prices): Model {
  return { ...read({}), createdAt: 0, priceVersion: 'v', contextLength: 100_000, prices: price }
}
