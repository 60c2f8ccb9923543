// The RateLimit headers, correct on every response: the tightest of the key's policies, the one that refused on a 429, and the
// address's policy where no key was recognised.
import type { Authenticator } from '../admit/authenticate.ts'
import type { Limits } from '../admit/rate-limit.ts'
import type { Call } from '../domain/handoff.ts'
import type { AuthenticatedKey, Key } from '../domain/key.ts'
import type { RefusalCode } from '../domain/refusal.ts'
import type { Standing } from '../lib/token-bucket.ts'

export type RateNeeds = { readonly limits: Limits; readonly authenticator: Pick<Authenticator, 'addressStanding'> }

export function rateHeaders(
  call: Call,
  caller: AuthenticatedKey | undefined,
  code: RefusalCode | undefined,
  needs: RateNeeds,
): string[] {
  if (caller === undefined) return addressFigures(needs.authenticator.addressStanding(call.address))
  const { key } = caller
  const unpaid = code === 'rate_limit_exceeded' ? needs.limits.unpaidSpent(key) : undefined
  if (unpaid !== undefined) return figures(unpaid, `${policyOf(key)}, "unpaid";q=${unpaid.limit};w=60`)
  return figures(tightest(caller, code, needs.limits), policyOf(key))
}

// The state of an address whose caller is not known.
export function addressFigures(standing: Standing): string[] {
  return figures(standing, `"address";q=${standing.limit};w=60`)
}

function tightest(caller: AuthenticatedKey, code: RefusalCode | undefined, limits: Limits): Standing {
  const rpm = limits.rpm(caller.key)
  const { dailyLimit } = caller.key
  // The policy that refused had nothing left, even if a token was refilled since.
  if (code === 'rate_limit_exceeded') return { ...rpm, remaining: 0 }
  if (dailyLimit === null) return rpm
  const { used, resetSeconds } = limits.daily(caller)
  const remaining = Math.max(0, dailyLimit - used)
  const daily = { limit: dailyLimit, remaining, resetSeconds }
  if (code === 'daily_limit_exceeded') return daily
  return remaining / dailyLimit < rpm.remaining / rpm.limit ? daily : rpm
}

function figures(standing: Standing, policy: string): string[] {
  const limit = String(standing.limit)
  const remaining = String(standing.remaining)
  const reset = String(standing.resetSeconds)
  return [
    'RateLimit-Limit',
    limit,
    'RateLimit-Remaining',
    remaining,
    'RateLimit-Reset',
    reset,
    'RateLimit-Policy',
    policy,
    // The names and the form that OpenAI's clients read.
    'x-ratelimit-limit-requests',
    limit,
    'x-ratelimit-remaining-requests',
    remaining,
    'x-ratelimit-reset-requests',
    `${reset}s`,
  ]
}

// Not memoised: it is as quick as a lookup, and thousands of keys would have an entry each.
function policyOf({ rpmLimit, dailyLimit }: Key): string {
  return `"rpm";q=${rpmLimit};w=60` + (dailyLimit === null ? '' : `, "daily";q=${dailyLimit};w=86400`)
}
