// Whose doing a failed request was: the caller's, a limit's, a lack of credits, or a provider's. The rest is the gateway's own.
import type { RefusalCode } from './refusal.ts'
import type { Outcome } from './usage.ts'

export const ERROR_CAUSES = ['caller', 'limits', 'money', 'provider'] as const
export type ErrorCause = (typeof ERROR_CAUSES)[number]

export const ERROR_OUTCOMES = ['refused', 'upstream_failed', 'upstream_broke'] as const satisfies readonly Outcome[]

// Any of them, as a filter.
export const FAILED = 'failed'

// Codes that decide alone. Any other refusal is the caller's doing, any other failure of an upstream the provider's.
export const CAUSE_CODES = {
  limits: ['rate_limit_exceeded', 'daily_limit_exceeded', 'concurrency_exceeded'],
  money: ['insufficient_credits', 'budget_exceeded', 'credits_held'],
  provider: ['provider_unavailable', 'upstream_timeout', 'all_providers_failed'],
  caller: ['upstream_rejected'],
  other: ['service_unavailable', 'internal_error'],
} as const satisfies Record<ErrorCause | 'other', readonly RefusalCode[]>

// Undefined for a request that did not fail.
export function causeOf(outcome: unknown, code: unknown): ErrorCause | 'other' | undefined {
  if (!(ERROR_OUTCOMES as readonly unknown[]).includes(outcome)) return undefined
  for (const [cause, codes] of Object.entries(CAUSE_CODES)) {
    if ((codes as readonly unknown[]).includes(code)) return cause as ErrorCause | 'other'
  }
  if (outcome !== 'refused') return 'provider'
  return code == null ? 'other' : 'caller'
}
