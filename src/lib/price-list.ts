// The bundled price list (@pydantic/genai-prices): a vendor's models and their prices. Loaded on first use and never updated over
// the network.
import { createRequire } from 'node:module'
import type * as GenaiPrices from '@pydantic/genai-prices'

export type PriceList = { readonly id: string; readonly name: string; readonly models: readonly ListedModel[] }

export type ListedModel = {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly contextLength: number | undefined
  readonly isDeprecated: boolean
  // US dollars per million tokens, as in the list. If several apply at different times of the day, the highest.
  readonly dollars: ListedRates
  // Of longer prompts, in ascending order.
  readonly tiers: readonly { readonly abovePromptTokens: number; readonly dollars: ListedRates }[]
  // Notes for readers of these prices.
  readonly notes: readonly string[]
}

const RATES = [
  'input',
  'output',
  'output_reasoning',
  'cache_read',
  'cache_write',
  'cache_write_1h',
  'input_image',
  'input_audio',
] as const
type ListedRates = Readonly<Partial<Record<(typeof RATES)[number], number>>>

// Undefined if the list does not contain the vendor. `now` selects among dated prices.
export function priceListOf(vendor: string, now: number): PriceList | undefined {
  const { findProvider } = createRequire(import.meta.url)('@pydantic/genai-prices') as typeof GenaiPrices
  const found = findProvider({ providerId: vendor })
  if (found === undefined) return undefined
  return { id: found.id, name: found.name, models: found.models.map(model => readModel(model, now)) }
}

function readModel(model: GenaiPrices.ModelInfo, now: number): ListedModel {
  const { prices, notes } = inForce(model.prices, now)
  return {
    id: model.id,
    name: model.name ?? model.id,
    description: model.description ?? '',
    contextLength: model.context_window,
    isDeprecated: model.deprecated ?? false,
    dollars: ratesAt(0, prices),
    tiers: startsOf(prices).map(start => ({ abovePromptTokens: start, dollars: ratesAt(start + 1, prices) })),
    notes,
  }
}

type Price = GenaiPrices.ModelPrice[string]

// Of a prompt of this many tokens.
function ratesAt(promptTokens: number, prices: readonly GenaiPrices.ModelPrice[]): ListedRates {
  const rates: Partial<Record<(typeof RATES)[number], number>> = {}
  for (const rate of RATES) {
    const all = prices.flatMap(each => rateAt(promptTokens, each[`${rate}_mtok`]))
    if (all.length > 0) rates[rate] = Math.max(...all)
  }
  return rates
}

function rateAt(promptTokens: number, price: Price): readonly number[] {
  if (price === undefined) return []
  if (typeof price === 'number') return [price]
  const { base, tiers } = price
  return [tiers.findLast(({ start }) => promptTokens > start)?.price ?? base]
}

// Where any price changes, in ascending order.
function startsOf(prices: readonly GenaiPrices.ModelPrice[]): readonly number[] {
  const tiered = prices
    .flatMap(each => RATES.map(rate => each[`${rate}_mtok`]))
    .filter(price => typeof price === 'object')
  const starts = tiered.flatMap(({ tiers }) => tiers.map(({ start }) => start))
  return [...new Set(starts)].filter(start => start > 0).sort((a, b) => a - b)
}

type InForce = { readonly prices: readonly GenaiPrices.ModelPrice[]; readonly notes: readonly string[] }

// The last price that has begun; where prices depend on the time of day, all of them.
function inForce(prices: GenaiPrices.ModelInfo['prices'], now: number): InForce {
  if (!Array.isArray(prices)) return { prices: [prices], notes: [] }
  const begun = prices.filter(({ constraint }) => constraint?.type !== 'start_date' || beginOf(constraint) <= now)
  const coming = prices.flatMap(({ constraint }) =>
    constraint?.type === 'start_date' && beginOf(constraint) > now ? [constraint.start_date] : [],
  )
  const notes = coming.map(date => `the price changes on ${date}`)
  if (begun.some(({ constraint }) => constraint?.type === 'time_of_date')) {
    return {
      prices: begun.map(each => each.prices),
      notes: ['priced by time of day; the highest price is used', ...notes],
    }
  }
  const last = begun.at(-1)
  return { prices: last === undefined ? [] : [last.prices], notes }
}

function beginOf({ start_date }: GenaiPrices.StartDateConstraint): number {
  return Date.parse(start_date)
}
