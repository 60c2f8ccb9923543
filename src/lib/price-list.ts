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
  // US dollars per million tokens, as in the list. If several apply, the highest.
  readonly dollars: Readonly<Partial<Record<ListedRate, number>>>
  // Notes for readers of these prices.
  readonly notes: readonly string[]
}

const RATES = ['input', 'output', 'output_reasoning', 'cache_read', 'cache_write'] as const
type ListedRate = (typeof RATES)[number]

// Undefined if the list does not contain the vendor. `now` selects among dated prices.
export function priceListOf(vendor: string, now: number): PriceList | undefined {
  const { findProvider } = createRequire(import.meta.url)('@pydantic/genai-prices') as typeof GenaiPrices
  const found = findProvider({ providerId: vendor })
  if (found === undefined) return undefined
  return { id: found.id, name: found.name, models: found.models.map(model => readModel(model, now)) }
}

function readModel(model: GenaiPrices.ModelInfo, now: number): ListedModel {
  const { prices, notes } = inForce(model.prices, now)
  const dollars: Partial<Record<ListedRate, number>> = {}
  let isTiered = false
  for (const rate of RATES) {
    const stated = prices.map(each => each[`${rate}_mtok`]).filter(price => price !== undefined)
    if (stated.some(price => typeof price === 'object')) isTiered = true
    const all = stated.flatMap(price => (typeof price === 'number' ? [price] : everyTier(price)))
    if (all.length > 0) dollars[rate] = Math.max(...all)
  }
  return {
    id: model.id,
    name: model.name ?? model.id,
    description: model.description ?? '',
    contextLength: model.context_window,
    isDeprecated: model.deprecated ?? false,
    dollars,
    notes: isTiered ? [...notes, 'priced by prompt length; the most expensive tier is used'] : notes,
  }
}

function everyTier({ base, tiers }: GenaiPrices.TieredPrices): readonly number[] {
  return [base, ...tiers.map(tier => tier.price)]
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
