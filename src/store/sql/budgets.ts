// Windows of budgets in SQL: what they have spent and hold when a budget is set, their state for reports, and their retention.
// Billing batches change them afterwards.
import {
  BUDGET_PERIODS,
  type Budget,
  type BudgetPeriod,
  type BudgetState,
  reachedThresholds,
  windowBegan,
  windowEnds,
} from '../../domain/budget.ts'
import type { Nano } from '../../domain/credits.ts'
import { DAY_MS } from '../../domain/key.ts'
import { spentThisMonth } from '../billing/balances.ts'
import { type Budgeted, budgetStates, type WindowRecord } from '../billing/budgets.ts'
import { budgetEvent } from '../billing/money-events.ts'
import { readWindowRecord } from '../billing/records.ts'
import { emit } from './outbox.ts'
import { big, int, type Row, type Tx } from './sql.ts'
import { spentIn } from './usage/sums.ts'

export type BudgetSubject = { readonly object: 'key' | 'account'; readonly id: string; readonly accountId: string }

// After the budgets of a key or account have changed, under its lock: windows without a budget are dropped, and those with a new
// one begin with what was spent in them. The windows before and after the current one too: a request that began in the one before
// may still arrive, and clocks differ.
export async function setWindows(
  tx: Tx,
  subject: BudgetSubject,
  before: readonly Budget[],
  after: readonly Budget[],
): Promise<void> {
  const had = new Set(before.map(({ window }) => window))
  const has = new Set(after.map(({ window }) => window))
  for (const period of BUDGET_PERIODS) {
    if (had.has(period) === has.has(period)) continue
    await tx.run('DELETE FROM budget_window WHERE subject = $1 AND period = $2', [subject.id, period])
    if (!has.has(period)) continue
    const current = windowBegan(period, tx.now())
    const next = endOf(period, current)
    for (const began of [windowBegan(period, current - 1), current, next]) await begin(tx, subject, period, began)
  }
}

async function begin(tx: Tx, { object, id }: BudgetSubject, period: BudgetPeriod, from: number): Promise<void> {
  const to = endOf(period, from)
  const [column, of] = object === 'key' ? ['key_id', { keyId: id }] : ['account_id', { accountId: id }]
  const spent = await spentIn({ ...of, from, to, endpoint: 'all' }, object, tx)
  const open = await tx.get(
    `SELECT COALESCE(SUM(hold), 0) AS held FROM usage
     WHERE state = 'open' AND ${column} = $1 AND created_at >= $2 AND created_at < $3`,
    [id, from, to],
  )
  const values = [id, period, from, spent, big(open?.held)]
  await tx.run('INSERT INTO budget_window (subject, period, began, spent, held) VALUES ($1, $2, $3, $4, $5)', values)
}

function endOf(period: BudgetPeriod, began: number): number {
  return windowEnds(period, began) ?? Number.MAX_SAFE_INTEGER
}

// Events of thresholds that a changed budget has already passed.
export async function emitPassed(tx: Tx, subject: BudgetSubject, budgeted: Budgeted): Promise<void> {
  const states = (await readStates(tx, [budgeted])).get(budgeted.id) ?? []
  for (const state of states)
    for (const threshold of reachedThresholds(state.budget, 0n, state.spent))
      await emit(tx, budgetEvent(subject.object, budgeted, subject.accountId, state, threshold))
}

// By the id of the key or account, in the order of its budgets.
export async function readStates(
  tx: Tx,
  subjects: readonly Budgeted[],
): Promise<ReadonlyMap<string, readonly BudgetState[]>> {
  const now = tx.now()
  const windows = await readWindows(tx, subjects, now)
  const find = {
    window: (subject: string, period: BudgetPeriod, began: number) => windows.get(`${subject} ${period} ${began}`),
    openWindow: () => {
      throw new Error('a report opens no window')
    },
  }
  return new Map(subjects.map(subject => [subject.id, budgetStates(now, subject, NO_KEY, find)]))
}

const NO_KEY: Budgeted = { id: '', name: '', budgets: [], spent: 0n, held: 0n }

async function readWindows(tx: Tx, subjects: readonly Budgeted[], now: number) {
  const ids = subjects.filter(({ budgets }) => budgets.some(({ window }) => window !== 'total')).map(({ id }) => id)
  if (ids.length === 0) return new Map<string, WindowRecord>()
  const rows = await tx.all(
    `SELECT subject, period, began, SUM(spent) AS spent, SUM(held) AS held FROM budget_window_now
     WHERE began IN ($1, $2, $3, $4) AND subject IN (${ids.map((_, i) => `$${i + 5}`).join(', ')})
     GROUP BY subject, period, began`,
    [...BUDGET_PERIODS.map(period => windowBegan(period, now)), ...ids],
  )
  return new Map(
    rows.map(row => {
      const window = readWindowRecord(row)
      return [`${window.subject} ${window.period} ${window.began}`, window] as const
    }),
  )
}

// From the columns `spent`, `month` and `month_base` of an account or key.
export function monthSpending(row: Row, now: number): Nano {
  return spentThisMonth({ month: int(row.month), monthBase: big(row.month_base), spent: big(row.spent) }, now)
}

// Longer than any request of a window may take to be corrected.
const KEPT_DAYS: Readonly<Record<BudgetPeriod, number>> = { hour: 3, day: 40, week: 100, month: 400 }
const DROPPED_AT_ONCE_MAX = 500

// A window that is dropped too early begins again with nothing spent, so the time is not simply the clock's.
export async function dropOldWindows(tx: Tx, now: number): Promise<boolean> {
  let isMore = false
  for (const period of BUDGET_PERIODS) {
    const dropped = await tx.run(
      `DELETE FROM budget_window WHERE (subject, period, began) IN (
         SELECT subject, period, began FROM budget_window WHERE period = $1 AND began < $2
         ORDER BY began LIMIT ${DROPPED_AT_ONCE_MAX})`,
      [period, now - KEPT_DAYS[period] * DAY_MS],
    )
    isMore ||= dropped === DROPPED_AT_ONCE_MAX
  }
  return isMore
}
