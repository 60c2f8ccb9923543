// Budgets inside a batch: the windows that a request counts in, the tightest limit of a reservation, and what a
// settlement books. A window is changed only together with its account or key, under the same lock. See
// docs/decisions/budgets.md.
import { type Budget, type BudgetPeriod, NO_BUDGETS, readBudgets, windowBegan } from '../../domain/budget.ts'
import type { Nano } from '../../domain/credits.ts'
import { lru } from '../../lib/lru.ts'
import type { OwnedState } from '../contract/store.ts'

// What the requests that began in one window of a key or account have spent and hold.
export type WindowRecord = {
  readonly subject: string
  readonly period: BudgetPeriod
  readonly began: number
  spent: Nano
  held: Nano
  dirty: boolean
}

// A key or an account with budgets.
export type Budgeted = {
  readonly id: string
  readonly name: string
  readonly budgets: readonly Budget[]
  readonly spent: Nano
  readonly held: Nano
}

export type Windows = {
  // Undefined: no budget had this window when the request began.
  window(subject: string, period: BudgetPeriod, began: number): WindowRecord | undefined
  openWindow(subject: string, period: BudgetPeriod, began: number): WindowRecord
}

export type BudgetOwner = OwnedState['owner']

// Stored budgets are texts, of which most are equal.
const PARSED_MAX = 1000
const parsed = lru<string, readonly Budget[]>(PARSED_MAX)

export function parseBudgets(text: string): readonly Budget[] {
  if (text === '[]') return NO_BUDGETS
  let budgets = parsed.get(text)
  if (budgets === undefined) {
    budgets = readBudgets(text)
    parsed.set(text, budgets)
  }
  return budgets
}

// The budgets of an account and of its key for a request that began at that time.
export function budgetStates(at: number, account: Budgeted, key: Budgeted, windows: Windows): readonly OwnedState[] {
  return [...statesOf('account', at, account, windows), ...statesOf('key', at, key, windows)]
}

function statesOf(owner: BudgetOwner, at: number, subject: Budgeted, windows: Windows): readonly OwnedState[] {
  return subject.budgets.map(budget => {
    const began = windowBegan(budget.window, at)
    if (budget.window === 'total') return { owner, budget, began, spent: subject.spent, held: subject.held }
    const { spent, held } = windows.window(subject.id, budget.window, began) ?? NOTHING
    return { owner, budget, began, spent, held }
  })
}

const NOTHING = { spent: 0n, held: 0n }

// A window that several budgets share is changed once.
export function holdInWindows(hold: Nano, at: number, subject: Budgeted, windows: Windows): void {
  for (const period of periodsOf(subject.budgets)) {
    const window = windows.openWindow(subject.id, period, windowBegan(period, at))
    window.held += hold
    window.dirty = true
  }
}

export function bookInWindows(hold: Nano, cost: Nano, at: number, subject: Budgeted, windows: Windows): void {
  for (const period of periodsOf(subject.budgets)) {
    const window = windows.window(subject.id, period, windowBegan(period, at))
    if (window === undefined) continue
    window.held -= hold
    window.spent += cost
    window.dirty = true
  }
}

function periodsOf(budgets: readonly Budget[]): readonly BudgetPeriod[] {
  if (budgets.length === 1 && budgets[0]?.window !== 'total') return [budgets[0]?.window as BudgetPeriod]
  const periods = new Set(budgets.map(({ window }) => window))
  periods.delete('total')
  return [...periods] as BudgetPeriod[]
}
