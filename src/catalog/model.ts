// Creates a model from its validated document, with its prices in credits: US dollars per token times the operator's factors.
import type { Model, Target } from '../domain/catalog.ts'
import {
  costInCredits,
  type Exchange,
  type Prices,
  parsePrice,
  priceInCredits,
  type Rates,
  type TargetCost,
} from '../domain/credits.ts'
import type { ModelInput, RatesInput } from './schema.ts'

export type ModelDeclaration = Omit<Model, 'createdAt' | 'priceVersion'>

export function modelOf(input: ModelInput, exchange: Exchange): ModelDeclaration {
  const { id, targets, hidden_reasoning: hidden } = input
  return {
    id,
    aliases: input.aliases ?? [],
    name: input.name ?? id,
    description: input.description ?? '',
    ownedBy: input.owned_by ?? (id.includes('/') ? id.slice(0, id.indexOf('/')) : (targets[0]?.provider ?? '')),
    contextLength: input.context_length,
    maxOutputTokens: input.max_output_tokens ?? 0,
    ...(input.dimensions === undefined
      ? {}
      : { embedding: { dimensions: input.dimensions, dimensionsMin: input.dimensions_min ?? null } }),
    inputModalities: input.input_modalities ?? ['text'],
    mediaMaxTokens: input.media_max_tokens ?? 0,
    hiddenReasoning: hidden ?? false,
    // If not stated, the name decides whenever the catalog is read.
    ...(hidden === undefined ? {} : { hiddenReasoningStated: true }),
    supportedParameters: input.supported_parameters ?? [],
    strategy: input.strategy ?? 'priority',
    prices: pricesOf(input.pricing, exchange),
    targets: targets.map(target => targetOf(target, exchange)),
  }
}

// What callers pay.
export function pricesOf(pricing: RatesInput, exchange: Exchange): Prices {
  return ratesOf(pricing, usd => priceInCredits(usd, exchange) ?? beyond())
}

// What the operator pays for one target.
export function costsOf(cost: RatesInput, exchange: Exchange): TargetCost {
  return ratesOf(cost, usd => costInCredits(usd, exchange))
}

function targetOf(
  { cost, provider, model, priority = 0, weight = 1 }: ModelInput['targets'][number],
  exchange: Exchange,
): Target {
  const target = { provider, model, priority, weight }
  return cost === undefined ? target : { ...target, cost: costsOf(cost, exchange) }
}

// A missing price is never zero: prompt and completion are required, except that a model that embeds has no completion; cache
// prices default to the prompt's.
function ratesOf<T extends bigint>(rates: RatesInput, convert: (usd: bigint) => T): Rates<T> {
  const read = (text: string) => convert(parsePrice(text) ?? beyond())
  const prompt = read(rates.prompt)
  return {
    prompt,
    completion: rates.completion === undefined ? (0n as T) : read(rates.completion),
    cacheRead: rates.input_cache_read === undefined ? prompt : read(rates.input_cache_read),
    cacheWrite: rates.input_cache_write === undefined ? prompt : read(rates.input_cache_write),
    ...(rates.input_cache_write_1h === undefined ? {} : { cacheWrite1h: read(rates.input_cache_write_1h) }),
    request: rates.request === undefined ? (0n as T) : read(rates.request),
  }
}

function beyond(): never {
  throw new Error('a price was not checked before it was converted')
}
