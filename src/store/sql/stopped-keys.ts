// Which active keys a limit or budget of their own stops, as a condition on rows of `api_key k`: the same as the states
// `limit_reached` and `budget_reached`, by the stored balances, which on SQLite are up to a second old.
import { BUDGET_PERIODS, windowBegan } from '../../domain/budget.ts'
import { dayOf } from '../../domain/key.ts'
import type { Conditions } from './conditions.ts'
import type { Tx } from './sql.ts'

export function addStopped(asked: Conditions, { now, jsonItems }: Pick<Tx, 'now' | 'jsonItems'>): void {
  const at = now()
  const began = BUDGET_PERIODS.map(period => windowBegan(period, at))
  asked.add(`(${LIMIT_REACHED} OR ${budgetReached(jsonItems('k.budgets'))})`, dayOf(at), ...began)
}

// A limit that is null is not reached.
const LIMIT_REACHED = `EXISTS (SELECT 1 FROM key_balance b WHERE b.key_id = k.id
  AND (b.spent >= k.credit_limit OR (b.day >= ? AND b.day_count >= k.daily_limit)))`

const WINDOW = `item.value ->> 'window'`
const BEGAN = `CASE ${WINDOW} ${BUDGET_PERIODS.map(period => `WHEN '${period}' THEN CAST(? AS BIGINT)`).join(' ')} END`

// Most keys have no budgets, and their list is not read.
function budgetReached(items: string): string {
  return `(k.budgets <> '[]' AND EXISTS (SELECT 1 FROM ${items} JOIN key_balance b ON b.key_id = k.id
    LEFT JOIN budget_window w ON w.subject = k.id AND w.period = ${WINDOW} AND w.began = ${BEGAN}
    WHERE item.value ->> 'action' = 'block'
      AND CAST(item.value ->> 'amount' AS BIGINT) <= CASE ${WINDOW} WHEN 'total' THEN b.spent ELSE COALESCE(w.spent, 0) END))`
}
