// GET /v1/key/introspect: the state of a key, its scopes and limits, and what it can still spend.
import assert from 'node:assert/strict'
import type { EndpointRule } from '../../admit/authorize.ts'
import type { Reserved } from '../../admit/reserve.ts'
import { budgetObject, tightestBudget } from '../../domain/budget.ts'
import { formatCredits } from '../../domain/credits.ts'
import type { Pass } from '../../domain/handoff.ts'
import { leastLeft } from '../../domain/hold.ts'
import { isoSecond, isoTime, isoTimeOrNull } from '../../domain/wire-time.ts'
import { exactly, type UnbilledHandler, type UnbilledNeeds, unbilledEndpoint, type V1Endpoint } from './endpoint.ts'

const rule: EndpointRule = { endpoint: 'key.introspect', method: 'GET', scope: null, evenIfSuspended: true }

export function keyIntrospect(needs: UnbilledNeeds): V1Endpoint {
  const work: UnbilledHandler = async (_it, pass) => ({
    status: 200,
    body: reserved => introspection(pass, reserved, needs),
  })
  return unbilledEndpoint(rule, exactly('/v1/key/introspect'), work, needs)
}

function introspection(pass: Pass, reserved: Reserved, { limits }: UnbilledNeeds) {
  const { key, secret, account, label } = pass.caller
  const rpm = limits.rpm(key)
  const daily = limits.daily(pass.caller)
  assert(reserved.balances !== null)
  const { balance } = reserved.balances
  const { budgets } = reserved.balances
  const left = leastLeft(balance, reserved.balances.key, tightestBudget(budgets))
  return {
    object: 'key',
    id: key.id,
    name: key.name,
    label,
    status: 'active',
    secret: {
      state: secret.graceExpiresAt === null ? 'current' : 'grace',
      last4: secret.last4,
      grace_expires_at: isoTimeOrNull(secret.graceExpiresAt),
    },
    scopes: key.scopes,
    ip_allowlist: key.ipAllowlist,
    limits: {
      rpm: { limit: rpm.limit, remaining: rpm.remaining, reset: rpm.resetSeconds },
      daily: {
        limit: key.dailyLimit,
        used: reserved.dayCount,
        remaining: key.dailyLimit === null ? null : Math.max(0, key.dailyLimit - reserved.dayCount),
        resets_at: isoSecond(daily.resetsAt),
      },
      concurrent: { limit: key.maxConcurrent, in_use: limits.inFlight(key) },
    },
    balance: {
      currency: 'credits',
      remaining: formatCredits(left),
      held: formatCredits(balance.held),
      owed: formatCredits(balance.owed),
    },
    spent: formatCredits(reserved.balances.key.spent),
    spent_this_month: formatCredits(reserved.balances.spentThisMonth),
    // Those of the account too: both limit what the key can spend.
    budgets: budgets.map(state => ({ owner: state.owner, ...budgetObject(state) })),
    // Not the cached record itself, in which the gateway remembers more.
    account: { id: account.id, name: account.name, status: account.status },
    created_at: isoTime(key.createdAt),
    expires_at: isoTimeOrNull(key.expiresAt),
    last_used_at: isoTime(pass.call.receivedAt),
  }
}
