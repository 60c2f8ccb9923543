// Balances and budgets for /metrics and the overview in SQL: the accounts with the least left, and the limits that are closest.
// All are found by a scan: an index on balances would have to be changed by every billing batch.
import { BUDGET_PERIODS, type BudgetAction, type BudgetWindow, windowBegan } from '../../domain/budget.ts'
import type { AccountGauge, BudgetGauge, NearLimit } from '../../domain/money-gauges.ts'
import type { Gauges } from '../contract/operator.ts'
import { big, bigOrNull, type Param, type Row, type Sql, text } from './sql.ts'

export function sqlGauges(sql: Sql): Gauges {
  return {
    async money(max) {
      const accounts = await sql.all(
        `SELECT id, available, owed, low_balance FROM account_now WHERE status = 'active'
         ORDER BY available - owed, spent DESC, id LIMIT $1`,
        [max],
      )
      const closest = await budgetsOf('', 'spent + held', max, sql)
      return { accounts: accounts.map(readAccount), budgets: closest.map(readBudget) }
    },

    async nearLimits(max) {
      const keys = await sql.all(
        `SELECT 'key' AS object, k.id, k.name, NULL AS period, k.credit_limit AS amount, n.spent
         FROM api_key k JOIN key_balance n ON n.key_id = k.id
         WHERE k.credit_limit > 0 AND n.spent >= k.credit_limit - k.credit_limit / 20
           AND k.revoked_at IS NULL AND k.expired_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $1)
         ORDER BY CAST(n.spent AS DOUBLE PRECISION) / k.credit_limit DESC, k.id LIMIT $2`,
        [sql.now(), max],
      )
      const isNear = `WHERE action = 'block' AND spent >= amount - amount / 20`
      const near = [...keys, ...(await budgetsOf(isNear, 'spent', max, sql))].map(readNear)
      return near.sort(byShare).slice(0, max)
    },
  }
}

// Those that the condition selects, the ones with the largest share of their amount first.
function budgetsOf(condition: string, used: string, max: number, sql: Sql): Promise<readonly Row[]> {
  const now = sql.now()
  const began: readonly Param[] = BUDGET_PERIODS.map(period => windowBegan(period, now))
  const statement = `SELECT * FROM (${currentBudgets(sql.jsonItems)}) b ${condition}
    ORDER BY CAST(${used} AS DOUBLE PRECISION) / amount DESC, object, id, period, amount LIMIT $5`
  return sql.all(statement, [...began, max, now])
}

function byShare(a: NearLimit, b: NearLimit): number {
  const [ofA, ofB] = [a.spent * b.amount, b.spent * a.amount]
  if (ofA !== ofB) return ofA > ofB ? -1 : 1
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1
}

function readNear(row: Row): NearLimit {
  return {
    object: text(row.object) as NearLimit['object'],
    id: text(row.id),
    name: text(row.name),
    window: row.period === null ? null : (text(row.period) as BudgetWindow),
    amount: big(row.amount),
    spent: big(row.spent),
  }
}

const BEGAN = `CASE s.period ${BUDGET_PERIODS.map((period, i) => `WHEN '${period}' THEN CAST($${i + 1} AS BIGINT)`).join(' ')} END`

// From the stored balances, which on SQLite are up to a second old. A window without a row has spent nothing.
function currentBudgets(items: Sql['jsonItems']): string {
  return `
    SELECT s.object, s.id, s.name, s.account_id, s.period, s.action, s.amount,
      CASE WHEN s.period = 'total' THEN s.spent ELSE COALESCE(w.spent, 0) END AS spent,
      CASE WHEN s.period = 'total' THEN s.held ELSE COALESCE(w.held, 0) END AS held
    FROM (
      SELECT 'account' AS object, a.id, a.name, a.id AS account_id, a.spent, a.held, ${BUDGET}
      FROM account a, ${items('a.budgets')} WHERE a.budgets <> '[]' AND a.status = 'active'
      UNION ALL
      SELECT 'key', k.id, k.name, k.account_id, n.spent, n.held, ${BUDGET}
      FROM api_key k JOIN key_balance n ON n.key_id = k.id, ${items('k.budgets')}
      WHERE k.budgets <> '[]' AND k.revoked_at IS NULL AND k.expired_at IS NULL
        AND (k.expires_at IS NULL OR k.expires_at > $6)
    ) s LEFT JOIN budget_window w ON w.subject = s.id AND w.period = s.period AND w.began = ${BEGAN}`
}

const BUDGET = `item.value ->> 'window' AS period, item.value ->> 'action' AS action,
  CAST(item.value ->> 'amount' AS BIGINT) AS amount`

function readAccount(row: Row): AccountGauge {
  const { id, available, owed, low_balance } = row
  return { id: text(id), available: big(available), owed: big(owed), lowBalance: bigOrNull(low_balance) }
}

function readBudget(row: Row): BudgetGauge {
  return {
    object: text(row.object) as BudgetGauge['object'],
    id: text(row.id),
    accountId: text(row.account_id),
    window: text(row.period) as BudgetWindow,
    action: text(row.action) as BudgetAction,
    amount: big(row.amount),
    spent: big(row.spent),
    held: big(row.held),
  }
}
