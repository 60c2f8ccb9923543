// What the rules of billing read and write: a unit of work is one transaction of an engine, whose balance records cannot be changed
// by anybody else meanwhile.
import type { Budget } from '../../domain/budget.ts'
import type { Nano } from '../../domain/credits.ts'
import type { OutboxEvent } from '../../domain/events.ts'
import type { RequestFacts } from '../../domain/usage.ts'
import type { Settlement } from '../contract/store.ts'
import type { AccountBalances, KeyBalances, MonthBalance } from './balances.ts'
import type { Windows } from './budgets.ts'

export type AccountRecord = AccountBalances &
  MonthBalance & {
    readonly id: string
    readonly name: string
    readonly status: string
    readonly budgets: readonly Budget[]
    // An event is raised below it.
    readonly lowBalance: Nano | null
    dirty: boolean
  }
export type KeyRecord = KeyBalances &
  MonthBalance & {
    readonly id: string
    readonly name: string
    readonly budgets: readonly Budget[]
    readonly accountId: string
    readonly version: number
    readonly dailyLimit: number | null
    readonly expiresAt: number | null
    readonly dead: boolean
    day: number
    dayCount: number
    dirty: boolean
  }

// The money fields of a usage row.
export type UsageRecord = {
  readonly requestId: string
  readonly state: string
  readonly accountId: string
  readonly keyId: string
  readonly hold: Nano
  readonly cost: Nano
  readonly checkpoint: string | null
  readonly createdAt: number
}

export type UnitOfWork = Windows & {
  // By the database's clock, read when nobody else can change the records any more.
  readonly now: number
  account(id: string): AccountRecord | undefined
  key(id: string): KeyRecord | undefined
  row(requestId: string): UsageRecord | undefined
  // Open rows without a live request: those of dead owners, and our own that are not in `live`.
  abandoned(live: readonly string[]): Iterable<UsageRecord>
  // A row of this time is written or changed: if its hour was rolled up, the sums are out of date.
  changes(createdAt: number): void

  insertOpen(row: OpenedRow): void
  insertClosed(row: ClosedRow): void
  closeRow(row: UsageRecord, to: 'settled' | 'recovered', bill: Settlement): void
  correct(accountId: string, requestId: string, amount: Nano): void
  checkpoint(requestId: string, mark: string | null): void
  touch(hash: string, at: number): void
  // For webhooks. One whose `once` exists already is dropped.
  emit(event: OutboxEvent): void
}

// A row as it is inserted: open with a hold, or closed at once since it costs nothing.
type InsertedRow = {
  readonly facts: RequestFacts
  readonly modelRequested: string | null
  readonly stream: boolean
}

export type OpenedRow = InsertedRow & {
  readonly hold: Nano
  readonly priceVersion: string
  readonly price: string
}

export type ClosedRow = InsertedRow & {
  readonly outcome: string
  readonly httpStatus: number
  readonly errorCode: string | null
  readonly errorMessage: string | null
  readonly errorDetail: string | null
  readonly finishedAt: number
  readonly requests: number
}
