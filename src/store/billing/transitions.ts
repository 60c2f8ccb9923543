// The rules of billing, the same on both engines: what a settlement books and what a sweep recovers; what a reservation requires is
// in reserve.ts. They read and write through a unit of work. In one batch each operation succeeds or is refused alone.
import { monthOf } from '../../domain/budget.ts'
import { type Nano, NO_TOKENS } from '../../domain/credits.ts'
import {
  type Checkpoint,
  NO_ERROR,
  NOTHING_SERVED,
  type RefusedRow,
  type Reservation,
  type ReservationRequest,
  type Settled,
  type Settlement,
  type Unmarked,
} from '../contract/store.ts'
import { bookCost, turnMonth } from './balances.ts'
import { bookInWindows, budgetStates } from './budgets.ts'
import { balanceExhausted, balanceLow, crossings } from './money-events.ts'
import { reserve } from './reserve.ts'
import type { AccountRecord, KeyRecord, UnitOfWork, UsageRecord } from './unit-of-work.ts'

export type BillingOp =
  | { readonly do: 'reserve'; readonly ask: ReservationRequest }
  | { readonly do: 'settle'; readonly bill: Settlement }
  | { readonly do: 'checkpoint'; readonly mark: Checkpoint | Unmarked }
  | { readonly do: 'log_refusal'; readonly row: RefusedRow }
  | { readonly do: 'touch'; readonly uses: readonly SecretUse[] }
  | { readonly do: 'sweep'; readonly live: readonly string[] }

export type SecretUse = readonly [hash: string, at: number]

export type BillingResult = Reservation | Settled | number | null

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

// The key first: its account is then found through it.
function recordsOf(row: UsageRecord, unit: UnitOfWork): Records {
  const key = unit.key(row.keyId)
  const account = unit.account(row.accountId)
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
