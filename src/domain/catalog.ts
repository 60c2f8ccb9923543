// The catalog's nouns: providers, models with their prices, and the targets that tie them.
import { formatAtto, formatPrice, type Prices, parseAtto, parsePrice, type Rates } from './credits.ts'
import type { TargetCost } from './dollars.ts'
import { Refusal } from './refusal.ts'
import { storable } from './usage.ts'

export const MODALITIES = ['text', 'image', 'audio', 'file', 'video'] as const
export type Modality = (typeof MODALITIES)[number]

export type Provider = {
  readonly id: string
  readonly kind: 'openai' | 'demo'
  readonly baseUrl: string
  // Fields that this provider takes beside the ones everybody takes.
  readonly passthrough: readonly string[]
  // Under which name the output cap is sent.
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens'
  readonly timeouts: Timeouts
}

export type Timeouts = {
  readonly connectMs: number
  readonly firstByteStreamMs: number
  readonly firstByteJsonMs: number
  readonly idleMs: number
  readonly totalMs: number
}

export type Target = {
  readonly provider: string
  readonly model: string
  readonly priority: number
  readonly weight: number
  // What the operator pays there, if that was stated; never what the caller pays.
  readonly cost?: TargetCost
}

export type Model = {
  readonly id: string
  readonly aliases: readonly string[]
  readonly name: string
  readonly description: string
  readonly ownedBy: string
  readonly createdAt: number
  readonly contextLength: number
  readonly maxOutputTokens: number
  readonly inputModalities: readonly Modality[]
  readonly mediaMaxTokens: number
  readonly hiddenReasoning: boolean
  readonly supportedParameters: readonly string[]
  readonly prices: Prices
  readonly priceVersion: string
  readonly targets: readonly Target[]
}

// How many answers one request may ask for.
export const CHOICES_MAX = 8

export type WrittenRates = Readonly<Record<string, string>>

// A price snapshot as it stands on every row, so that the cost can be recomputed from the row alone.
export function priceSnapshot(prices: Prices): string {
  return JSON.stringify(written(prices, formatPrice))
}

export function readPriceSnapshot(snapshot: string): Prices {
  return readWritten(JSON.parse(snapshot), parsePrice)
}

// A target's cost as the catalog keeps it: under the same names, with all of its decimals.
export function writeCost(cost: TargetCost): WrittenRates {
  return written(cost, formatAtto)
}

export function readCost(cost: WrittenRates): TargetCost {
  return readWritten(cost, parseAtto)
}

function written<T extends bigint>(rates: Rates<T>, format: (rate: T) => string) {
  return {
    prompt: format(rates.prompt),
    completion: format(rates.completion),
    input_cache_read: format(rates.cacheRead),
    input_cache_write: format(rates.cacheWrite),
    request: format(rates.request),
  }
}

// A price that cannot be read is never taken for zero.
function readWritten<T extends bigint>(given: WrittenRates, parse: (text: string) => T | undefined): Rates<T> {
  const read = (name: string): T => {
    const rate = parse(String(given[name]))
    if (rate === undefined) throw new Error(`the stored price "${name}" cannot be read`)
    return rate
  }
  return {
    prompt: read('prompt'),
    completion: read('completion'),
    cacheRead: read('input_cache_read'),
    cacheWrite: read('input_cache_write'),
    request: read('request'),
  }
}

// Unknown and inactive are the same to a caller.
export function modelNotFound(name: string): Refusal {
  return new Refusal('model_not_found', {
    param: 'model',
    message: `The model ${JSON.stringify(storable(name, 100))} does not exist or is not active.`,
  })
}
