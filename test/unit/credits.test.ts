// Money as integers: text to amount and back without loss, and tokens to cost by exact sums that are rounded up once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  costOf,
  formatCredits,
  formatPrice,
  NANO_MAX,
  NO_TOKENS,
  type Prices,
  parseCredits,
  parsePrice,
  type Tokens,
  tokensFor,
  worstPrompt,
} from '../../src/domain/credits.ts'

const pico = fc.bigInt({ min: 0n, max: 10n ** 12n })
const prices: fc.Arbitrary<Prices> = fc.record({
  prompt: pico,
  completion: pico,
  cacheRead: pico,
  cacheWrite: pico,
  image: pico,
  audio: pico,
  request: pico,
})
const tokens: fc.Arbitrary<Tokens> = fc
  .record({
    text: fc.nat(1e7),
    cached: fc.nat(1e7),
    cacheWrite: fc.nat(1e7),
    image: fc.nat(1e7),
    audio: fc.nat(1e7),
    completion: fc.nat(1e7),
  })
  .map(({ text, cached, cacheWrite, image, audio, completion }) => ({
    prompt: text + cached + cacheWrite + image + audio,
    image,
    audio,
    cached,
    cacheWrite,
    cacheWrite1h: Math.floor(cacheWrite / 3),
    completion,
    reasoning: 0,
  }))

const FLAT = { prompt: 1n, completion: 1n, cacheRead: 1n, cacheWrite: 1n, request: 0n }

test('every amount is parsed back as formatted, in plain notation: no exponent, no trailing zero, no sign on zero', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -NANO_MAX, max: NANO_MAX }), nano => {
      const text = formatCredits(nano)

      assert.equal(parseCredits(text), nano)
      assert.match(text, /^(0|-?(0|[1-9]\d*)(\.\d{0,8}[1-9])?)$/)
    }),
  )
})

test('every price is parsed back as formatted', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: NANO_MAX }), price => assert.equal(parsePrice(formatPrice(price)), price)),
  )
})

test('amounts are parsed to their exact value', () => {
  const cases = [
    ['10', 10_000_000_000n],
    ['0.25', 250_000_000n],
    ['-3.5', -3_500_000_000n],
    ['0.000000001', 1n],
    ['1.0000000000000', 1_000_000_000n],
    ['9000000000', NANO_MAX],
  ] as const
  for (const [text, nano] of cases) assert.equal(parseCredits(text), nano, text)
})

test('anything but a plain decimal within bounds is refused', () => {
  const wrong = [
    '',
    ' ',
    '1e3',
    '0x10',
    '.5',
    '5.',
    '+1',
    '--1',
    '1,5',
    '1_000',
    '0.0000000001',
    '9000000000.000000001',
  ]
  const wronger = ['Infinity', 'NaN', '١', '1\n', '1 ', '9'.repeat(13), '1.2.3', 'null']

  for (const text of [...wrong, ...wronger]) assert.equal(parseCredits(text), undefined, JSON.stringify(text))
  assert.equal(parsePrice('-0.1'), undefined)
  assert.equal(parsePrice('0.0000000000001'), undefined)
})

test('a cost is the exact sum, rounded up by less than one nano-credit, and never below', () => {
  fc.assert(
    fc.property(tokens, prices, (used, price) => {
      const text = used.prompt - used.cached - used.cacheWrite - used.image - used.audio
      const exact =
        BigInt(text) * price.prompt +
        BigInt(used.image) * (price.image ?? 0n) +
        BigInt(used.audio) * (price.audio ?? 0n) +
        BigInt(used.cached) * price.cacheRead +
        BigInt(used.cacheWrite) * price.cacheWrite +
        BigInt(used.completion) * price.completion +
        price.request

      const cost = costOf(used, price) * 1000n

      assert.ok(cost >= exact && cost < exact + 1000n)
    }),
  )
})

test('no split of a prompt between uncached, cached and cache-write tokens costs more than the worst case', () => {
  fc.assert(
    fc.property(tokens, prices, (used, price) => {
      const worst = worstPrompt(used.prompt, price, true) + BigInt(used.completion) * price.completion

      assert.ok(costOf(used, price) * 1000n < worst + 1000n)
    }),
  )
})

test('images and audio without a price of their own have that of the prompt', () => {
  const { image: _, audio: __, ...plain } = { ...FLAT, prompt: 7000n, image: 1n, audio: 1n }

  assert.equal(costOf({ ...NO_TOKENS, prompt: 30, image: 10, audio: 5 }, plain), 210n)
  assert.equal(costOf({ ...NO_TOKENS, prompt: 30, image: 10, audio: 5 }, { ...plain, audio: 9000n }), 220n)
})

test('without media the worst case leaves out the prices of images and audio', () => {
  assert.equal(worstPrompt(10, { ...FLAT, image: 50n }, false), 10n)
  assert.equal(worstPrompt(10, { ...FLAT, image: 50n, audio: 60n }, true), 600n)
})

test('the computed number of tokens fits into an amount, and one more does not', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 12n })
  fc.assert(
    fc.property(amount, pico, fc.bigInt({ min: 1n, max: 10n ** 12n }), (nano, base, price) => {
      const count = BigInt(tokensFor(nano, base, price))

      assert.ok(count === 0n || base + count * price <= nano * 1000n)
      assert.ok(base + (count + 1n) * price > nano * 1000n)
    }),
  )
  assert.equal(tokensFor(5n, 5000n, 0n), Number.MAX_SAFE_INTEGER)
  assert.equal(tokensFor(5n, 5001n, 0n), 0)
})
