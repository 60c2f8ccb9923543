// The rules of billing, the same on both engines: what a reservation requires, what a settlement books, what a sweep recovers.
// They read and write through a unit of work, which is one transaction of an engine; its balance records cannot be changed by
// anybody else meanwhile. In one batch each operation succeeds or is refused alone.
import { type Budget, monthOf, tightestBudget } from '../../domain/budget.ts'
import { type Nano, NO_TOKENS } from '../../domain/credits.ts'
import type { OutboxEvent } from '../../domain/events.ts'
import { countMayHelp, decideHold } from '../../domain/hold.ts'
import { dayOf } from '../../domain/key.ts'
import { budgetExceeded, dailySpent, insufficientFunds } from '../../domain/limit-refusals.ts'
import type { Refusal } from '../../domain/refusal.ts'
import { refusedFields } from '../../domain/refused-row.ts'
import type { RequestFacts } from '../../domain/usage.ts'
import {
  type Balances,
  type Checkpoint,
  type HoldEntry,
  NO_ERROR,
  NOTHING_SERVED,
  type OwnedState,
  type RefusedRow,
  type Reservation,
  type ReservationRequest,
  type Settled,
  type Settlement,
  type UnbilledEntry,
  type Unmarked,
} from '../contract/store.ts'
import { type AccountBalances, bookCost, type KeyBalances, type MonthBalance, takeHold, turnMonth } from './balances.ts'
import { bookInWindows, budgetStates, holdInWindows, type Windows } from './budgets.ts'
import { balanceExhausted, balanceLow, balanceRefused, budgetRefused, crossings } from './money-events.ts'

export type BillingOp =
  | { readonly do: 'reserve'; readonly ask: ReservationRequest }
  | { readonly do: 'settle'; readonly bill: Settlement }
  | { readonly do: 'checkpoint'; readonly mark: Checkpoint | Unmarked }
  | { readonly do: 'log_refusal'; readonly row: RefusedRow }
  | { readonly do: 'touch'; readonly uses: readonly SecretUse[] }
  | { readonly do: 'sweep'; readonly live: readonly string[] }

export type SecretUse = readonly [hash: string, at: number]

export type BillingResult = Reservation | Settled | number | null

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

export function applyOp(op: BillingOp, unit: UnitOfWork): BillingResult {
  switch (op.do) {
    case 'reserve':
      return reserve(op.ask, unit)
    case 'settle':
      return settle(op.bill, unit)
    case 'checkpoint':
      unit.checkpoint(op.mark.requestId, writeMark(op.mark))
      return null
    case 'log_refusal':
      return note(op.row, unit)
    case 'touch':
      for (const [hash, at] of op.uses) unit.touch(hash, at)
      return null
    case 'sweep':
      return sweep(op.live, unit)
  }
}

function reserve(ask: ReservationRequest, unit: UnitOfWork): Reservation {
  const { facts, entry } = ask
  const key = unit.key(facts.keyId)
  const account = unit.account(facts.accountId)
  const ended = (at: number | null) => at !== null && at <= unit.now
  if (key === undefined || account === undefined || key.dead || key.version !== ask.keyVersion)
    return { kind: 'key_changed' }
  if (ended(ask.graceExpiresAt) || ended(key.expiresAt)) return { kind: 'key_changed' }
  if (account.status !== 'active' && !ask.evenIfSuspended) return { kind: 'suspended' }

  turnDay(key, dayOf(unit.now))
  if (key.dailyLimit !== null && key.dayCount >= key.dailyLimit) {
    insertRefused(ask, () => dailySpent(key.dailyLimit, key.dayCount, key.day, unit.now), unit)
    return { kind: 'daily_spent', day: key.day, dayCount: key.dayCount }
  }
  const reserved = entry.kind === 'hold' ? insertHold(ask, entry, account, key, unit) : insertAsRequested(ask, unit)
  if (reserved.kind === 'count_first') return reserved
  if (reserved.kind === 'insufficient_funds') return { ...reserved, owed: account.owed }
  if (reserved.kind === 'budget_exceeded') return reserved

  key.dayCount += 1
  key.dirty = true
  return {
    kind: 'reserved',
    hold: reserved.hold,
    outputTokens: reserved.outputTokens,
    day: key.day,
    dayCount: key.dayCount,
    balances: entry.kind === 'unbilled' ? balancesOf(facts.createdAt, account, key, unit) : null,
  }
}

// A clock that goes back keeps counting in the later day, so that nobody gets a second day's requests. A day later than tomorrow
// was written by a wrong clock: its count is kept, but no longer than to the end of tomorrow.
function turnDay(key: KeyRecord, today: number): void {
  if (key.day < today) {
    key.day = today
    key.dayCount = 0
  } else if (key.day > today + 1) {
    key.day = today + 1
    // Stored even where the request is refused: otherwise every day would have a tomorrow.
    key.dirty = true
  }
}

function insertHold(
  ask: ReservationRequest,
  entry: HoldEntry,
  account: AccountRecord,
  key: KeyRecord,
  unit: UnitOfWork,
) {
  const { createdAt } = ask.facts
  const hasBudgets = account.budgets.length + key.budgets.length > 0
  const blocking = hasBudgets ? tightestBudget(budgetStates(createdAt, account, key, unit)) : undefined
  const decision = decideHold(entry, account, key, blocking)
  if (decision.kind === 'insufficient_funds') {
    if (countMayHelp(entry, account, key, blocking)) return { kind: 'count_first' as const }
    if (decision.limit === 'budget' && blocking !== undefined) return overBudget(ask, blocking.state, decision, unit)
    if (decision.limit === 'account' && !decision.heldByOthers && !ask.isRefusalCounted)
      unit.emit(balanceRefused(account))
    const short = { ...decision, limit: decision.limit === 'key' ? ('key' as const) : ('account' as const) }
    insertRefused(ask, () => insufficientFunds({ ...short, owed: account.owed }), unit)
    return short
  }
  const { facts, modelRequested, stream } = ask
  const { priceVersion, price } = entry
  const { hold, outputTokens } = decision
  takeHold(hold, account, key)
  if (hasBudgets) {
    holdInWindows(hold, createdAt, account, unit)
    holdInWindows(hold, createdAt, key, unit)
  }
  account.dirty = true
  unit.changes(facts.createdAt)
  unit.insertOpen({ facts, modelRequested, stream, hold, priceVersion, price })
  return { kind: 'fits' as const, hold, outputTokens }
}

// The first request of a window that no longer fits raises the event: what is left may be too little for any. Not if it would fit
// without the holds of others, nor if it would not even fit the whole amount.
function overBudget(ask: ReservationRequest, state: OwnedState, decision: Insufficient, unit: UnitOfWork) {
  const { keyId, accountId } = ask.facts
  const { available, required, affordableTokens, heldByOthers } = decision
  const subject = state.owner === 'key' ? unit.key(keyId) : unit.account(accountId)
  const isExhausted = !heldByOthers && required <= state.budget.amount
  if (subject !== undefined && isExhausted && !ask.isRefusalCounted)
    unit.emit(budgetRefused(state.owner, subject, accountId, state))
  const excess = { state, available, required, affordableTokens }
  insertRefused(ask, () => budgetExceeded(excess), unit)
  return { kind: 'budget_exceeded' as const, ...excess }
}

type Insufficient = Extract<ReturnType<typeof decideHold>, { kind: 'insufficient_funds' }>

function insertRefused(ask: ReservationRequest, refusal: () => Refusal, unit: UnitOfWork): void {
  if (!ask.isRefusalCounted) insertUnbilled(ask, { outcome: 'refused', ...refusedFields(refusal()) }, unit)
}

function insertAsRequested(ask: ReservationRequest, unit: UnitOfWork) {
  if (ask.entry.kind === 'unbilled') insertUnbilled(ask, ask.entry, unit)
  return { kind: 'fits' as const, hold: 0n, outputTokens: 0 }
}

function insertUnbilled(
  ask: ReservationRequest,
  { outcome, httpStatus, errorCode, errorMessage, errorDetail }: Omit<UnbilledEntry, 'kind'>,
  unit: UnitOfWork,
): void {
  const { facts, modelRequested, stream } = ask
  unit.changes(facts.createdAt)
  unit.insertClosed({
    facts,
    modelRequested,
    stream,
    outcome,
    httpStatus,
    errorCode,
    errorMessage,
    errorDetail,
    finishedAt: unit.now,
    requests: 1,
  })
}

// Only an open row is settled; a recovered one takes the difference as a correction; a settled one takes nothing. Nobody else
// writes between the read and the change.
function settle(bill: Settlement, unit: UnitOfWork): Settled {
  const row = unit.row(bill.requestId)
  if (row === undefined) return 'unknown'
  if (row.state === 'settled') return 'again'
  const { account, key } = recordsOf(row, unit)
  account.dirty = key.dirty = true
  unit.changes(row.createdAt)
  unit.closeRow(row, 'settled', bill)
  if (row.state === 'open') {
    book(row, row.hold, bill.cost, { account, key }, unit)
    return 'settled'
  }
  // Its owner was only paused: the row was recovered meanwhile, and the difference is booked visibly.
  const more = bill.cost - row.cost
  book(row, 0n, more, { account, key }, unit)
  if (more !== 0n) unit.correct(account.id, bill.requestId, -more)
  return 'corrected'
}

type Records = { readonly account: AccountRecord; readonly key: KeyRecord }

// Releases the hold and books the cost: in the balances, in the month and in the windows in which the request began.
function book({ createdAt }: UsageRecord, hold: Nano, cost: Nano, { account, key }: Records, unit: UnitOfWork): void {
  const funds = account.available + account.held - account.owed
  const hasBudgets = account.budgets.length + key.budgets.length > 0
  const before = hasBudgets ? budgetStates(createdAt, account, key, unit) : []
  const month = monthOf(createdAt)
  turnMonth(account, month, cost)
  turnMonth(key, month, cost)
  bookCost(hold, cost, account, key)
  if (hasBudgets) {
    bookInWindows(hold, cost, createdAt, account, unit)
    bookInWindows(hold, cost, createdAt, key, unit)
    const after = budgetStates(createdAt, account, key, unit)
    for (const event of crossings({ account, key }, before, after)) unit.emit(event)
  }
  const left = account.available + account.held - account.owed
  if (left <= 0n && funds > 0n) unit.emit(balanceExhausted(account))
  else if (account.lowBalance !== null && left < account.lowBalance && funds >= account.lowBalance)
    unit.emit(balanceLow(account, account.lowBalance))
}

function note({ requests = 1, ...row }: RefusedRow, unit: UnitOfWork): null {
  const { facts } = row
  const refused = { ...row, modelRequested: null, stream: false, outcome: 'refused' }
  unit.changes(facts.createdAt)
  unit.insertClosed({ ...refused, finishedAt: facts.createdAt, requests })
  return null
}

function sweep(live: readonly string[], unit: UnitOfWork): number {
  let swept = 0
  for (const row of unit.abandoned(live)) {
    recover(row, unit)
    swept += 1
  }
  return swept
}

// A row whose process died is billed by its last checkpoint; without one nothing is known to have been produced.
function recover(row: UsageRecord, unit: UnitOfWork): void {
  const mark = row.checkpoint === null ? undefined : readMark(row.checkpoint)
  const cost = BigInt(mark?.cost ?? 0)
  const { account, key } = recordsOf(row, unit)
  book(row, row.hold, cost, { account, key }, unit)
  account.dirty = key.dirty = true
  unit.changes(row.createdAt)
  unit.closeRow(row, 'recovered', {
    ...NOTHING_SERVED,
    ...(mark === undefined ? {} : servedBy(mark)),
    requestId: row.requestId,
    outcome: 'recovered',
    httpStatus: null,
    ...NO_ERROR,
    cost,
    finishedAt: unit.now,
  })
}

function servedBy({ model, provider, tokens, priceVersion, price }: ReturnType<typeof readMark>) {
  // A checkpoint of an older version lacks the kinds of tokens that it did not know.
  const known = { ...NO_TOKENS, ...tokens }
  return { modelServed: model, provider, tokens: known, usageSource: 'estimate', priceVersion, price } as const
}

function recordsOf(row: UsageRecord, unit: UnitOfWork): Records {
  const account = unit.account(row.accountId)
  const key = unit.key(row.keyId)
  if (account === undefined || key === undefined) throw new Error('a usage row names an unknown account or key')
  return { account, key }
}

function writeMark(mark: Checkpoint | Unmarked): string | null {
  if (mark.provider === null) return null
  return JSON.stringify({ ...mark, requestId: undefined, cost: mark.cost.toString() })
}

function readMark(text: string): Omit<Checkpoint, 'cost'> & { readonly cost: string } {
  return JSON.parse(text) as Omit<Checkpoint, 'cost'> & { readonly cost: string }
}

function balancesOf(at: number, account: AccountRecord, key: KeyRecord, unit: UnitOfWork): Balances {
  return {
    budgets: budgetStates(at, account, key, unit),
    spentThisMonth: key.month < monthOf(at) ? 0n : key.spent - key.monthBase,
    balance: { available: account.available, held: account.held, spent: account.spent, owed: account.owed },
    key: { creditLimit: key.creditLimit, spent: key.spent, held: key.held },
  }
}
