// Checks the windows of budgets and the months of keys and accounts: what they have spent and hold equals their rows, and no
// budget that blocks is exceeded by more than the overshoot of its requests, as far as its owner was never changed.
import { type BudgetWindow, monthBegan, windowEnds } from '../../domain/budget.ts'
import type { Nano } from '../../domain/credits.ts'
import { HOUR_MS } from '../../domain/usage.ts'
import { parseBudgets } from '../billing/budgets.ts'
import type { AuditCounts, Pass, PassRow } from './counts.ts'

type Window = {
  readonly period: BudgetWindow
  readonly began: number
  readonly end: number
  readonly spent: Nano
  // Null: not recorded.
  readonly held: Nano | null
  readonly found: { spent: Nano; held: Nano; overshoot: Nano }
}

// By the id of the key or account. Most have none.
export type WindowBook = { readonly windows: Map<string, Window[]>; readonly changed: Set<string> }

export function newWindowBook(): WindowBook {
  return { windows: new Map(), changed: new Set() }
}

// Before the rows.
export function windowPasses({ windows, changed }: WindowBook): readonly Pass[] {
  function add(row: PassRow, period: BudgetWindow, began: number, held: Nano | null): void {
    const end = windowEnds(period, began) ?? Number.MAX_SAFE_INTEGER
    const found = { spent: 0n, held: 0n, overshoot: 0n }
    const window = { period, began, end, spent: BigInt(row.spent ?? 0), held, found }
    const own = windows.get(String(row.subject))
    if (own === undefined) windows.set(String(row.subject), [window])
    else own.push(window)
  }

  return [
    {
      statement: `SELECT subject, period, began, SUM(spent) AS spent, SUM(held) AS held FROM budget_window_now
        GROUP BY subject, period, began`,
      look: row => add(row, row.period as BudgetWindow, Number(row.began), BigInt(row.held ?? 0)),
    },
    {
      statement: `SELECT key_id AS subject, month, spent - month_base AS spent FROM key_balance_now WHERE month > 0
        UNION ALL SELECT id, month, spent - month_base FROM account_now WHERE month > 0`,
      look: row => add(row, 'month', monthBegan(Number(row.month)), null),
    },
    // The balances are checked elsewhere; here they are the window that never ends.
    {
      statement: `SELECT k.id AS subject, b.spent, b.held FROM api_key k JOIN key_balance_now b ON b.key_id = k.id
          WHERE k.budgets LIKE '%"total"%'
        UNION ALL SELECT id, spent, held FROM account_now WHERE budgets LIKE '%"total"%'`,
      look: row => add(row, 'total', 0, BigInt(row.held ?? 0)),
    },
    {
      statement: `SELECT subject FROM event WHERE action IN ('key.update', 'account.update')`,
      look: row => void changed.add(String(row.subject)),
    },
  ]
}

// A row, or the sums of a dropped hour.
export function findInWindows(
  { windows }: WindowBook,
  row: PassRow,
  amounts: { readonly cost: Nano; readonly held: Nano; readonly overshoot: Nano },
): void {
  if (windows.size === 0) return
  const at = row.created_at === undefined ? Number(row.hour) * HOUR_MS : Number(row.created_at)
  for (const subject of [row.account_id, row.key_id]) {
    for (const { began, end, found } of windows.get(String(subject)) ?? []) {
      if (at < began || at >= end) continue
      found.spent += amounts.cost
      found.held += amounts.held
      found.overshoot += amounts.overshoot
    }
  }
}

// After the rows.
export function budgetPass({ windows, changed }: WindowBook, counts: AuditCounts): Pass {
  const blocking = new Map<string, readonly { readonly window: string; readonly amount: Nano }[]>()
  return {
    statement: `SELECT id, budgets FROM api_key WHERE budgets <> '[]'
      UNION ALL SELECT id, budgets FROM account WHERE budgets <> '[]'`,
    look(row) {
      const budgets = parseBudgets(String(row.budgets))
      blocking.set(
        String(row.id),
        budgets.filter(({ action }) => action === 'block'),
      )
    },
    end() {
      for (const [subject, own] of windows) {
        for (const { period, began, spent, held, found } of own) {
          const name = `${subject}: ${period} from ${new Date(began).toISOString()}`
          counts.checked('budgets')
          if (spent !== found.spent || (held ?? found.held) !== found.held)
            counts.broken('budgets', `${name}: spent ${spent}, holds ${held}; its rows ${found.spent}, ${found.held}`)
          if (changed.has(subject) || held === null) continue
          for (const { window, amount } of blocking.get(subject) ?? [])
            if (window === period && found.spent + found.held - found.overshoot > amount)
              counts.broken('budgets', `${name}: ${found.spent} of ${amount} spent`)
        }
      }
    },
  }
}
