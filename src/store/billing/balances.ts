// The arithmetic of an account inside one exclusive transaction: what a hold takes and what a settlement returns. Pure, so that
// both engines book alike and tests need no database.
import { monthOf } from '../../domain/budget.ts'
import type { Nano } from '../../domain/credits.ts'

export type AccountBalances = { available: Nano; held: Nano; spent: Nano; owed: Nano }
export type KeyBalances = { spent: Nano; held: Nano; creditLimit: Nano | null }
// `monthBase` is what had been spent before the current month.
export type MonthBalance = { month: number; monthBase: Nano }

export function takeHold(hold: Nano, account: AccountBalances, key: KeyBalances): void {
  account.available -= hold
  account.held += hold
  key.held += hold
}

// The whole cost is booked: from the hold, then from the available credits, and the remainder is owed. Released credits pay debts
// first. Since only one of available and owed is above zero, their difference is sufficient.
export function bookCost(hold: Nano, cost: Nano, account: AccountBalances, key: KeyBalances): void {
  const net = account.available - account.owed + hold - cost
  account.available = positive(net)
  account.owed = positive(-net)
  account.held -= hold
  account.spent += cost
  key.held -= hold
  key.spent += cost
}

// Before a cost is booked whose request began in that month: the first one of a month begins it, and one of an earlier month is
// not part of the current one.
export function turnMonth(balance: MonthBalance & { spent: Nano }, month: number, cost: Nano): void {
  if (month > balance.month) {
    balance.month = month
    balance.monthBase = balance.spent
  } else if (month < balance.month) balance.monthBase += cost
}

export function spentThisMonth({ month, monthBase, spent }: MonthBalance & { spent: Nano }, now: number): Nano {
  return month < monthOf(now) ? 0n : spent - monthBase
}

function positive(amount: Nano): Nano {
  return amount > 0n ? amount : 0n
}
