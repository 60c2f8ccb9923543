// What every store promises, whatever engine is under it. The gate is the only way in: nothing is dispatched or answered
// without its row, and the transaction that writes the row is the one that checks key, account, day and credits.
import type { Model, Provider } from '../domain/catalog.ts'
import type { Nano, Pico, Tokens } from '../domain/credits.ts'
import type { Account, AccountStatus, Balance, Bearer, KeyControls, KeyWithSecrets } from '../domain/key.ts'
import type { Endpoint, Outcome, RequestFacts, UsageRow, UsageSource } from '../domain/usage.ts'

export type Store = {
  readonly gates: Gates
  readonly keys: Keys
  readonly accounts: Accounts
  readonly usage: UsageReports
  readonly catalog: CatalogStore
  readonly events: Events
  readonly settings: Settings
  // Resolves when the store answers; rejects when it is away.
  ping(): Promise<void>
  // Flushes what is written behind.
  close(): Promise<void>
}

// ── The hot path: these share transactions (group commit) ──────────────────────────────────────────────────────────

export type Gates = {
  // Who bears this secret, by the SHA-256 of all of it. Dead secrets and dead keys are nobody.
  bearer(hash: string): Promise<Bearer | undefined>
  // Commits the request's row, or says why not. When it resolves as granted, the row is on disk.
  gate(ask: GateAsk): Promise<Verdict>
  // Books the cost and closes the row, in one transaction. A second call for the same row books nothing.
  settle(bill: Settlement): Promise<Settled>
  // What a crash would bill if it came now. Not awaited by anybody; a later one replaces an earlier one.
  checkpoint(mark: Checkpoint): void
  // A refusal of a recognised key at or before its limits: a row written behind, dropped when too many wait.
  note(row: RefusedRow): void
  // The secret was used; written behind, coalesced.
  touch(hash: string, at: number): void
  // Closes open rows whose request no longer lives: those of dead owners, and our own that are not in `live`.
  sweep(live: readonly string[]): Promise<number>
}

export type GateAsk = {
  readonly facts: RequestFacts
  readonly keyVersion: number
  readonly graceExpiresAt: number | null
  // Introspection works for suspended accounts too.
  readonly evenIfSuspended: boolean
  readonly modelRequested: string | null
  readonly stream: boolean
  readonly entry: FreeEntry | HoldEntry
}

// A row that is closed as it is written: it costs nothing.
export type FreeEntry = {
  readonly kind: 'free'
  readonly outcome: 'completed' | 'refused'
  readonly httpStatus: number
  readonly errorCode: string | null
}

// An open row that holds what the request may cost at most.
export type HoldEntry = {
  readonly kind: 'hold'
  // Prompt and request price at their dearest, not yet rounded.
  readonly base: Pico
  // Of all choices together, per token of output.
  readonly outputPrice: Pico
  readonly outputTokens: number
  // The caller named no maximum: half of what is available may cap the output instead of refusing, down to this many.
  readonly outputTokensMin: number | null
  readonly priceVersion: string
  readonly price: string
}

export type Verdict =
  | {
      readonly kind: 'granted'
      readonly hold: Nano
      readonly outputTokens: number
      readonly day: number
      readonly dayCount: number
      // What is left, for a request that holds nothing.
      readonly purse: Purse | null
    }
  // The key is not what the node believed, or it is dead: look again. No row was written.
  | { readonly kind: 'stale' }
  | { readonly kind: 'suspended' }
  // The row was written as a refusal.
  | { readonly kind: 'daily_spent'; readonly day: number; readonly dayCount: number }
  | {
      readonly kind: 'short'
      readonly heldByOthers: boolean
      readonly limit: 'account' | 'key'
      readonly available: Nano
      readonly owed: Nano
      readonly required: Nano
      readonly affordableTokens: number
    }

export type Purse = { readonly balance: Balance; readonly keyRemaining: Nano | null }

export type Settlement = {
  readonly requestId: string
  readonly outcome: Outcome
  readonly httpStatus: number
  readonly errorCode: string | null
  readonly finishReason: string | null
  readonly modelServed: string | null
  readonly provider: string | null
  // JSON of the attempts; null when there were none.
  readonly attempts: string | null
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

// `corrected`: the row had been recovered meanwhile and the difference was booked. `again`: it was settled before.
export type Settled = 'settled' | 'corrected' | 'again' | 'unknown'

export type Checkpoint = {
  readonly requestId: string
  readonly dispatchedAt: number
  readonly provider: string
  readonly model: string
  readonly tokens: Tokens
  readonly cost: Nano
}

export type RefusedRow = {
  readonly facts: RequestFacts
  readonly httpStatus: number
  readonly errorCode: string
}

// ── The operator's side ────────────────────────────────────────────────────────────────────────────────────────────

// Who did it, kept with every change in the same transaction.
export type Actor = { readonly name: string; readonly address: string }

export type Page = { readonly limit: number; readonly after?: string | undefined }
export type Paged<T> = { readonly data: readonly T[]; readonly hasMore: boolean }

// Changes answer `undefined` for an unknown id, or a word that says which rule they would break.
export type Keys = {
  create(input: NewKey, actor: Actor): Promise<KeyWithSecrets | 'no_account'>
  get(id: string): Promise<KeyWithSecrets | undefined>
  list(filter: KeyFilter): Promise<Paged<KeyWithSecrets>>
  update(id: string, patch: Partial<KeyControls>, actor: Actor): Promise<KeyWithSecrets | 'revoked' | undefined>
  rotate(
    id: string,
    next: NewSecret,
    actor: Actor,
  ): Promise<KeyWithSecrets | 'not_active' | 'too_many_secrets' | undefined>
  endGrace(id: string, last4: string | undefined, actor: Actor): Promise<KeyWithSecrets | undefined>
  revoke(id: string, actor: Actor): Promise<KeyWithSecrets | undefined>
  // Writes down the ends that have passed. Answers the keys that changed.
  markEnds(): Promise<readonly string[]>
}

export type NewSecret = { readonly hash: string; readonly prefix: string; readonly last4: string }
export type NewKey = KeyControls & { readonly id: string; readonly accountId: string; readonly secret: NewSecret }
export type KeyFilter = Page & {
  readonly status?: 'active' | 'revoked' | 'expired' | undefined
  readonly accountId?: string | undefined
  readonly q?: string | undefined
}

export type Accounts = {
  create(input: { readonly id: string; readonly name: string }, actor: Actor): Promise<Account>
  get(id: string): Promise<Account | undefined>
  list(page: Page): Promise<Paged<Account>>
  update(
    id: string,
    patch: { readonly name?: string | undefined; readonly status?: AccountStatus | undefined },
    actor: Actor,
  ): Promise<Account | undefined>
  // Same idempotency key and body: the same entry again. Other body: `mismatch`. Below zero available: `too_low`.
  addCredits(input: NewCredits, actor: Actor): Promise<LedgerEntry | 'mismatch' | 'too_low' | 'too_high' | undefined>
  ledger(accountId: string, page: Page): Promise<Paged<LedgerEntry> | undefined>
}

export type NewCredits = {
  readonly id: string
  readonly accountId: string
  readonly amount: Nano
  readonly note: string | null
  readonly idempotencyKey: string
}

export type LedgerKind = 'topup' | 'adjustment' | 'charge' | 'correction'
export type LedgerEntry = {
  readonly id: string
  readonly accountId: string
  readonly kind: LedgerKind
  readonly amount: Nano
  readonly requestId: string | null
  readonly note: string | null
  readonly createdAt: number
}

export type UsageReports = {
  get(requestId: string, keyId?: string): Promise<UsageRow | undefined>
  // `next` is what to ask `after` for the next page, null if there is none. A page that has looked at as many rows as it
  // may has more, even if it found none.
  list(filter: UsageFilter): Promise<Paged<UsageRow> & { readonly next: string | null }>
  summary(filter: Omit<UsageFilter, 'limit' | 'after'>, groupBy: SummaryGroup): Promise<readonly SummaryRow[]>
}

export type UsageFilter = Page & {
  readonly from?: number | undefined
  readonly to?: number | undefined
  readonly keyId?: string | undefined
  readonly accountId?: string | undefined
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly endpoint?: Endpoint | 'all' | undefined
  readonly outcome?: Outcome | undefined
  // How many rows may be looked at for a page, whether they are what is asked for or not; without it, all.
  readonly lookMax?: number | undefined
}

export const SUMMARY_GROUPS = ['day', 'hour', 'model', 'provider', 'key', 'account'] as const
export type SummaryGroup = (typeof SUMMARY_GROUPS)[number]
export type SummaryRow = {
  readonly group: string
  readonly requests: number
  readonly errors: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cost: Nano
}

// The catalog lives in the database. What the file declares is provisioned in one transaction; what it no longer
// declares becomes inactive. `created_at` and `price_version` of what did not change stay as they were.
export type CatalogStore = {
  provision(declared: DeclaredCatalog): Promise<StoredCatalog>
  load(): Promise<StoredCatalog>
}
export type DeclaredModel = Omit<Model, 'createdAt' | 'priceVersion'> & { readonly newPriceVersion: string }
export type DeclaredCatalog = { readonly providers: readonly Provider[]; readonly models: readonly DeclaredModel[] }
export type StoredCatalog = { readonly providers: readonly Provider[]; readonly models: readonly Model[] }

export type OperatorEvent = {
  readonly id: string
  readonly at: number
  readonly actor: string
  readonly address: string
  readonly action: string
  readonly subject: string
  readonly detail: string | null
}
export type Events = { list(page: Page): Promise<Paged<OperatorEvent>> }

export type Settings = {
  get(name: string): Promise<string | undefined>
  set(name: string, value: string): Promise<void>
}

// The store could not do it now (away, locked, full). Never the caller's fault: it becomes a 503.
export class StoreAway extends Error {}
