// Budgets of keys and accounts: how much may be spent in a calendar window of UTC, and what happens at the limit. A cost counts in
// the window in which its request began.
import { formatCredits, type Nano } from './credits.ts'
import { isoSecond } from './wire-time.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

// Windows that end. `total` has no end, and is what an account or key has spent in its life.
export const BUDGET_PERIODS = ['hour', 'day', 'week', 'month'] as const
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number]
export const BUDGET_WINDOWS = [...BUDGET_PERIODS, 'total'] as const
export type BudgetWindow = (typeof BUDGET_WINDOWS)[number]

// `block` refuses requests that could exceed the amount; `alert` only raises events.
export const BUDGET_ACTIONS = ['block', 'alert'] as const
export type BudgetAction = (typeof BUDGET_ACTIONS)[number]

export const BUDGETS_MAX = 8
export const THRESHOLDS_MAX = 8
export const THRESHOLDS: readonly number[] = [80, 100]

export type Budget = {
  readonly amount: Nano
  readonly window: BudgetWindow
  readonly action: BudgetAction
  // In per cent of the amount, ascending: an event is raised when one is reached.
  readonly thresholds: readonly number[]
}

// A budget and what its window has spent and holds at this moment.
export type BudgetState = {
  readonly budget: Budget
  readonly spent: Nano
  readonly held: Nano
  // When the window began; 0 for `total`.
  readonly began: number
}

export function windowBegan(window: BudgetWindow, at: number): number {
  switch (window) {
    case 'hour':
      return at - (at % HOUR_MS)
    case 'day':
      return at - (at % DAY_MS)
    case 'week':
      return mondayOf(at)
    case 'month':
      return Date.UTC(new Date(at).getUTCFullYear(), new Date(at).getUTCMonth())
    case 'total':
      return 0
  }
}

// Null: never.
export function windowEnds(window: BudgetWindow, began: number): number | null {
  switch (window) {
    case 'hour':
      return began + HOUR_MS
    case 'day':
      return began + DAY_MS
    case 'week':
      return began + 7 * DAY_MS
    case 'month':
      return Date.UTC(new Date(began).getUTCFullYear(), new Date(began).getUTCMonth() + 1)
    case 'total':
      return null
  }
}

// Day 0 of 1970 was a Thursday.
function mondayOf(at: number): number {
  const day = Math.floor(at / DAY_MS)
  return (day - ((day + 3) % 7)) * DAY_MS
}

// Months since the year 0. Every settlement asks, nearly always within the same month.
export function monthOf(at: number): number {
  if (at >= lastMonth.began && at < lastMonth.ends) return lastMonth.month
  const began = windowBegan('month', at)
  const date = new Date(began)
  lastMonth = {
    began,
    ends: windowEnds('month', began) ?? began,
    month: date.getUTCFullYear() * 12 + date.getUTCMonth(),
  }
  return lastMonth.month
}

export function monthBegan(month: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12)
}

let lastMonth = { began: 0, ends: 0, month: 0 }

export function budgetLeft({
  budget,
  spent,
  held,
}: Pick<BudgetState, 'spent' | 'held'> & { readonly budget: Pick<Budget, 'amount'> }): Nano {
  const left = budget.amount - spent - held
  return left > 0n ? left : 0n
}

// The one that leaves the least, and the least that any would leave if nothing were held. Undefined: none blocks.
export function tightestBudget<State extends BudgetState>(states: readonly State[]) {
  let state: State | undefined
  let released: Nano | undefined
  for (const each of states) {
    if (each.budget.action !== 'block') continue
    if (state === undefined || budgetLeft(each) < budgetLeft(state)) state = each
    const ofEach = budgetLeft({ ...each, held: 0n })
    if (released === undefined || ofEach < released) released = ofEach
  }
  return state === undefined || released === undefined ? undefined : { state, left: budgetLeft(state), released }
}

// As the API shows it.
export type BudgetObject = {
  readonly amount: string
  readonly window: BudgetWindow
  readonly action: BudgetAction
  readonly thresholds: readonly number[]
  readonly spent: string
  readonly held: string
  readonly remaining: string
  readonly resets_at: string | null
}

export function budgetObject(state: BudgetState): BudgetObject {
  const { amount, window, action, thresholds } = state.budget
  const ends = windowEnds(window, state.began)
  return {
    amount: formatCredits(amount),
    window,
    action,
    thresholds,
    spent: formatCredits(state.spent),
    held: formatCredits(state.held),
    remaining: formatCredits(budgetLeft(state)),
    resets_at: ends === null ? null : isoSecond(ends),
  }
}

// The thresholds that are reached at `after` and were not at `before`.
export function reachedThresholds({ amount, thresholds }: Budget, before: Nano, after: Nano): readonly number[] {
  return thresholds.filter(percent => {
    const limit = amount * BigInt(percent)
    return before * 100n < limit && after * 100n >= limit
  })
}

// As stored: amounts in nano-credits.
export function writeBudgets(budgets: readonly Budget[]): string {
  return JSON.stringify(budgets.map(({ amount, ...rest }) => ({ amount: String(amount), ...rest })))
}

export function readBudgets(text: string): readonly Budget[] {
  if (text === '[]') return NO_BUDGETS
  const stored = JSON.parse(text) as readonly (Omit<Budget, 'amount'> & { readonly amount: string })[]
  return stored.map(({ amount, ...rest }) => ({ ...rest, amount: BigInt(amount) }))
}

export const NO_BUDGETS: readonly Budget[] = []
