// The billing statements on SQLite, prepared once. Values are bound by position, which is the fastest way.
import type { StatementSync } from 'node:sqlite'
import { HOUR_MS } from '../../domain/usage.ts'
import { ACCOUNT_COLUMNS, KEY_COLUMNS, RECORD_COLUMNS, WINDOW_COLUMNS } from '../billing/records.ts'
import type { ClosedRow, OpenedRow } from '../billing/unit-of-work.ts'
import { compile, inBill, inRow, sqliteValues } from '../billing/usage-binders.ts'
import { CLOSED_COLUMNS, namesOf, OPENED_COLUMNS, REPLACED_COLUMNS, SETTLED_COLUMNS } from '../billing/usage-columns.ts'
import type { Settlement } from '../contract/store.ts'
import { OUTBOX_COLUMNS } from '../sql/outbox.ts'
import type { SqliteSql } from './sql.ts'

export type BillingStatements = ReturnType<typeof billingStatements>

const places = (columns: readonly unknown[]) => columns.map(() => '?').join(', ')

export function billingStatements({ db }: SqliteSql) {
  const prepare = (text: string): StatementSync => {
    const statement = db.prepare(text)
    statement.setReadBigInts(true)
    return statement
  }
  return {
    begin: prepare('BEGIN IMMEDIATE'),
    commit: prepare('COMMIT'),
    account: prepare(`SELECT ${ACCOUNT_COLUMNS} FROM account WHERE id = ?`),
    key: prepare(`SELECT ${KEY_COLUMNS} FROM api_key k JOIN key_balance b ON b.key_id = k.id WHERE k.id = ?`),
    append: prepare(
      `INSERT INTO balance_journal (account_id, key_id, available, held, spent, owed, key_spent, key_held, day, day_count,
         month, month_base, key_month, key_month_base)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    window: prepare(`SELECT ${WINDOW_COLUMNS} FROM budget_window WHERE subject = ? AND period = ? AND began = ?`),
    appendWindow: prepare(`INSERT INTO budget_journal (${WINDOW_COLUMNS}) VALUES (?, ?, ?, ?, ?)`),
    // Changes when another connection has written to the file.
    dataVersion: prepare('PRAGMA data_version'),
    totalChanges: prepare('SELECT total_changes() AS n'),
    insertOpen: prepare(
      `INSERT INTO usage (${namesOf(OPENED_COLUMNS)}, owner, state) VALUES (${places(OPENED_COLUMNS)}, ?, 'open')`,
    ),
    insertClosed: prepare(
      `INSERT INTO usage (${namesOf(CLOSED_COLUMNS)}, state) VALUES (${places(CLOSED_COLUMNS)}, 'settled')`,
    ),
    row: prepare(`SELECT ${RECORD_COLUMNS} FROM usage WHERE request_id = ?`),
    closeRow: prepare(
      `UPDATE usage SET state = ?, ${SETTLED_COLUMNS.map(({ column }) => `${column} = ?`).join(', ')},
         ${REPLACED_COLUMNS.map(({ column }) => `${column} = COALESCE(?, ${column})`).join(', ')}, checkpoint = NULL
       WHERE request_id = ? AND state = ?`,
    ),
    correct: prepare(
      `INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at)
       VALUES (?, ? || '-correction', 'correction', ?, ?, ?)`,
    ),
    checkpoint: prepare(`UPDATE usage SET checkpoint = ? WHERE request_id = ? AND state = 'open'`),
    emit: prepare(`INSERT INTO outbox (${OUTBOX_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (once) DO NOTHING`),
    touch: prepare('UPDATE secret SET last_used_at = MAX(COALESCE(last_used_at, 0), ?) WHERE hash = ?'),
    claimedUntil: prepare(`SELECT (MAX(hour) + 1) * ${HOUR_MS} AS at FROM usage_rolled`),
    markHour: prepare(
      `INSERT INTO usage_rolled (hour, mark, rolled_mark) VALUES (?, 1, 0) ON CONFLICT DO UPDATE SET mark = mark + 1`,
    ),
    openRows: prepare(`SELECT ${RECORD_COLUMNS}, owner FROM usage WHERE state = 'open'`),
  }
}

// What every chat writes is bound value by value: spreading a list costs as much as binding it. An INSERT is run by `get`, which
// creates no result object.
export const insertOpened = compile<(insertOpen: StatementSync, row: OpenedRow, owner: string) => void>(
  `(insertOpen, row, owner) => { insertOpen.get(${sqliteValues(OPENED_COLUMNS, inRow)}, owner) }`,
)

export const insertClosed = compile<(insertClosed: StatementSync, row: ClosedRow) => void>(
  `(insertClosed, row) => { insertClosed.get(${sqliteValues(CLOSED_COLUMNS, inRow)}) }`,
)

// Whether there was such a row in the expected state.
export const closeOpened = compile<(closeRow: StatementSync, from: string, to: string, bill: Settlement) => boolean>(
  `(closeRow, from, to, bill) => closeRow.run(to, ${sqliteValues([...SETTLED_COLUMNS, ...REPLACED_COLUMNS], inBill)},
    bill.requestId, from).changes === 1n`,
)
