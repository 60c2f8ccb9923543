// What every store guarantees, whichever engine. The reservation is the only way in: nothing is sent upstream or answered without
// its row, and the transaction that writes the row is the one that checks key, account, day and credits.
import type { BudgetState } from '../../domain/budget.ts'
import { type Nano, NO_TOKENS, type Tokens } from '../../domain/credits.ts'
import type { HoldAsk, KeyFunds } from '../../domain/hold.ts'
import type { AuthenticatedKey, Balance } from '../../domain/key.ts'
import type { RefusedFields } from '../../domain/refused-row.ts'
import type { Outcome, RequestFacts, UsageSource } from '../../domain/usage.ts'
import type { CatalogStore } from './catalog.ts'
import type { Nodes } from './nodes.ts'
import type { Accounts, Events, Finder, Gauges, Keys, Operators, Sessions, Settings, UsageReports } from './operator.ts'
import type { Portal } from './portal.ts'
import type { Alarms, WebhookQueue, Webhooks } from './webhooks.ts'

export type Store = {
  readonly billing: BillingStore
  readonly keys: Keys
  readonly accounts: Accounts
  readonly finder: Finder
  readonly usage: UsageReports
  readonly catalog: CatalogStore
  readonly events: Events
  readonly settings: Settings
  readonly gauges: Gauges
  readonly nodes: Nodes
  readonly operators: Operators
  readonly sessions: Sessions
  readonly portal: Portal
  readonly webhooks: Webhooks
  readonly webhookQueue: WebhookQueue
  readonly alarms: Alarms
  readonly maintenance: Maintenance
  // Resolves when the store answers; rejects when it is unavailable.
  ping(): Promise<void>
  // Flushes background writes.
  close(): Promise<void>
}

// Billing: these operations share transactions (group commit).
export type BillingStore = {
  // The key of this secret, by the SHA-256 of the whole secret. Ended secrets and revoked keys are not found.
  findKey(hash: string): Promise<AuthenticatedKey | undefined>
  // Commits the request's row, or returns the reason why not. When it resolves as reserved, the row is on disk.
  reserve(ask: ReservationRequest): Promise<Reservation>
  // Books the cost and closes the row, in one transaction. A second call for the same row books nothing.
  settle(bill: Settlement): Promise<Settled>
  // What a crash at this moment would bill. Not awaited; a later one replaces an earlier one. A checkpoint without a provider
  // takes back an earlier one: the called target has failed, and no other was called.
  checkpoint(mark: Checkpoint | Unmarked): void
  // A refusal of a recognised key at or before its limits: a row written in the background, dropped when too many wait.
  logRefusal(row: RefusedRow): void
  // The secret was used; written in the background, coalesced.
  touch(use: LastUse, at: number): void
  // Closes open rows without a live request: those of dead owners, and our own that are not in `live`.
  sweep(live: readonly string[]): Promise<number>
}

// When a secret was last used. One record for all of its uses, so that each costs no lookup.
export type LastUse = { readonly hash: string; at: number; isWaiting: boolean; writtenMs: number }

export function noUse(hash: string): LastUse {
  return { hash, at: 0, isWaiting: false, writtenMs: Number.NEGATIVE_INFINITY }
}

export type ReservationRequest = {
  readonly facts: RequestFacts
  readonly keyVersion: number
  readonly graceExpiresAt: number | null
  // Introspection works for suspended accounts too.
  readonly evenIfSuspended: boolean
  readonly modelRequested: string | null
  readonly stream: boolean
  readonly entry: UnbilledEntry | HoldEntry
  // A refusal for the day or for credits leaves no row: the caller counts it with others.
  readonly isRefusalCounted: boolean
}

// A row that is closed when it is written: it costs nothing.
export type UnbilledEntry = {
  readonly kind: 'unbilled'
  readonly outcome: 'completed' | 'refused'
  readonly httpStatus: number
  readonly errorCode: string | null
  readonly errorMessage: string | null
  readonly errorDetail: string | null
}

// An open row that holds the maximum cost of the request.
export type HoldEntry = HoldAsk & {
  readonly kind: 'hold'
  readonly priceVersion: string
  readonly price: string
}

export type Reservation =
  | {
      readonly kind: 'reserved'
      readonly hold: Nano
      readonly outputTokens: number
      readonly day: number
      readonly dayCount: number
      // The remaining credits, for a request that holds nothing.
      readonly balances: Balances | null
    }
  // The key differs from the cached record, or is no longer valid: read it again. No row was written.
  | { readonly kind: 'key_changed' }
  | { readonly kind: 'suspended' }
  // Too expensive by the bytes of its prompt, perhaps not by its tokens: count them and try again. No row was written.
  | { readonly kind: 'count_first' }
  // The row was written as a refusal, unless refusals are counted.
  | { readonly kind: 'daily_spent'; readonly day: number; readonly dayCount: number }
  | {
      readonly kind: 'insufficient_funds'
      readonly heldByOthers: boolean
      readonly limit: 'account' | 'key'
      readonly available: Nano
      readonly owed: Nano
      readonly required: Nano
      readonly affordableTokens: number
    }
  // The same: a budget has too little left in its window.
  | {
      readonly kind: 'budget_exceeded'
      readonly state: OwnedState
      readonly available: Nano
      readonly required: Nano
      readonly affordableTokens: number
    }

// Of the account first, then of the key.
export type OwnedState = BudgetState & { readonly owner: 'key' | 'account' }

export type Balances = {
  readonly balance: Balance
  readonly key: KeyFunds
  // Of the key.
  readonly spentThisMonth: Nano
  readonly budgets: readonly OwnedState[]
}

export type Settlement = {
  readonly requestId: string
  readonly outcome: Outcome
  // Null: there was none.
  readonly httpStatus: number | null
  readonly errorCode: string | null
  readonly errorMessage: string | null
  // JSON of its figures.
  readonly errorDetail: string | null
  readonly finishReason: string | null
  readonly modelServed: string | null
  readonly provider: string | null
  // JSON of the attempts; null when there were none.
  readonly attempts: string | null
  // JSON of the candidates with reasons; null when there were none.
  readonly routing: string | null
  readonly tokens: Tokens
  readonly usageSource: UsageSource
  readonly cost: Nano
  readonly upstreamCost: Nano | null
  // Only where they differ from what was held for.
  readonly priceVersion: string | null
  readonly price: string | null
  readonly firstByteAt: number | null
  readonly finishedAt: number
  readonly upstreamId: string | null
}

// A row that was closed without an error.
export const NO_ERROR = { errorCode: null, errorMessage: null, errorDetail: null } as const

// What a settlement says where no upstream has served.
export const NOTHING_SERVED = {
  finishReason: null,
  modelServed: null,
  provider: null,
  attempts: null,
  routing: null,
  tokens: NO_TOKENS,
  usageSource: 'none',
  cost: 0n,
  upstreamCost: null,
  priceVersion: null,
  price: null,
  firstByteAt: null,
  upstreamId: null,
} as const satisfies Partial<Settlement>

// `corrected`: the row had been recovered meanwhile and the difference was booked. `again`: it was settled before.
export type Settled = 'settled' | 'corrected' | 'again' | 'unknown'

export type Checkpoint = {
  readonly requestId: string
  readonly dispatchedAt: number
  readonly provider: string
  readonly model: string
  readonly tokens: Tokens
  readonly cost: Nano
  // Only where they differ from what was held for.
  readonly priceVersion: string | null
  readonly price: string | null
}

export type Unmarked = { readonly requestId: string; readonly provider: null }

export type RefusedRow = RefusedFields & {
  readonly facts: RequestFacts
  // The number of refusals that it stands for; 1 if absent.
  readonly requests?: number
}

// The store could not do it now (unavailable, locked, full). Never the caller's fault: it becomes a 503.
export class StoreUnavailable extends Error {}

// Background maintenance of a store: roll-ups, partitions for the coming months, and retention. Any number of nodes may call it
// at once; one of them does it.
export type Maintenance = {
  // Rolls up hours and days that ended at least this long ago, or whose rows have changed since. Returns how many, and whether
  // there is more to do.
  rollUp(overForMs: number): Promise<{ readonly rolled: number; readonly more: boolean }>
  // Creates partitions for the coming months, where the engine needs them.
  ensurePartitions(): Promise<void>
  // Deletes rows older than this many days, if their sums are kept and nothing about them is undecided. Returns how many hours'
  // rows were deleted, and whether there is more to do.
  applyRetention(retentionDays: number): Promise<{ readonly dropped: number; readonly more: boolean }>
  // The time by which old things are deleted: not ahead of what has really passed, whatever the clock says.
  believedNow(): Promise<number>
  // Deletes some windows of budgets that ended long ago. Returns whether there is more to do.
  dropWindows(now: number): Promise<boolean>
}
