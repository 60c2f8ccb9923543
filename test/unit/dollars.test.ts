// Dollars to credits: exact factors, and prices and costs that are the exact product, rounded up once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readCost, writeCost } from '../../src/domain/catalog.ts'
import { NANO_MAX, NO_TOKENS, upstreamCostOf } from '../../src/domain/credits.ts'
import { AT_PAR, costInCredits, parseFactor, priceInCredits } from '../../src/domain/dollars.ts'

const MILLION = 1_000_000n
const factor = fc.bigInt({ min: 1n, max: MILLION * MILLION })
const usd = fc.bigInt({ min: 0n, max: 10n ** 13n })

test('a factor is parsed to its exact value', () => {
  const cases = [
    ['1', MILLION],
    ['100', 100n * MILLION],
    ['1.25', 1_250_000n],
    ['1.250000000', 1_250_000n],
    ['0.000001', 1n],
    ['1000000', MILLION * MILLION],
  ] as const
  for (const [text, millionths] of cases) assert.equal(parseFactor(text), millionths, text)
})

test('a factor that is not above zero, is above a million or finer than a millionth is refused', () => {
  const wrong = [
    '0',
    '0.0',
    '-1',
    '1000000.000001',
    '0.0000001',
    '1e2',
    '0x10',
    '.5',
    '5.',
    '',
    ' 1',
    'NaN',
    'Infinity',
  ]

  for (const text of wrong) assert.equal(parseFactor(text), undefined, JSON.stringify(text))
})

test('at a rate of one a price is unchanged', () => {
  fc.assert(fc.property(usd, price => assert.equal(priceInCredits(price, AT_PAR), price)))
})

test('a price is the exact product of dollars, rate and markup, rounded up by less than a pico-credit, and never below', () => {
  fc.assert(
    fc.property(usd, factor, factor, (price, creditsPerUsd, markup) => {
      // Everything over the same denominator: millionths of millionths of a pico-credit.
      const exact = price * creditsPerUsd * markup
      const saved = priceInCredits(price, { creditsPerUsd, markup })

      if (saved === undefined) return assert.ok(exact > NANO_MAX * MILLION * MILLION)
      assert.ok(saved <= NANO_MAX)
      const told = saved * MILLION * MILLION
      assert.ok(told >= exact && told < exact + MILLION * MILLION)
    }),
  )
})

test('two factors are rounded as one', () => {
  const third = { creditsPerUsd: 333_333n, markup: 3_000_000n }

  // 1 × 0.333333 would be 1 by itself, and 1 × 3 is 3; together they are 0.999999.
  assert.equal(priceInCredits(1n, third), 1n)
  assert.equal(priceInCredits(1n, { ...third, markup: 3_000_004n }), 2n)
  assert.equal(priceInCredits(0n, third), 0n)
})

test('the highest price fits into 64 bits, for any factors', () => {
  const hundred = { creditsPerUsd: 100n * MILLION, markup: MILLION }

  assert.equal(priceInCredits(NANO_MAX / 100n, hundred), NANO_MAX)
  assert.equal(priceInCredits(NANO_MAX / 100n + 1n, hundred), undefined)
})

const rates = fc.record({ prompt: usd, completion: usd, cacheRead: usd, cacheWrite: usd, request: usd })
type Rates = Readonly<Record<'prompt' | 'completion' | 'cacheRead' | 'cacheWrite' | 'request', bigint>>

function costAt(given: Rates, creditsPerUsd: bigint): Rates {
  const inCredits = (price: bigint) => costInCredits(price, { creditsPerUsd, markup: 7n })
  return {
    prompt: inCredits(given.prompt),
    completion: inCredits(given.completion),
    cacheRead: inCredits(given.cacheRead),
    cacheWrite: inCredits(given.cacheWrite),
    request: inCredits(given.request),
  }
}

test("a target's cost is the exact sum times the rate, without markup, rounded up once to a nano-credit", () => {
  const count = fc.nat(1e7)
  fc.assert(
    fc.property(rates, factor, count, count, count, count, (given, rate, fresh, cached, cacheWrite, completion) => {
      const tokens = {
        ...NO_TOKENS,
        prompt: fresh + cached + cacheWrite,
        cached,
        cacheWrite,
        completion,
      }
      const dollars =
        BigInt(fresh) * given.prompt +
        BigInt(cached) * given.cacheRead +
        BigInt(cacheWrite) * given.cacheWrite +
        BigInt(completion) * given.completion +
        given.request

      const told = upstreamCostOf(tokens, costAt(given, rate)) * 1000n * MILLION

      const exact = dollars * rate
      assert.ok(told >= exact && told < exact + 1000n * MILLION)
    }),
  )
})

test('a cost finer than a pico-credit is not rounded token by token', () => {
  const tokens = { ...NO_TOKENS, prompt: 10_000 }
  const nothing = { prompt: 0n, completion: 0n, cacheRead: 0n, cacheWrite: 0n, request: 0n }

  // A pico-dollar at 12.5 credits a dollar is 12.5 pico-credits, and ten thousand of them are 125 nano-credits.
  assert.equal(upstreamCostOf(tokens, costAt({ ...nothing, prompt: 1n }, 12_500_000n)), 125n)
})

test('a cost is read from the catalog as it was written', () => {
  fc.assert(
    fc.property(rates, factor, (given, rate) => {
      const cost = costAt(given, rate)

      assert.deepEqual(readCost(JSON.parse(JSON.stringify(writeCost(cost)))), cost)
    }),
  )
})
