// Keys, their secrets and the accounts they spend from: the nouns and the pure rules of their states.
import type { Nano } from './credits.ts'
import type { Tags } from './tags.ts'

export const SCOPES = ['chat.completions', 'embeddings', 'models.read'] as const
export type Scope = (typeof SCOPES)[number]

// Random bytes of a secret, base62-encoded after its prefix.
export const SECRET_BYTES = 32
export const GRACE_MS = 60 * 60_000
export const SECRETS_IN_GRACE_MAX = 5

// The maximum values that an operator may set, in a request and in the configuration file alike.
export const RPM_LIMIT_MAX = 10_000_000
export const DAILY_LIMIT_MAX = 1_000_000_000
export const CONCURRENT_LIMIT_MAX = 100_000
export const ALLOWLIST_ENTRIES_MAX = 256
export const ALLOWED_MODELS_MAX = 100

export type KeyControls = {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly ipAllowlist: readonly string[]
  readonly rpmLimit: number
  readonly dailyLimit: number | null
  readonly creditLimit: Nano | null
  readonly maxConcurrent: number
  readonly expiresAt: number | null
  // Ids and patterns with `*`; empty: all.
  readonly allowedModels: readonly string[]
  readonly tags: Tags
}

// The defaults of a new key.
export type KeyDefaults = Omit<KeyControls, 'name' | 'allowedModels' | 'tags'>

export type Key = KeyControls & {
  readonly id: string
  readonly accountId: string
  // Incremented with every change of the key or of one of its secrets; the reservation compares it.
  readonly version: number
  readonly createdAt: number
  readonly revokedAt: number | null
  // Written once when an expiry has passed, so that a clock that jumps back revives nothing.
  readonly expiredAt: number | null
  readonly lastUsedAt: number | null
}

export type Secret = {
  readonly last4: string
  // null: the current secret.
  readonly graceExpiresAt: number | null
  readonly lastUsedAt: number | null
}

export type KeyWithSecrets = Key & {
  readonly prefix: string
  readonly last4: string
  readonly previous: readonly Secret[]
}

export const ACCOUNT_STATUSES = ['active', 'suspended'] as const
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number]
export type Balance = { readonly available: Nano; readonly held: Nano; readonly spent: Nano; readonly owed: Nano }
export type Account = {
  readonly id: string
  readonly name: string
  readonly status: AccountStatus
  readonly balance: Balance
  // Incremented with every change of name or status.
  readonly version: number
  readonly createdAt: number
}

export const KEY_STATUSES = ['active', 'revoked', 'expired'] as const
export type KeyStatus = (typeof KEY_STATUSES)[number]

export function keyStatus(key: Pick<Key, 'revokedAt' | 'expiredAt' | 'expiresAt'>, now: number): KeyStatus {
  if (key.revokedAt !== null) return 'revoked'
  if (key.expiredAt !== null || (key.expiresAt !== null && key.expiresAt <= now)) return 'expired'
  return 'active'
}

export function secretAlive(secret: Pick<Secret, 'graceExpiresAt'>, now: number): boolean {
  return secret.graceExpiresAt === null || secret.graceExpiresAt > now
}

// What a node has cached about the owner of a secret: enough to refuse early, never enough to admit.
export type AuthenticatedKey = {
  readonly key: Key
  readonly label: string
  readonly secret: Secret
  readonly account: { readonly id: string; readonly name: string; readonly status: AccountStatus }
  readonly day: number
  readonly dayCount: number
}

// Days are counted from the epoch, in UTC.
export const DAY_MS = 86_400_000

export function dayOf(now: number): number {
  return Math.floor(now / DAY_MS)
}
