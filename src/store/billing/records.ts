// Reads billing records from SQL rows, which look the same on both engines.
import type { Nano } from '../../domain/credits.ts'
import { big, bigOrNull, int, intOrNull, type Row, text, textOrNull } from '../sql/sql.ts'
import type { AccountRecord, KeyRecord, UsageRecord } from './transitions.ts'
import { select } from './usage-columns.ts'

export const ACCOUNT_COLUMNS = 'id, status, available, held, spent, owed'
export const KEY_COLUMNS = `k.id, k.account_id, k.version, k.daily_limit, k.credit_limit, k.expires_at, k.expired_at, k.revoked_at,
  b.spent, b.held, b.day, b.day_count`
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
    status: text(row.status),
    available: big(row.available),
    held: big(row.held),
    spent: big(row.spent),
    owed: big(row.owed),
    dirty: false,
  }
}

export function readKeyRecord(row: Row): KeyRecord {
  return {
    id: text(row.id),
    accountId: text(row.account_id),
    version: int(row.version),
    dailyLimit: intOrNull(row.daily_limit),
    creditLimit: bigOrNull(row.credit_limit),
    expiresAt: intOrNull(row.expires_at),
    dead: row.revoked_at !== null || row.expired_at !== null,
    spent: row.spent as Nano,
    held: row.held as Nano,
    day: int(row.day),
    dayCount: int(row.day_count),
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
