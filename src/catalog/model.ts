// Creates a model from its validated document, with its prices in credits: US dollars per token times the operator's factors.
import type { Model, Target } from '../domain/catalog.ts'
import { type Prices, parsePrice, type Rates, type TargetCost, type Tier, type TokenRates } from '../domain/credits.ts'
import { costInCredits, type Exchange, priceInCredits } from '../domain/dollars.ts'
import type { ModelInput, RatesInput, TierInput, TokenRatesInput } from './schema.ts'

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
function ratesOf<T extends bigint>(input: RatesInput, convert: (usd: bigint) => T): Rates<T> {
  const read = (text: string) => convert(parsePrice(text) ?? beyond())
  const { tiers = [], request } = input
  return {
    ...tokenRatesOf(input, read),
    request: request === undefined ? (0n as T) : read(request),
    ...(tiers.length === 0 ? {} : { tiers: tiers.map(tier => tierOf(tier, input, read)) }),
  }
}

function tokenRatesOf<T extends bigint>(input: TokenRatesInput, read: (text: string) => T): TokenRates<T> {
  const prompt = read(input.prompt)
  return {
    prompt,
    completion: input.completion === undefined ? (0n as T) : read(input.completion),
    cacheRead: input.input_cache_read === undefined ? prompt : read(input.input_cache_read),
    cacheWrite: input.input_cache_write === undefined ? prompt : read(input.input_cache_write),
    ...(input.input_cache_write_1h === undefined ? {} : { cacheWrite1h: read(input.input_cache_write_1h) }),
    ...(input.image === undefined ? {} : { image: read(input.image) }),
    ...(input.audio === undefined ? {} : { audio: read(input.audio) }),
  }
}

// A price that only the base states is the base's in the tier too, or the tier's prompt price if that is higher.
function tierOf<T extends bigint>(tier: TierInput, base: TokenRatesInput, read: (text: string) => T): Tier<T> {
  const own = tokenRatesOf(tier, read)
  const orBase = (name: OptionalRate): T | undefined => {
    const stated = tier[name] ?? base[name]
    const rate = stated === undefined ? undefined : read(stated)
    return tier[name] === undefined && rate !== undefined && rate < own.prompt ? own.prompt : rate
  }
  const [cacheWrite1h, image, audio] = [orBase('input_cache_write_1h'), orBase('image'), orBase('audio')]
  return {
    ...own,
    abovePromptTokens: tier.above_prompt_tokens,
    cacheRead: orBase('input_cache_read') ?? own.prompt,
    cacheWrite: orBase('input_cache_write') ?? own.prompt,
    ...(cacheWrite1h === undefined ? {} : { cacheWrite1h }),
    ...(image === undefined ? {} : { image }),
    ...(audio === undefined ? {} : { audio }),
  }
}

type OptionalRate = Exclude<keyof TokenRatesInput, 'prompt' | 'completion'>

function beyond(): never {
  throw new Error('a price was not checked before it was converted')
}
