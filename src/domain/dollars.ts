// Converts the operator's US dollars to credits exactly: factors are whole millionths, and rounding happens once, upwards. See
// docs/decisions/prices.md.
import { type Atto, ceilDiv, formatDecimal, NANO_MAX, type Pico, parseDecimal } from './credits.ts'

// 10⁻⁶ of one.
export type Factor = bigint

// The number of credits per dollar, and the markup that the caller pays.
export type Exchange = { readonly creditsPerUsd: Factor; readonly markup: Factor }

const ONE: Factor = 1_000_000n
export const AT_PAR: Exchange = { creditsPerUsd: ONE, markup: ONE }

const FACTOR_MAX: Factor = 1_000_000n * ONE

// "100", "1.25": above zero, at most six decimals and a million. Anything else is undefined.
export function parseFactor(text: string): Factor | undefined {
  const factor = parseDecimal(text, 6)
  return factor === undefined || factor <= 0n || factor > FACTOR_MAX ? undefined : factor
}

export function formatFactor(factor: Factor): string {
  return formatDecimal(factor, 6)
}

// The caller's price for an amount in pico-dollars; undefined when it exceeds the maximum price.
export function priceInCredits(usd: Pico, { creditsPerUsd, markup }: Exchange): Pico | undefined {
  const price = ceilDiv(usd * creditsPerUsd * markup, ONE * ONE)
  return price > NANO_MAX ? undefined : price
}

// The operator's cost, without markup and with every digit.
export function costInCredits(usd: Pico, { creditsPerUsd }: Exchange): Atto {
  return usd * creditsPerUsd
}
