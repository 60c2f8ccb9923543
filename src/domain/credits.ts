// Money: whole nano-credits for amounts, whole pico-credits for prices, both bigint, so that a float never touches either.
import { withoutTrailing } from '../lib/text.ts'

declare const unit: unique symbol

// 10⁻⁹ credit. Balances, holds and costs.
export type Nano = bigint & { readonly [unit]?: 'nano' }
// 10⁻¹² credit. Prices per token or per request.
export type Pico = bigint & { readonly [unit]?: 'pico' }
// 10⁻¹⁸ credit. The operator's cost per token, not yet rounded.
export type Atto = bigint & { readonly [unit]?: 'atto' }

// The price of each kind of token, all in one unit.
export type TokenRates<Unit extends bigint = bigint> = {
  readonly prompt: Unit
  readonly completion: Unit
  readonly cacheRead: Unit
  // Written for five minutes, and for one hour; the latter is absent where it is not offered.
  readonly cacheWrite: Unit
  readonly cacheWrite1h?: Unit
  // Images and audio in the prompt, unless cached; the prompt's price where absent.
  readonly image?: Unit
  readonly audio?: Unit
}
// What a request costs whose prompt is longer: all of its tokens.
export type Tier<Unit extends bigint = bigint> = TokenRates<Unit> & { readonly abovePromptTokens: number }

// The price of a request: of its tokens, and its own. Tiers are in ascending order; most models have none.
export type Rates<Unit extends bigint = bigint> = TokenRates<Unit> & {
  readonly request: Unit
  readonly tiers?: readonly Tier<Unit>[]
}
export type Prices = Rates<Pico>
// The operator's cost of a target, without markup: every digit of dollars times rate, so that only the sum over a request's
// tokens is rounded.
export type TargetCost = Rates<Atto>

export type Tokens = {
  readonly prompt: number
  readonly cached: number
  readonly cacheWrite: number
  // Part of `cacheWrite`.
  readonly cacheWrite1h: number
  // Of the prompt's images and audio, neither read from the cache nor written to it.
  readonly image: number
  readonly audio: number
  readonly completion: number
  readonly reasoning: number
}

export const NO_TOKENS: Tokens = {
  prompt: 0,
  cached: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  image: 0,
  audio: 0,
  completion: 0,
  reasoning: 0,
}

// SQL stores amounts as 64-bit integers; the maximum is nine billion credits.
export const NANO_MAX: Nano = 9_000_000_000_000_000_000n

export function costOf(tokens: Tokens, prices: Prices): Nano {
  return ceilNano(sumOf(tokens, prices))
}

export function upstreamCostOf(tokens: Tokens, cost: TargetCost): Nano {
  return nanoOf(sumOf(tokens, cost))
}

// The only place where tokens become money: the exact sum, in the unit of the rates, to be rounded up once.
export function sumOf(tokens: Tokens, rates: Rates): bigint {
  const at = rates.tiers === undefined ? rates : ratesFor(tokens.prompt, rates, rates.tiers)
  const text = BigInt(tokens.prompt - tokens.cached - tokens.cacheWrite - tokens.image - tokens.audio)
  return (
    text * at.prompt +
    (tokens.image === 0 ? 0n : BigInt(tokens.image) * (at.image ?? at.prompt)) +
    (tokens.audio === 0 ? 0n : BigInt(tokens.audio) * (at.audio ?? at.prompt)) +
    BigInt(tokens.cached) * at.cacheRead +
    BigInt(tokens.cacheWrite - tokens.cacheWrite1h) * at.cacheWrite +
    (tokens.cacheWrite1h === 0 ? 0n : BigInt(tokens.cacheWrite1h) * (at.cacheWrite1h ?? at.cacheWrite)) +
    BigInt(tokens.completion) * at.completion +
    rates.request
  )
}

// The last tier that the prompt is long enough for; without one, the base.
function ratesFor(promptTokens: number, base: TokenRates, tiers: readonly Tier[]): TokenRates {
  let found = base
  for (const tier of tiers) {
    if (promptTokens <= tier.abovePromptTokens) break
    found = tier
  }
  return found
}

// The maximum cost of a prompt of up to this many tokens including the request's own price, in whichever tier it turns out to be
// and whatever part of it is cached, or is an image or audio where it has media. Not rounded: rounding happens once, after the
// output has been added.
export function worstPrompt(promptTokens: number, rates: Rates, hasMedia: boolean): bigint {
  const { tiers } = rates
  if (tiers === undefined) return BigInt(promptTokens) * highestPromptRate(rates, hasMedia) + rates.request
  let worst = 0n
  let at: TokenRates = rates
  for (const tier of tiers) {
    if (promptTokens <= tier.abovePromptTokens) break
    worst = max(worst, BigInt(tier.abovePromptTokens) * highestPromptRate(at, hasMedia))
    at = tier
  }
  return max(worst, BigInt(promptTokens) * highestPromptRate(at, hasMedia)) + rates.request
}

// The highest price of an output token after a prompt of up to this many tokens.
export function worstCompletion<Unit extends bigint>(promptTokens: number, { completion, tiers }: Rates<Unit>): Unit {
  let worst = completion
  for (const tier of tiers ?? NO_TIERS) {
    if (promptTokens <= tier.abovePromptTokens) break
    if (tier.completion > worst) worst = tier.completion as Unit
  }
  return worst
}

const NO_TIERS: readonly Tier[] = []

// Of any prompt and output together, in the unit of the rates.
export function worstSum(promptTokens: number, outputTokens: number, rates: Rates): bigint {
  return worstPrompt(promptTokens, rates, true) + BigInt(outputTokens) * worstCompletion(promptTokens, rates)
}

// The maximum cost of one request: far above any real one, and small enough that a hundred of them fit into 64 bits.
export const COST_MAX: Nano = NANO_MAX / 100n

function highestPromptRate(rates: TokenRates, hasMedia: boolean): bigint {
  const { prompt, cacheRead, cacheWrite, cacheWrite1h = 0n, image = 0n, audio = 0n } = rates
  const highest = max(max(prompt, cacheRead), max(cacheWrite, cacheWrite1h))
  return hasMedia ? max(highest, max(image, audio)) : highest
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

// How many whole tokens at this price fit into the amount after `base` is deducted.
export function tokensFor(amount: Nano, base: Pico, price: Pico): number {
  const left = amount * 1000n - base
  if (left < 0n) return 0
  if (price === 0n) return Number.MAX_SAFE_INTEGER
  const tokens = left / price
  return tokens > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(tokens)
}

export function ceilNano(pico: bigint): Nano {
  return (pico + 999n) / 1000n
}

export function nanoOf(atto: Atto): Nano {
  return ceilDiv(atto, 1_000_000_000n)
}

export function ceilDiv(amount: bigint, by: bigint): bigint {
  return (amount + by - 1n) / by
}

// "10", "0.25", "-3.5": at most nine decimals, no exponent, within 64 bits. Anything else is undefined.
export function parseCredits(text: string): Nano | undefined {
  const nano = parseDecimal(text, 9)
  return nano === undefined || nano > NANO_MAX || nano < -NANO_MAX ? undefined : nano
}

// For a string that is not an amount: whether only its size is wrong.
export function isBeyondCredits(text: string): boolean {
  return parseCredits(text) === undefined && /^-?\d+(?:\.\d{1,9}0*)?$/.test(text)
}

// A price: not negative, at most twelve decimals.
export function parsePrice(text: string): Pico | undefined {
  const pico = parseDecimal(text, 12)
  return pico === undefined || pico < 0n || pico > NANO_MAX ? undefined : pico
}

// With full precision: not negative, at most eighteen decimals.
export function parseAtto(text: string): Atto | undefined {
  const atto = parseDecimal(text, 18)
  return atto === undefined || atto < 0n ? undefined : atto
}

export function formatAtto(atto: Atto): string {
  return formatDecimal(atto, 18)
}

export function formatCredits(nano: Nano): string {
  return formatDecimal(nano, 9)
}

export function formatPrice(pico: Pico): string {
  return formatDecimal(pico, 12)
}

// A plain decimal in units of its last decimal.
export function parseDecimal(text: string, decimals: number): bigint | undefined {
  const match = /^(-?)(\d{1,12})(?:\.(\d+))?$/.exec(text)
  if (match === null) return undefined
  const fraction = withoutTrailing(match[3] ?? '', '0')
  if (fraction.length > decimals) return undefined
  const whole = BigInt((match[2] ?? '') + fraction.padEnd(decimals, '0'))
  return match[1] === '-' ? -whole : whole
}

export function formatDecimal(amount: bigint, decimals: number): string {
  if (amount === 0n) return '0'
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0')
  const point = digits.length - decimals
  let end = digits.length
  while (end > point && digits.charCodeAt(end - 1) === ZERO) end -= 1
  const sign = amount < 0n ? '-' : ''
  return end === point ? sign + digits.slice(0, point) : `${sign}${digits.slice(0, point)}.${digits.slice(point, end)}`
}

const ZERO = 0x30
