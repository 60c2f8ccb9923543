// Refusals for a limit of a key or account, with their figures: the caller and the usage row get the same.
import { type BudgetState, windowEnds } from './budget.ts'
import { formatCredits, type Nano } from './credits.ts'
import type { HoldDecision } from './hold.ts'
import { DAY_MS } from './key.ts'
import { Refusal } from './refusal.ts'
import { isoSecond } from './wire-time.ts'

// `quota` is the limit's value, as in the header RateLimit-Policy.
export function rpmSpent(quota: number, reset: number, retryAfter: number): Refusal {
  return new Refusal('rate_limit_exceeded', { retryAfter, metadata: { limit: 'rpm', quota, remaining: 0, reset } })
}

export function unpaidSpent(quota: number, retryAfter: number): Refusal {
  return new Refusal('rate_limit_exceeded', {
    message: 'Too many requests with this key were rejected for insufficient credits; add credits or slow down.',
    retryAfter,
    metadata: { limit: 'unpaid', quota },
  })
}

export function dailySpent(quota: number | null, used: number, day: number, now: number): Refusal {
  const reset = Math.ceil(((day + 1) * DAY_MS - now) / 1000)
  return new Refusal('daily_limit_exceeded', {
    retryAfter: reset,
    metadata: { limit: 'daily', quota, used, remaining: 0, reset },
    headers: { 'x-should-retry': 'false' },
  })
}

export function concurrencyExceeded(quota: number): Refusal {
  return new Refusal('concurrency_exceeded', { retryAfter: 1, metadata: { limit: 'concurrent', quota } })
}

export type Shortfall = Omit<Extract<HoldDecision, { kind: 'insufficient_funds' }>, 'kind'> & { readonly owed: Nano }

export function insufficientFunds(shortfall: Shortfall): Refusal {
  const metadata = {
    available: formatCredits(shortfall.available),
    owed: formatCredits(shortfall.owed),
    required: formatCredits(shortfall.required),
    affordable_max_tokens: shortfall.affordableTokens,
    limit: shortfall.limit,
  }
  if (shortfall.heldByOthers) {
    return new Refusal('credits_held', { metadata, retryAfter: 2, headers: { 'x-should-retry': 'true' } })
  }
  const whose = shortfall.limit === 'key' ? "the key's credit limit" : 'the account'
  const message =
    shortfall.owed > 0n
      ? `The account is overdrawn by ${formatCredits(shortfall.owed)} credits; add credits first.`
      : `This request needs up to ${metadata.required} credits; ${whose} has ${metadata.available} available.`
  return new Refusal('insufficient_credits', { message, metadata })
}

export type BudgetExcess = {
  readonly state: BudgetState & { readonly owner: 'key' | 'account' }
  readonly available: Nano
  readonly required: Nano
  readonly affordableTokens: number
}

// Requests in flight may leave something of their holds, but a client should not retry until the window ends.
export function budgetExceeded({ state, available, required, affordableTokens }: BudgetExcess): Refusal {
  const { owner, budget, spent, held, began } = state
  const { window } = budget
  const resets = windowEnds(window, began)
  const metadata = {
    budget: owner,
    window,
    amount: formatCredits(budget.amount),
    spent: formatCredits(spent),
    held: formatCredits(held),
    resets_at: resets === null ? null : isoSecond(resets),
    available: formatCredits(available),
    required: formatCredits(required),
    affordable_max_tokens: affordableTokens,
  }
  const which = window === 'total' ? 'total budget' : `budget per ${window}`
  const message =
    `This request needs up to ${metadata.required} credits; the ${owner}'s ${which} of ${metadata.amount} has ` +
    `${metadata.available} left${resets === null ? '' : ` and resets at ${metadata.resets_at}`}.`
  return new Refusal('budget_exceeded', { message, metadata, headers: { 'x-should-retry': 'false' } })
}
