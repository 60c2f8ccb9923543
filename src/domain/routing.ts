// Routing preferences, of the operator for a model and of the caller for a request, the terms used to explain a choice, and the
// state of targets.
import type { Pico } from './credits.ts'

// How the targets of a model are ordered; health always comes first.
export const STRATEGIES = ['priority', 'weighted', 'cheapest', 'fastest', 'least_busy'] as const
export type Strategy = (typeof STRATEGIES)[number]

// The preferences of one request, in OpenRouter's format: `models` and `provider` of its body.
export type RoutingPreferences = {
  // Fallback models, in this order, after the requested one.
  readonly models: readonly string[]
  // Preferred providers, in this order.
  readonly order: readonly string[]
  // Only these providers; undefined: all.
  readonly only: readonly string[] | undefined
  readonly ignore: readonly string[]
  // False: only the first candidate is tried.
  readonly allowFallbacks: boolean
  readonly sort: Strategy | undefined
  // The maximum price of a token or of a request.
  readonly maxPrice: { readonly prompt?: Pico; readonly completion?: Pico; readonly request?: Pico }
  // Only models that declare support for every parameter of the request.
  readonly requireParameters: boolean
}

export const NO_WISHES: RoutingPreferences = {
  models: [],
  order: [],
  only: undefined,
  ignore: [],
  allowFallbacks: true,
  sort: undefined,
  maxPrice: {},
  requireParameters: false,
}

// Why a candidate has its place, or is not a candidate. A closed list: it reveals nothing about other tenants.
export const REASONS = [
  // Position among the candidates
  'priority',
  'weight',
  'cheapest',
  'fastest',
  'least_busy',
  'requested_order',
  'sticky',
  'fallback_model',
  // After the others, or only when there is no other
  'unhealthy',
  'rate_limited',
  'last_resort',
  // Skipped
  'not_in_only',
  'ignored',
  'above_max_price',
  'unsupported_parameters',
  'no_remote_media',
  'other_dialect',
  'unknown_model',
  'not_allowed',
  'does_not_fit',
  'unaffordable',
  'no_fallbacks',
  'no_credential',
  'breaker_open',
] as const
export type Reason = (typeof REASONS)[number]

// The strategy that determined a candidate's position.
export const REASON_OF: Readonly<Record<Strategy, Reason>> = {
  priority: 'priority',
  weighted: 'weight',
  cheapest: 'cheapest',
  fastest: 'fastest',
  least_busy: 'least_busy',
}

// One position in the order.
export type Considered = {
  // The catalog's id, or the caller's name for a model that is not in the catalog.
  readonly model: string
  // Null for a model that is not a candidate at any provider.
  readonly provider: string | null
  // From 0; null: it is not tried.
  readonly position: number | null
  readonly reason: Reason
}

// The state of every target and credential as an operator sees it. Contains no secrets.
export const TARGET_STATES = ['closed', 'open', 'half_open'] as const
// The time that the recent figures of a target cover.
export const RECENT_MINUTES = 10
export const TARGET_STATUSES = ['healthy', 'degraded', 'down'] as const
export const CREDENTIAL_STATES = ['active', 'suspected', 'limited', 'dead'] as const

export type TargetView = {
  readonly provider: string
  // The provider's name for it.
  readonly model: string
  // State of its breaker: while it is open, nothing is sent there.
  readonly state: (typeof TARGET_STATES)[number]
  // Down while its breaker is not closed; degraded if it failed often in the last ten minutes.
  readonly status: (typeof TARGET_STATUSES)[number]
  // The last ten minutes: requests that have ended, those of them that failed, and the mean time to the first byte.
  readonly recent: { readonly requests: number; readonly failures: number; readonly firstByteMs: number | null }
  // Decaying means; null while nothing is known.
  readonly successRate: number | null
  readonly firstByteMs: number | null
  readonly inFlight: number
  // Since the process started.
  readonly requests: number
  readonly failures: number
  // Milliseconds since 1970; null unless it is open.
  readonly openUntil: number | null
}

export type CredentialView = {
  readonly provider: string
  readonly id: string
  readonly state: (typeof CREDENTIAL_STATES)[number]
  // When a limited credential is used again or a rejected one is probed; null for the others.
  readonly until: number | null
}

export type TargetsView = { readonly targets: readonly TargetView[]; readonly credentials: readonly CredentialView[] }
