// What every store guarantees for the admin API: keys, accounts, reports, events and settings (the catalog is in catalog.ts).
// Each change is one transaction, together with its audit event.
import type { Budget } from '../../domain/budget.ts'
import type { Nano } from '../../domain/credits.ts'
import type { ErrorCause, FAILED } from '../../domain/error-cause.ts'
import type {
  Account,
  AccountStatus,
  KeyControls,
  KeyStatus,
  KeyStatusFilter,
  KeyWithSecrets,
  PortalKeyLimits,
} from '../../domain/key.ts'
import type { MoneyGauges, NearLimit } from '../../domain/money-gauges.ts'
import type { Operator, Role, Session } from '../../domain/operator.ts'
import type { Endpoint, Outcome, UsageRow } from '../../domain/usage.ts'
import type { ZoneOffsets } from '../../domain/zone-offsets.ts'

// Who made a change, stored with it in the same transaction: the name at that time, and the operator's id, which a rename does
// not change. Changes without an operator have no id.
export type Actor = { readonly id?: string | undefined; readonly name: string; readonly address: string }

export type Page = { readonly limit: number; readonly after?: string | undefined }
export const PAGE_DEFAULT = 50
export const PAGE_MAX = 1000
export type Paged<T> = { readonly data: readonly T[]; readonly hasMore: boolean }
// In another order than by time: `next` is the `after` of the next page, null if there is none. It contains the value that the page
// ended with, since the last row may have another one, and another place, by then.
export type SortedPage<T> = Paged<T> & { readonly next?: string | null }

// Changes return `undefined` for an unknown id, or a code for the rule that they would break.
export type Keys = {
  create(input: NewKey, actor: Actor): Promise<KeyWithSecrets | 'no_account'>
  // By a customer: decided with the account's row locked, so that racing calls never create more keys than allowed.
  createWithin(rule: NewKeyRule, input: NewKey, actor: Actor): Promise<KeyWithSecrets | NewKeyFault>
  // Revokes the oldest valid keys of the same name and tag, so that with the new one there are at most `max`. However many calls
  // of an operator race.
  createReplacing(
    others: KeysOfTag,
    input: ExpiringKey,
    actor: Actor,
  ): Promise<{ readonly key: KeyWithSecrets; readonly revoked: readonly string[] } | 'no_account'>
  get(id: string): Promise<KeyWithSecrets | undefined>
  list(filter: KeyFilter): Promise<SortedPage<KeyWithSecrets>>
  // With an outdated version: `changed`.
  update(
    id: string,
    patch: Partial<KeyControls>,
    actor: Actor,
    basedOn?: number,
  ): Promise<KeyWithSecrets | 'revoked' | 'changed' | undefined>
  // Beyond `perDayMax` secrets of the key within a day: `too_many_today`.
  rotate(
    id: string,
    next: NewSecret,
    actor: Actor,
    perDayMax?: number,
  ): Promise<KeyWithSecrets | 'not_active' | 'too_many_secrets' | 'too_many_today' | undefined>
  endGrace(id: string, last4: string | undefined, actor: Actor): Promise<KeyWithSecrets | undefined>
  // `abortStreams` is sent to every node.
  revoke(id: string, actor: Actor, abortStreams?: boolean): Promise<KeyWithSecrets | undefined>
  // The day's requests are counted from zero again, in the current day.
  resetDay(id: string, actor: Actor): Promise<KeyWithSecrets | undefined>
  // Stores the ends that have passed. Returns the keys that changed.
  markEnds(): Promise<readonly string[]>
}

export type NewSecret = { readonly hash: string; readonly prefix: string; readonly last4: string }
// Without a list of models it may use all; without tags and budgets it has none.
export type NewKey = Omit<KeyControls, OptionalControl> &
  Partial<Pick<KeyControls, OptionalControl>> & {
    readonly id: string
    readonly accountId: string
    readonly secret: NewSecret
  }
export type ExpiringKey = NewKey & { readonly expiresAt: number }
export type KeysOfTag = { readonly tag: TagPair; readonly max: number }
// The version of the account whose limits were applied, and the highest number of its active keys.
export type NewKeyRule = { readonly accountVersion: number; readonly activeMax: number }
// `changed`: the account has another version now.
export type NewKeyFault = 'no_account' | 'suspended' | 'changed' | 'too_many' | 'too_many_today'
type OptionalControl = 'allowedModels' | 'tags' | 'budgets'
export type KeyFilter = Page & {
  readonly status?: KeyStatusFilter | undefined
  readonly accountId?: string | undefined
  // Exactly this name.
  readonly name?: string | undefined
  // The last four characters of one of its secrets, also of an old one.
  readonly last4?: string | undefined
  readonly q?: string | undefined
  readonly sorting?: Sorting<KeySort> | undefined
}
// Newest first, if absent.
export type Sorting<By> = { readonly by: By; readonly isDescending: boolean }
export const KEY_SORTS = ['name', 'last_used', 'spent'] as const
export type KeySort = (typeof KEY_SORTS)[number]
// `available`: what is owed counts as less than nothing.
export const ACCOUNT_SORTS = ['name', 'available', 'spent'] as const
export type AccountSort = (typeof ACCOUNT_SORTS)[number]

export type Accounts = {
  create(input: AccountChange & { readonly id: string; readonly name: string }, actor: Actor): Promise<Account>
  get(id: string): Promise<Account | undefined>
  list(filter: AccountFilter): Promise<SortedPage<Account>>
  update(
    id: string,
    patch: AccountChange & { readonly status?: AccountStatus | undefined },
    actor: Actor,
    basedOn?: number,
  ): Promise<Account | 'changed' | undefined>
  // Same idempotency key and body: the same entry again. Other body: `mismatch`. Below zero available: `too_low`.
  addCredits(input: NewCredits, actor: Actor): Promise<LedgerEntry | 'mismatch' | 'too_low' | 'too_high' | undefined>
  ledger(accountId: string, filter: LedgerFilter): Promise<Paged<LedgerLine> | undefined>
}

export type AccountChange = {
  readonly name?: string | undefined
  readonly budgets?: readonly Budget[] | undefined
  readonly lowBalance?: Nano | null | undefined
  readonly contactEmail?: string | null | undefined
  readonly externalId?: string | null | undefined
  readonly portalKeyLimits?: PortalKeyLimits | null | undefined
}

export type AccountFilter = Page & {
  readonly status?: AccountStatus | undefined
  // Exactly this name.
  readonly name?: string | undefined
  readonly externalId?: string | undefined
  readonly q?: string | undefined
  readonly sorting?: Sorting<AccountSort> | undefined
}

export type NewCredits = {
  readonly id: string
  readonly accountId: string
  readonly amount: Nano
  readonly note: string | null
  readonly idempotencyKey: string
}

export const LEDGER_KINDS = ['topup', 'adjustment', 'charge', 'correction'] as const
export type LedgerKind = (typeof LEDGER_KINDS)[number]
export type LedgerEntry = {
  readonly id: string
  readonly accountId: string
  readonly kind: LedgerKind
  readonly amount: Nano
  readonly requestId: string | null
  readonly note: string | null
  readonly createdAt: number
  // Of a charge, which is the sum of a day: all requests, those of them that failed or were refused, and the day in milliseconds.
  readonly charged: {
    readonly requests: number
    readonly errors: number
    readonly from: number
    readonly to: number
  } | null
}

// Finds accounts and keys by a part of what names them, the best matches first. The time that it takes has a bound, whatever the
// number of accounts and keys: a part in the middle of a name is looked for only in the newest of them.
export type Finder = {
  accounts(words: string, max: number): Promise<readonly FoundAccount[]>
  keys(words: string, max: number): Promise<readonly FoundKey[]>
}

export type FoundAccount = Pick<Account, 'id' | 'name' | 'status' | 'contactEmail' | 'externalId'>
export type FoundKey = {
  readonly id: string
  readonly name: string
  readonly label: string
  readonly status: KeyStatus
}

// What all entries up to this one add up to: the available and held credits, less what is owed.
export type LedgerLine = LedgerEntry & { readonly balance: Nano }

export type LedgerFilter = Page & {
  readonly kind?: LedgerKind | undefined
  readonly from?: number | undefined
  readonly to?: number | undefined
  // The balance before the entry `after`, if known from the page that ends with it: nothing older is added up then.
  readonly balanceBefore?: Nano | undefined
}

export type UsageReports = {
  get(requestId: string, keyId?: string): Promise<UsageRow | undefined>
  // `next` is the `after` of the next page, null if there is none. A page that has reached its row limit has more, even if it
  // found nothing.
  list(filter: UsageFilter): Promise<Paged<UsageRow> & { readonly next: string | null }>
  // The most expensive first. Every row of the span and its owner is read: `too_many` if these are more than `rowsMax`.
  listByCost(filter: Page & RowSpan, rowsMax: number): Promise<SortedPage<UsageRow> | CostFault>
  // Only the ids.
  idsByCost(filter: Page & RowSpan, rowsMax: number): Promise<SortedPage<string> | CostFault>
  // Those that still exist, in the order of these ids.
  byIds(requestIds: readonly string[]): Promise<readonly UsageRow[]>
  // Includes the whole hour at an edge of the span where only its sums are left.
  summary(filter: UsageSpan, groupBy: SummaryGroup): Promise<readonly SummaryRow[]>
  // The same of rows, whose codes sums do not know; without those that were dropped.
  summaryOfRows(filter: RowSpan, groupBy: SummaryGroup, rowsMax: number): Promise<readonly SummaryRow[] | 'too_many'>
  // Chats only.
  overview(span: OverviewSpan): Promise<Overview>
}

export type CostFault = 'too_many' | 'unknown_after'

// From `from` on and before `to`.
export type UsageSpan = {
  readonly from?: number | undefined
  readonly to?: number | undefined
  readonly keyId?: string | undefined
  readonly accountId?: string | undefined
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly endpoint?: Endpoint | 'all' | undefined
  readonly outcome?: Outcome | typeof FAILED | undefined
  // Only failed requests.
  readonly cause?: ErrorCause | undefined
  // All of them.
  readonly tags?: readonly TagPair[] | undefined
}
export type TagPair = readonly [name: string, value: string]
// With what only rows know.
export type RowSpan = UsageSpan & {
  // Any of them.
  readonly errorCodes?: readonly string[] | undefined
}
export type UsageFilter = Page &
  RowSpan & {
    // The maximum number of rows examined for a page, matching or not; unlimited if absent.
    readonly lookMax?: number | undefined
  }

export const SUMMARY_GROUPS = ['day', 'hour', 'model', 'provider', 'key', 'account'] as const
// By time, by a dimension, or by the values of a tag.
export type SummaryGroup = (typeof SUMMARY_GROUPS)[number] | `tag:${string}`
// The group of requests whose value of the tag is not summed separately.
export const OTHER_VALUES = '(other)'
export type SummaryRow = {
  readonly group: string
  readonly requests: number
  readonly errors: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cost: Nano
  // What providers charged, as far as it is known; and the served requests of which it is not, with what their callers paid.
  readonly upstreamCost: Nano
  readonly requestsWithoutUpstreamCost: number
  readonly costWithoutUpstreamCost: Nano
  // Requests that needed more than one attempt.
  readonly failovers: number
  // Those whose cause is known: the rest are errors of the gateway, or refusals of which only sums from before causes are left.
  readonly errorsByCause: Readonly<Record<ErrorCause, number>>
}

export const OVERVIEW_STEPS = ['minute', 'hour', 'day'] as const
export type OverviewStep = (typeof OVERVIEW_STEPS)[number]
export type OverviewSpan = {
  readonly from: number
  readonly to: number
  readonly step: OverviewStep
  // Of days; those of UTC if absent.
  readonly offsets?: ZoneOffsets | undefined
}
export type Overview = {
  // The covered span: the requested one, and the whole first and last hour where only their sums are left.
  readonly from: number
  readonly to: number
  // The requested one; hours where the rows of a minute are gone.
  readonly step: OverviewStep
  readonly totals: Moment
  // Of the span of the same length before.
  readonly previous: Moment & { readonly from: number; readonly to: number }
  // Every minute, hour or day of the span, also those without a request.
  readonly series: readonly (Moment & { readonly at: number })[]
  readonly models: readonly Spending[]
  readonly providers: readonly Spending[]
  readonly keys: readonly (Spending & { readonly name: string; readonly label: string })[]
  readonly accounts: readonly (Spending & { readonly name: string })[]
  readonly lowBalances: readonly LowBalance[]
}
export type Spending = SummaryRow
// Duration of completed chats; null if there were none.
export type Moment = Omit<SummaryRow, 'group'> & { readonly p50Ms: number | null; readonly p95Ms: number | null }
export type LowBalance = { readonly id: string; readonly name: string; readonly available: Nano; readonly owed: Nano }

export type OperatorEvent = {
  readonly id: string
  readonly at: number
  readonly actor: string
  // None for changes without an operator, and for events from before ids were stored.
  readonly actor_id: string | null
  readonly address: string
  readonly action: string
  readonly subject: string
  readonly detail: string | null
}
export type EventFilter = Page & {
  readonly actor?: string | undefined
  // The full action, or the part before its dot.
  readonly action?: string | undefined
  readonly subject?: string | undefined
  readonly from?: number | undefined
  readonly to?: number | undefined
}
export type Events = { list(filter: EventFilter): Promise<Paged<OperatorEvent>> }

// For /metrics: at most `max` accounts and budgets.
export type Gauges = {
  money(max: number): Promise<MoneyGauges>
  // Those of valid keys and active accounts with less than a twentieth left, the fullest first.
  nearLimits(max: number): Promise<readonly NearLimit[]>
}

export type Settings = {
  get(name: string): Promise<string | undefined>
  set(name: string, value: string): Promise<void>
}

// What every store guarantees for operators and their sessions. Both are read for every request, so that access removed on one
// node is gone on all. The store sees only hashes of tokens and session secrets.

// Changes return `undefined` for an unknown id; the operator of the configured token is `root` and cannot be changed.
export type Operators = {
  // The configured token has this hash. A different one than before ends the sessions of the old one.
  setRoot(tokenHash: string): Promise<void>
  // The operators of these tokens, in order; records their use.
  bearers(tokenHashes: readonly string[]): Promise<readonly (Operator | undefined)[]>
  create(input: NewOperator, max: number, actor: Actor): Promise<Operator | 'name_taken' | 'too_many'>
  get(id: string): Promise<Operator | undefined>
  list(page: Page): Promise<Paged<Operator>>
  // A lower role is in force with the next request of every session.
  update(id: string, patch: OperatorPatch, actor: Actor): Promise<Operator | 'root' | 'name_taken' | undefined>
  // A new token; ends the sessions that were opened with the old one.
  rotate(id: string, tokenHash: string, actor: Actor): Promise<Operator | 'root' | undefined>
  remove(id: string, actor: Actor): Promise<'removed' | 'root' | undefined>
}

export type NewOperator = {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly tokenHash: string
}
export type OperatorPatch = { readonly name?: string | undefined; readonly role?: Role | undefined }

export type Sessions = {
  // For the operator of the token at the moment of the commit; undefined if there is none. Beyond `max` sessions of one operator
  // the oldest end.
  open(input: NewSession, max: number): Promise<Session | undefined>
  // The operators of these sessions, in order; undefined for one that has ended or was idle for too long.
  bearers(secretHashes: readonly string[]): Promise<readonly (Session | undefined)[]>
  // A person used it just now: background requests of a page do not count. Returns when that was.
  touch(id: string): Promise<number>
  list(page: Page): Promise<Paged<Session>>
  end(id: string, actor: Actor): Promise<boolean>
  // Removes those that have ended, so that a clock that jumps back revives none.
  markEnds(): Promise<void>
}

export type NewSession = {
  readonly id: string
  readonly secretHash: string
  readonly tokenHash: string
  readonly address: string
  // The session of the same browser that this one replaces, by the hash of its secret.
  readonly replaces: string | undefined
}
