// GET /v1/key/introspect: what a key is, what it may do and what it could still spend.

import assert from 'node:assert/strict'
import type { Granted } from '../../admit/enter.ts'
import type { EndpointRule } from '../../admit/permit.ts'
import { formatCredits } from '../../domain/credits.ts'
import type { Pass } from '../../domain/handoff.ts'
import { exactly, type V1Endpoint } from './endpoint.ts'
import { type FreeNeeds, serveFree } from './free.ts'

const rule: EndpointRule = { endpoint: 'key.introspect', method: 'GET', scope: null, evenIfSuspended: true }

export function keyIntrospect(needs: FreeNeeds): V1Endpoint {
  return {
    rule,
    match: exactly('/v1/key/introspect'),
    serve: (it, pass) =>
      serveFree(
        it,
        pass,
        rule,
        async () => ({ status: 200, body: granted => introspection(pass, granted, needs) }),
        needs,
      ),
  }
}

function introspection(pass: Pass, granted: Granted, { limits }: FreeNeeds) {
  const { key, secret, account, label } = pass.bearer
  const rpm = limits.rpm(key)
  const daily = limits.daily(pass.bearer)
  assert(granted.purse !== null)
  const { balance, keyRemaining } = granted.purse
  const left = keyRemaining === null || keyRemaining > balance.available ? balance.available : keyRemaining
  return {
    object: 'key',
    id: key.id,
    name: key.name,
    label,
    status: 'active',
    secret: {
      state: secret.graceExpiresAt === null ? 'current' : 'grace',
      last4: secret.last4,
      grace_expires_at: time(secret.graceExpiresAt),
    },
    scopes: key.scopes,
    ip_allowlist: key.ipAllowlist,
    limits: {
      rpm: { limit: rpm.limit, remaining: rpm.remaining, reset: rpm.resetSeconds },
      daily: {
        limit: key.dailyLimit,
        used: granted.dayCount,
        remaining: key.dailyLimit === null ? null : Math.max(0, key.dailyLimit - granted.dayCount),
        resets_at: time(daily.resetsAt),
      },
      concurrent: { limit: key.maxConcurrent, in_use: limits.inFlight(key.id) },
    },
    balance: {
      currency: 'credits',
      remaining: formatCredits(left > 0n ? left : 0n),
      held: formatCredits(balance.held),
      owed: formatCredits(balance.owed),
    },
    account,
    created_at: time(key.createdAt),
    expires_at: time(key.expiresAt),
    last_used_at: time(pass.call.receivedAt),
  }
}

function time(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
