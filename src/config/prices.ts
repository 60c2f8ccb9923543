// Money in the configuration file: US dollars per token, and the factors that convert them to credits.

import { CHOICES_MAX } from '../domain/catalog.ts'
import {
  COST_MAX,
  ceilNano,
  formatCredits,
  type Nano,
  type Pico,
  type Prices,
  parsePrice,
  type Rates,
  worstSum,
} from '../domain/credits.ts'
import {
  AT_PAR,
  costInCredits,
  type Exchange,
  type Factor,
  nanoOf,
  parseFactor,
  priceInCredits,
  type TargetCost,
} from '../domain/dollars.ts'
import { type Fields, fail, type Place, readDecimal, readFields } from './yaml.ts'

export const EXCHANGE_KEYS = ['credits_per_usd', 'markup']

// The largest request that a model accepts.
export type Size = { readonly contextLength: number; readonly maxOutputTokens: number }

export function readExchange(file: Fields): Exchange {
  return {
    creditsPerUsd: file.optional('credits_per_usd', readFactor, AT_PAR.creditsPerUsd),
    markup: file.optional('markup', readFactor, AT_PAR.markup),
  }
}

// What callers pay. The bound applies to this, whatever the file's own figures are.
export function readPrices(place: Place, size: Size, exchange: Exchange): Prices {
  const prices = readRates(place, entry => {
    const price = priceInCredits(readUsd(entry), exchange)
    return price ?? fail(entry, 'is too high: with credits_per_usd and markup it is above 9000000 credits')
  })
  checkWorst(place, ceilNano(worstOf(size, prices)))
  return prices
}

// What the operator pays for one target.
export function readCost(place: Place, size: Size, exchange: Exchange): TargetCost {
  const cost = readRates(place, entry => costInCredits(readUsd(entry), exchange))
  checkWorst(place, nanoOf(worstOf(size, cost)))
  return cost
}

function readFactor(place: Place): Factor {
  const rule = 'must be a plain decimal such as "1.25": above 0, at most 1000000, no exponent, at most 6 decimals'
  return parseFactor(readDecimal(place)) ?? fail(place, rule)
}

// A missing price is never zero: prompt and completion must be given; cache prices default to the prompt's.
function readRates<T extends bigint>(place: Place, read: (place: Place) => T): Rates<T> {
  const fields = readFields(place, ['prompt', 'completion', 'input_cache_read', 'input_cache_write', 'request'])
  const prompt = read(fields.need('prompt'))
  return {
    prompt,
    completion: read(fields.need('completion')),
    cacheRead: fields.optional('input_cache_read', read, prompt),
    cacheWrite: fields.optional('input_cache_write', read, prompt),
    request: fields.optional('request', read, 0n as T),
  }
}

function readUsd(place: Place): Pico {
  const rule =
    'must be US dollars per token as a plain decimal such as "0.0000025": not negative, no exponent, at most 12 decimals'
  return parsePrice(readDecimal(place)) ?? fail(place, rule)
}

function worstOf({ contextLength, maxOutputTokens }: Size, rates: Rates): bigint {
  return worstSum(contextLength, maxOutputTokens * CHOICES_MAX, rates)
}

function checkWorst(place: Place, worst: Nano): void {
  if (worst <= COST_MAX) return
  const most = `${formatCredits(worst)} credits, and ${formatCredits(COST_MAX)} is the most`
  fail(place, `is too high: one request with all of its context and output could cost ${most}`)
}
