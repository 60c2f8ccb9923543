// The catalog's nouns: providers, models with their prices, and the targets that tie them.
import { formatPrice, type Pico, type Prices, parsePrice } from './credits.ts'
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

// A price snapshot as it stands on every row, so that the cost can be recomputed from the row alone.
export function priceSnapshot(prices: Prices): string {
  return JSON.stringify({
    prompt: formatPrice(prices.prompt),
    completion: formatPrice(prices.completion),
    input_cache_read: formatPrice(prices.cacheRead),
    input_cache_write: formatPrice(prices.cacheWrite),
    request: formatPrice(prices.request),
  })
}

// A price that cannot be read is never taken for zero.
export function readPriceSnapshot(snapshot: string): Prices {
  const given = JSON.parse(snapshot) as Readonly<Record<string, unknown>>
  const read = (name: string): Pico => {
    const pico = parsePrice(String(given[name]))
    if (pico === undefined) throw new Error(`the stored price "${name}" cannot be read`)
    return pico
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
