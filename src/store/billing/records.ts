// Reads billing records from SQL rows, which look the same on both engines.
import type { BudgetPeriod } from '../../domain/budget.ts'
import type { Nano } from '../../domain/credits.ts'
import { big, bigOrNull, int, intOrNull, type Row, text, textOrNull } from '../sql/sql.ts'
import { parseBudgets, type WindowRecord } from './budgets.ts'
import type { AccountRecord, KeyRecord, UsageRecord } from './unit-of-work.ts'
import { select } from './usage-columns.ts'

export const ACCOUNT_COLUMNS = 'id, name, status, available, held, spent, owed, month, month_base, budgets, low_balance'
export const KEY_COLUMNS = `k.id, k.account_id, k.name, k.version, k.daily_limit, k.credit_limit, k.expires_at, k.expired_at,
  k.revoked_at, k.budgets, b.spent, b.held, b.day, b.day_count, b.month, b.month_base`
export const WINDOW_COLUMNS = 'subject, period, began, spent, held'
export const RECORD_COLUMNS = select([
  'request_id',
  'state',
  'account_id',
  'key_id',
  'hold',
  'cost',
  'checkpoint',
  'created_at',
])

export function readAccountRecord(row: Row): AccountRecord {
  return {
    id: text(row.id),
    name: text(row.name),
    status: text(row.status),
    available: big(row.available),
    held: big(row.held),
    spent: big(row.spent),
    owed: big(row.owed),
    month: int(row.month),
    monthBase: big(row.month_base),
    budgets: parseBudgets(text(row.budgets)),
    lowBalance: bigOrNull(row.low_balance),
    dirty: false,
  }
}

export function readKeyRecord(row: Row): KeyRecord {
  return {
    id: text(row.id),
    accountId: text(row.account_id),
    name: text(row.name),
    version: int(row.version),
    dailyLimit: intOrNull(row.daily_limit),
    creditLimit: bigOrNull(row.credit_limit),
    expiresAt: intOrNull(row.expires_at),
    dead: row.revoked_at !== null || row.expired_at !== null,
    spent: row.spent as Nano,
    held: row.held as Nano,
    day: int(row.day),
    dayCount: int(row.day_count),
    month: int(row.month),
    monthBase: big(row.month_base),
    budgets: parseBudgets(text(row.budgets)),
    dirty: false,
  }
}

export function readWindowRecord(row: Row): WindowRecord {
  return {
    subject: text(row.subject),
    period: text(row.period) as BudgetPeriod,
    began: int(row.began),
    spent: big(row.spent),
    held: big(row.held),
    dirty: false,
  }
}

export function readUsageRecord(row: Row): UsageRecord {
  return {
    requestId: text(row.request_id),
    state: text(row.state),
    accountId: text(row.account_id),
    keyId: text(row.key_id),
    hold: big(row.hold),
    cost: big(row.cost),
    checkpoint: textOrNull(row.checkpoint),
    createdAt: int(row.created_at),
  }
}
