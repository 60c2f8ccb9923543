// Converts a model of the price list to the form of the configuration file: floats per million tokens become exact decimals per
// token, once, through their shortest decimal representation.
import type { ListedModel } from '../lib/price-list.ts'
import { formatPrice, type Pico } from './credits.ts'
import { factsOf } from './model-facts.ts'

export type ListedAs = {
  // The catalog's provider that serves it, and the prefix of the model's name there.
  readonly provider: string
  readonly upstreamPrefix: string
  // The prefix of the catalog's id.
  readonly prefix: string
  // Defaults where neither the list nor our own data has a value.
  readonly contextLength?: number | undefined
  readonly maxOutputTokens?: number | undefined
}

export type ModelDocument = Readonly<Record<string, unknown>> & {
  readonly id: string
  readonly pricing: Readonly<Record<string, string>>
  readonly targets: readonly { readonly provider: string; readonly model: string }[]
}

// The document, or the reason why there is none.
export function documentOf(listed: ListedModel, how: ListedAs): ModelDocument | string {
  const { input, output } = listed.dollars
  if (input === undefined || output === undefined) return 'no text prices in the list'
  const facts = factsOf(listed.id)
  const contextLength = listed.contextLength ?? facts?.contextLength ?? how.contextLength
  if (contextLength === undefined) return 'the list has no context length; specify one'
  const isBounded = facts !== undefined && facts.maxOutputTokens === null
  const maxOutputTokens = isBounded ? contextLength : (facts?.maxOutputTokens ?? how.maxOutputTokens)
  if (maxOutputTokens === undefined) return 'the maximum number of output tokens is unknown; specify one'
  return {
    id: how.prefix + listed.id,
    name: listed.name,
    description: listed.description.replace(/\p{Cc}+/gu, ' ').slice(0, DESCRIPTION_MAX),
    context_length: contextLength,
    max_output_tokens: Math.min(maxOutputTokens, contextLength),
    ...(facts?.hiddenReasoning ? { hidden_reasoning: true } : {}),
    pricing: pricingOf(listed),
    targets: [{ provider: how.provider, model: how.upstreamPrefix + listed.id }],
  }
}

// Exact except for digits beyond a pico-dollar, which are rounded up.
export function perToken(dollarsPerMillion: number): string {
  const match = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(dollarsPerMillion))
  if (match === null) throw new Error('a listed price is not a number')
  const [, whole = '', fraction = '', exponent = '0'] = match
  // A price per million tokens in pico-dollars per token: the digits shift by six places, not by twelve.
  const places = 6 + Number(exponent) - fraction.length
  const digits = BigInt(whole + fraction)
  const pico: Pico = places >= 0 ? digits * 10n ** BigInt(places) : ceilDiv(digits, 10n ** BigInt(-places))
  return formatPrice(pico)
}

const DESCRIPTION_MAX = 2000

// Reasoning is output: where it has its own price, the higher of the two is used.
function pricingOf({ dollars }: ListedModel): Readonly<Record<string, string>> {
  const { input = 0, output = 0, output_reasoning = 0, cache_read, cache_write } = dollars
  return {
    prompt: perToken(input),
    completion: perToken(Math.max(output, output_reasoning)),
    ...(cache_read === undefined ? {} : { input_cache_read: perToken(cache_read) }),
    ...(cache_write === undefined ? {} : { input_cache_write: perToken(cache_write) }),
  }
}

function ceilDiv(amount: bigint, by: bigint): bigint {
  return (amount + by - 1n) / by
}
