// What may be asked of routing, by the operator for a model and by the caller for a request, and the words in which it
// explains its choice.
import type { Pico } from './credits.ts'

// How the targets of a model are put in order; health comes first in all of them.
export const STRATEGIES = ['priority', 'weighted', 'cheapest', 'fastest', 'least_busy'] as const
export type Strategy = (typeof STRATEGIES)[number]

// What one request asks, in OpenRouter's words: `models` and `provider` of its body.
export type Wishes = {
  // Models to fall back to, in this order, after the one that was asked for.
  readonly models: readonly string[]
  // Providers in this order first.
  readonly order: readonly string[]
  // No others than these; undefined: all.
  readonly only: readonly string[] | undefined
  readonly ignore: readonly string[]
  // False: the first candidate alone is tried.
  readonly allowFallbacks: boolean
  readonly sort: Strategy | undefined
  // The most that a token, or a request, may cost the caller.
  readonly maxPrice: { readonly prompt?: Pico; readonly completion?: Pico; readonly request?: Pico }
  // Only models that say they take every parameter of the request.
  readonly requireParameters: boolean
}

export const NO_WISHES: Wishes = {
  models: [],
  order: [],
  only: undefined,
  ignore: [],
  allowFallbacks: true,
  sort: undefined,
  maxPrice: {},
  requireParameters: false,
}

// Why a candidate stands where it does, or is no candidate. A closed list: it tells nothing about other tenants.
export const REASONS = [
  // Its place among the candidates
  'priority',
  'weight',
  'cheapest',
  'fastest',
  'least_busy',
  'requested_order',
  'sticky',
  'fallback_model',
  // Behind the others, or only where there is nobody else
  'unhealthy',
  'rate_limited',
  'last_resort',
  // Not to be tried
  'not_in_only',
  'ignored',
  'above_max_price',
  'unsupported_parameters',
  'no_remote_media',
  'unknown_model',
  'does_not_fit',
  'unaffordable',
  'no_fallbacks',
  'no_credential',
  'breaker_open',
] as const
export type Reason = (typeof REASONS)[number]

// By which strategy a candidate has its place.
export const REASON_OF: Readonly<Record<Strategy, Reason>> = {
  priority: 'priority',
  weighted: 'weight',
  cheapest: 'cheapest',
  fastest: 'fastest',
  least_busy: 'least_busy',
}

// One place in the order.
export type Considered = {
  // The catalog's, and the caller's word for one that is not there.
  readonly model: string
  // Null for a model that is no candidate whoever serves it.
  readonly provider: string | null
  // From 0; null: it is not to be tried.
  readonly position: number | null
  readonly reason: Reason
}
