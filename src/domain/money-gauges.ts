// Balances and budgets as /metrics shows them.
import type { BudgetAction, BudgetWindow } from './budget.ts'
import type { Nano } from './credits.ts'

export type AccountGauge = {
  readonly id: string
  readonly available: Nano
  readonly owed: Nano
  // Below it the account's balance is low; null: no such limit.
  readonly lowBalance: Nano | null
}

export type BudgetGauge = {
  readonly object: 'account' | 'key'
  readonly id: string
  readonly accountId: string
  readonly window: BudgetWindow
  readonly action: BudgetAction
  readonly amount: Nano
  readonly spent: Nano
  readonly held: Nano
}

// The accounts with the least left come first, and the budgets that are closest to their limit.
export type MoneyGauges = { readonly accounts: readonly AccountGauge[]; readonly budgets: readonly BudgetGauge[] }

// A key or account that has used nearly all of its credit limit or of a budget that blocks. Without a window it is the key's
// credit limit.
export type NearLimit = {
  readonly object: 'account' | 'key'
  readonly id: string
  readonly name: string
  readonly window: BudgetWindow | null
  readonly amount: Nano
  readonly spent: Nano
}
