// The limits within which account holders create keys, which an operator sets on their account.
import { starPattern } from '../lib/star-pattern.ts'
import { formatCredits, parseCredits } from './credits.ts'
import { DAY_MS, type KeyControls, type KeyDefaults, type PortalKeyLimits } from './key.ts'

// Where an operator has set none. An account could otherwise fill the database.
export const PORTAL_KEYS_MAX = 1000

export type LimitFault = { readonly field: keyof KeyControls; readonly expected: string }

// Fields that the customer did not choose get the default or the limit, whichever is lower.
export function withinLimits(
  chosen: Partial<KeyControls>,
  defaults: KeyDefaults,
  limits: PortalKeyLimits | null,
  now: number,
): { readonly controls: Partial<KeyControls> } | { readonly fault: LimitFault } {
  if (limits === null) return { controls: chosen }
  const { rpmLimit, dailyLimit, maxConcurrent, creditLimit, expiresInDays, allowedModels } = limits
  const latest = expiresInDays === null ? null : now + expiresInDays * DAY_MS
  const fault =
    above('rpmLimit', chosen.rpmLimit, rpmLimit) ??
    above('dailyLimit', chosen.dailyLimit, dailyLimit) ??
    above('maxConcurrent', chosen.maxConcurrent, maxConcurrent) ??
    above('creditLimit', chosen.creditLimit, creditLimit, formatCredits) ??
    above('expiresAt', chosen.expiresAt, latest, () => `${expiresInDays} days from now`) ??
    outside(chosen.allowedModels, allowedModels)
  if (fault !== undefined) return { fault }
  const usual = {
    rpmLimit: lower(defaults.rpmLimit, rpmLimit) ?? defaults.rpmLimit,
    dailyLimit: lower(defaults.dailyLimit, dailyLimit),
    maxConcurrent: lower(defaults.maxConcurrent, maxConcurrent) ?? defaults.maxConcurrent,
    creditLimit: lower(defaults.creditLimit, creditLimit),
    expiresAt: latest,
  }
  const models = chosen.allowedModels?.length ? chosen.allowedModels : allowedModels
  return { controls: { ...usual, ...chosen, allowedModels: models } }
}

// Null is no limit at all, which is more than any.
function above<T extends number | bigint>(
  field: LimitFault['field'],
  value: T | null | undefined,
  limit: T | null,
  written: (limit: T) => string = String,
): LimitFault | undefined {
  if (value === undefined || limit === null || (value !== null && value <= limit)) return undefined
  return { field, expected: `at most ${written(limit)}` }
}

function lower<T extends number | bigint>(value: T | null, limit: T | null): T | null {
  if (value === null || limit === null) return value ?? limit
  return value < limit ? value : limit
}

// A pattern of a customer is inside of one of the operator's if that matches its text: each of its stars is then matched by one.
function outside(chosen: readonly string[] = [], allowed: readonly string[]): LimitFault | undefined {
  if (allowed.length === 0) return undefined
  const patterns = allowed.map(starPattern)
  const isInside = chosen.every(name => patterns.some(matches => matches(name)))
  return isInside ? undefined : { field: 'allowedModels', expected: `only models of ${allowed.join(', ')}` }
}

// As the API and the database have them.
export type WrittenKeyLimits = {
  readonly max_keys: number | null
  readonly rpm_limit: number | null
  readonly daily_limit: number | null
  readonly max_concurrent: number | null
  readonly credit_limit: string | null
  readonly expires_in_days: number | null
  readonly allowed_models: readonly string[]
}

export function writeKeyLimits(limits: PortalKeyLimits): WrittenKeyLimits {
  return {
    max_keys: limits.maxKeys,
    rpm_limit: limits.rpmLimit,
    daily_limit: limits.dailyLimit,
    max_concurrent: limits.maxConcurrent,
    credit_limit: limits.creditLimit === null ? null : formatCredits(limits.creditLimit),
    expires_in_days: limits.expiresInDays,
    allowed_models: limits.allowedModels,
  }
}

export function readKeyLimits(written: WrittenKeyLimits): PortalKeyLimits {
  return {
    maxKeys: written.max_keys,
    rpmLimit: written.rpm_limit,
    dailyLimit: written.daily_limit,
    maxConcurrent: written.max_concurrent,
    creditLimit: written.credit_limit === null ? null : (parseCredits(written.credit_limit) ?? 0n),
    expiresInDays: written.expires_in_days,
    allowedModels: written.allowed_models,
  }
}
