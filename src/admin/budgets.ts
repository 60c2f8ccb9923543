// Budgets as operators send them, validated beyond their schema.
import {
  BUDGETS_MAX,
  type Budget,
  type BudgetAction,
  type BudgetWindow,
  THRESHOLDS,
  THRESHOLDS_MAX,
} from '../domain/budget.ts'
import { readCredits, wrong } from './input.ts'

export type BudgetInput = {
  readonly amount: string
  readonly window: BudgetWindow
  // `block` if absent.
  readonly action?: BudgetAction
  // In percent; 80 and 100 if absent.
  readonly thresholds?: readonly number[]
}

export function readBudgetInputs(inputs: readonly BudgetInput[]): readonly Budget[] {
  if (inputs.length > BUDGETS_MAX) throw wrong('budgets', `at most ${BUDGETS_MAX} budgets`)
  const budgets = inputs.map(readBudget)
  const seen = new Set<string>()
  for (const [i, { amount, window, action }] of budgets.entries()) {
    const same = `${window} ${action} ${amount}`
    if (seen.has(same)) throw wrong(`budgets.${i}`, 'a budget that is not in the list already')
    seen.add(same)
  }
  return budgets
}

function readBudget(
  { amount: text, window, action = 'block', thresholds = THRESHOLDS }: BudgetInput,
  i: number,
): Budget {
  const amount = readCredits(`budgets.${i}.amount`, text)
  if (amount <= 0n) throw wrong(`budgets.${i}.amount`, 'more than zero')
  if (thresholds.length > THRESHOLDS_MAX)
    throw wrong(`budgets.${i}.thresholds`, `at most ${THRESHOLDS_MAX} percentages`)
  return { amount, window, action, thresholds: [...new Set(thresholds)].sort((a, b) => a - b) }
}
