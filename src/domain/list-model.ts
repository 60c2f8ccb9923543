// Converts a model of the price list to the form of the configuration file: floats per million tokens become exact decimals per
// token, once, through their shortest decimal representation.
import type { ListedModel } from '../lib/price-list.ts'
import { type EnteredRates, PRICE_TIERS_MAX } from './catalog.ts'
import { ceilDiv, formatPrice, type Pico } from './credits.ts'

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
  readonly pricing: EnteredRates
  // With the list's price as the operator's cost.
  readonly targets: readonly [{ readonly provider: string; readonly model: string; readonly cost: EnteredRates }]
}

// What an import does to the operator's cost of targets.
export const IMPORT_COSTS = ['fill', 'replace', 'keep'] as const

// The document, or the reason why there is none.
export function documentOf(listed: ListedModel, how: ListedAs): ModelDocument | string {
  const { input, output } = listed.dollars
  if (input === undefined || output === undefined) return 'no text prices in the list'
  if (listed.tiers.length > PRICE_TIERS_MAX) return `more than ${PRICE_TIERS_MAX} price tiers in the list`
  const facts = factsOf(listed.id)
  const contextLength = listed.contextLength ?? facts?.contextLength ?? how.contextLength
  if (contextLength === undefined) return 'the list has no context length; specify one'
  const isBounded = facts !== undefined && facts.maxOutputTokens === null
  const maxOutputTokens = isBounded ? contextLength : (facts?.maxOutputTokens ?? how.maxOutputTokens)
  if (maxOutputTokens === undefined) return 'the maximum number of output tokens is unknown; specify one'
  const pricing = pricingOf(listed)
  return {
    id: how.prefix + listed.id,
    name: listed.name,
    description: listed.description.replace(/\p{Cc}+/gu, ' ').slice(0, DESCRIPTION_MAX),
    context_length: contextLength,
    max_output_tokens: Math.min(maxOutputTokens, contextLength),
    ...(facts?.hiddenReasoning ? { hidden_reasoning: true } : {}),
    pricing,
    targets: [{ provider: how.provider, model: how.upstreamPrefix + listed.id, cost: pricing }],
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

function pricingOf({ dollars, tiers }: ListedModel): EnteredRates {
  const longer = tiers.map(tier => ({ above_prompt_tokens: tier.abovePromptTokens, ...ratesOf(tier.dollars) }))
  return { ...ratesOf(dollars), ...(longer.length === 0 ? {} : { tiers: longer }) }
}

// Reasoning is output: where it has its own price, the higher of the two is used.
function ratesOf(dollars: ListedModel['dollars']): EnteredRates {
  const { input = 0, output = 0, output_reasoning = 0, cache_read, cache_write, cache_write_1h } = dollars
  const { input_image, input_audio } = dollars
  const stated = { input_cache_read: cache_read, input_cache_write: cache_write, input_cache_write_1h: cache_write_1h }
  const others = Object.entries({ ...stated, image: input_image, audio: input_audio })
  return {
    prompt: perToken(input),
    completion: perToken(Math.max(output, output_reasoning)),
    ...Object.fromEntries(others.flatMap(([name, price]) => (price === undefined ? [] : [[name, perToken(price)]]))),
  }
}

// Data about well-known models that the price list lacks: maximum output, context length where the list has none, and hidden
// reasoning. From the vendors' own pages.
type ModelFacts = {
  // Null: limited only by the context.
  readonly maxOutputTokens: number | null
  readonly contextLength?: number
  readonly hiddenReasoning?: boolean
}

// By name without any prefix. A missing name is not guessed: too low a maximum would give output away, too high a one is refused
// by the vendor.
function factsOf(name: string): ModelFacts | undefined {
  const bare = name.slice(name.lastIndexOf('/') + 1)
  return FACTS.find(([pattern]) => pattern.test(bare))?.[1]
}

const K128 = 131_072
const THINKING_100K: ModelFacts = { maxOutputTokens: 100_000, hiddenReasoning: true }
const THINKING_128K: ModelFacts = { maxOutputTokens: 128_000, hiddenReasoning: true }
const THINKING_64K: ModelFacts = { maxOutputTokens: 65_536, hiddenReasoning: true, contextLength: 1_048_576 }

const FACTS: readonly (readonly [RegExp, ModelFacts])[] = [
  [/^(chatgpt-4o-latest|gpt-4o|gpt-4o-mini)$/, { maxOutputTokens: 16_384 }],
  [/^gpt-4\.1(-mini|-nano)?$/, { maxOutputTokens: 32_768 }],
  [/^gpt-4-turbo$/, { maxOutputTokens: 4096 }],
  [/^gpt-4$/, { maxOutputTokens: 8192 }],
  [/^gpt-3\.5-turbo$/, { maxOutputTokens: 4096 }],
  [/^gpt-5(\.1|\.2)?(-mini|-nano)?$/, THINKING_128K],
  [/^(o1|o3|o3-mini|o3-pro|o4-mini)$/, THINKING_100K],
  [/^gpt-oss-(20b|120b)$/, { maxOutputTokens: 65_536, contextLength: K128 }],
  [/^claude-3-(haiku|opus|sonnet)/, { maxOutputTokens: 4096 }],
  [/^claude-3[.-]5-/, { maxOutputTokens: 8192 }],
  [/^claude-(3[.-]7-sonnet|sonnet-4[.-][0156]|haiku-4[.-]5|opus-4[.-]5)/, { maxOutputTokens: 64_000 }],
  [/^claude-opus-4[.-][01]$/, { maxOutputTokens: 32_000 }],
  [/^claude-opus-4[.-]6$/, { maxOutputTokens: 128_000 }],
  [/^gemini-(1\.5|2\.0)-(pro|flash|flash-lite)$/, { maxOutputTokens: 8192, contextLength: 1_048_576 }],
  [/^gemini-(2\.5-(pro|flash|flash-lite)|3-(pro|flash)-preview|3\.1-pro-preview)$/, THINKING_64K],
  [/^llama-3\.3-70b-versatile$/, { maxOutputTokens: 32_768, contextLength: K128 }],
  [/^llama-3\.1-8b-instant$/, { maxOutputTokens: K128, contextLength: K128 }],
  [/^deepseek-chat$/, { maxOutputTokens: 8192 }],
  [/^deepseek-reasoner$/, { maxOutputTokens: 65_536 }],
  [/^grok-4/, { maxOutputTokens: null, hiddenReasoning: true }],
  [/^grok-(2|3|code)/, { maxOutputTokens: null }],
  [/^(mistral-(large|medium|small)(-latest)?|mistral-nemo)$/, { maxOutputTokens: null, contextLength: K128 }],
  [/^(mistral|ministral|codestral|devstral)-?[\w-]*$/, { maxOutputTokens: null }],
  [/^Llama-3\.3-70B-Instruct-Turbo$/, { maxOutputTokens: null, contextLength: K128 }],
  [/^command-a$/, { maxOutputTokens: 8000, contextLength: 256_000 }],
  [/^command-r(-plus|7b)?$/, { maxOutputTokens: 4000, contextLength: 128_000 }],
]
