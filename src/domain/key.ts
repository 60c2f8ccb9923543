// Keys, their secrets and the accounts they spend from: the nouns and the pure rules of their states.
import type { Budget, BudgetState } from './budget.ts'
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
  readonly budgets: readonly Budget[]
}

// The defaults of a new key.
export type KeyDefaults = Omit<KeyControls, 'name' | 'allowedModels' | 'tags' | 'budgets'>

// Without its budgets, which only reservations need.
export type Key = Omit<KeyControls, 'budgets'> & {
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

// What a key has used at this moment.
export type KeyUse = {
  readonly spent: Nano
  readonly held: Nano
  readonly spentThisMonth: Nano
  readonly requestsToday: number
  // In the order of its budgets.
  readonly budgetStates: readonly BudgetState[]
}

export type KeyWithSecrets = Key & {
  readonly budgets: readonly Budget[]
  readonly use: KeyUse
  readonly prefix: string
  readonly last4: string
  readonly previous: readonly Secret[]
}

export const ACCOUNT_STATUSES = ['active', 'suspended'] as const
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number]
export type Balance = { readonly available: Nano; readonly held: Nano; readonly spent: Nano; readonly owed: Nano }
// The highest values of a key that a customer creates; null: only what the gateway allows.
export type PortalKeyLimits = {
  // Of all active keys of the account.
  readonly maxKeys: number | null
  readonly rpmLimit: number | null
  readonly dailyLimit: number | null
  readonly maxConcurrent: number | null
  readonly creditLimit: Nano | null
  readonly expiresInDays: number | null
  // Ids and patterns with `*`; empty: all.
  readonly allowedModels: readonly string[]
}

export type Account = {
  readonly id: string
  readonly name: string
  readonly status: AccountStatus
  readonly balance: Balance
  readonly spentThisMonth: Nano
  readonly budgets: readonly Budget[]
  // In the order of its budgets.
  readonly budgetStates: readonly BudgetState[]
  // An event is raised when less is available; null: never.
  readonly lowBalance: Nano | null
  readonly contactEmail: string | null
  // Its id in the operator's own system, such as a billing system.
  readonly externalId: string | null
  readonly portalKeyLimits: PortalKeyLimits | null
  // Incremented with every change of it, except of its balance.
  readonly version: number
  readonly createdAt: number
}

// What stops an account that is active: all of its keys are refused until it gets credits or the window of a budget ends.
export const ACCOUNT_STATES = [...ACCOUNT_STATUSES, 'out_of_credits', 'budget_reached'] as const
export type AccountState = (typeof ACCOUNT_STATES)[number]

export function accountState({ status, balance, budgetStates }: Account): AccountState {
  if (status !== 'active') return status
  if (balance.available <= 0n || balance.owed > 0n) return 'out_of_credits'
  return isBudgetReached(budgetStates) ? 'budget_reached' : 'active'
}

// How people recognise a key: the prefix of its secret and its last four characters.
export function keyLabel({ prefix, last4 }: { readonly prefix: string; readonly last4: string }): string {
  return `${prefix}…${last4}`
}

export const KEY_STATUSES = ['active', 'revoked', 'expired'] as const
export type KeyStatus = (typeof KEY_STATUSES)[number]
// As filters of a list: `stopped` keys are active, and a limit or budget of theirs is reached.
export const KEY_STATUS_FILTERS = [...KEY_STATUSES, 'stopped'] as const
export type KeyStatusFilter = (typeof KEY_STATUS_FILTERS)[number]

export function keyStatus(key: Pick<Key, 'revokedAt' | 'expiredAt' | 'expiresAt'>, now: number): KeyStatus {
  if (key.revokedAt !== null) return 'revoked'
  if (key.expiredAt !== null || (key.expiresAt !== null && key.expiresAt <= now)) return 'expired'
  return 'active'
}

// What stops a key that is active: it refuses requests until a limit is raised or its window ends.
export const KEY_STATES = [...KEY_STATUSES, 'limit_reached', 'budget_reached'] as const
export type KeyState = (typeof KEY_STATES)[number]

export function keyState(key: KeyWithSecrets, now: number): KeyState {
  const status = keyStatus(key, now)
  if (status !== 'active') return status
  const { spent, requestsToday, budgetStates } = key.use
  if (key.creditLimit !== null && spent >= key.creditLimit) return 'limit_reached'
  if (key.dailyLimit !== null && requestsToday >= key.dailyLimit) return 'limit_reached'
  return isBudgetReached(budgetStates) ? 'budget_reached' : 'active'
}

function isBudgetReached(states: readonly BudgetState[]): boolean {
  return states.some(({ budget, spent }) => budget.action === 'block' && spent >= budget.amount)
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
