// What a reservation requires and takes: a valid key, a request of its day, and a hold that account, key and budgets cover. A
// refusal gets its row here too.
import { tightestBudget } from '../../domain/budget.ts'
import { countMayHelp, decideHold } from '../../domain/hold.ts'
import { dayOf } from '../../domain/key.ts'
import { budgetExceeded, dailySpent, insufficientFunds } from '../../domain/limit-refusals.ts'
import type { Refusal } from '../../domain/refusal.ts'
import { refusedFields } from '../../domain/refused-row.ts'
import type {
  Balances,
  HoldEntry,
  OwnedState,
  Reservation,
  ReservationRequest,
  UnbilledEntry,
} from '../contract/store.ts'
import { spentThisMonth, takeHold } from './balances.ts'
import { budgetStates, holdInWindows } from './budgets.ts'
import { balanceRefused, budgetRefused } from './money-events.ts'
import type { AccountRecord, KeyRecord, UnitOfWork } from './unit-of-work.ts'

export function reserve(ask: ReservationRequest, unit: UnitOfWork): Reservation {
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
    if (decision.limit === 'account' && isExhausted(decision, account) && !ask.isRefusalCounted)
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

// Not by a request that all credits of its life would not have paid.
function isExhausted({ heldByOthers, required }: Insufficient, { available, held, spent }: AccountRecord): boolean {
  return !heldByOthers && required <= available + held + spent
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

function balancesOf(at: number, account: AccountRecord, key: KeyRecord, unit: UnitOfWork): Balances {
  return {
    budgets: budgetStates(at, account, key, unit),
    spentThisMonth: spentThisMonth(key, at),
    balance: { available: account.available, held: account.held, spent: account.spent, owed: account.owed },
    key: { creditLimit: key.creditLimit, spent: key.spent, held: key.held },
  }
}
