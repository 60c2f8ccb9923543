// The journal of balances: what batches have changed since the last write-back. A balance is what is stored plus its journal. See
// docs/decisions/balance-journal.md.
import type { DatabaseSync } from 'node:sqlite'

// Both in the order of the ids, so that records of one page are written together. The transaction is the caller's. `between` is
// called between accounts and keys, for tests.
export function applyJournal(db: DatabaseSync, between?: () => void): void {
  db.exec(APPLY_TO_ACCOUNTS)
  between?.()
  db.exec(APPLY_TO_KEYS)
  db.exec(APPLY_TO_WINDOWS)
  db.exec(OPEN_WINDOWS)
  db.exec('DELETE FROM balance_journal')
  db.exec('DELETE FROM budget_journal')
}

// Where another process may have written to the file: its entries cannot be added to what that has deleted.
export function refuseLostEntries(db: DatabaseSync): void {
  const lost = db.prepare(`${LOST_ENTRIES} LIMIT 1`).get()
  if (lost !== undefined) throw new Error(`entry ${lost.seq} of the balance journal names an unknown account or key`)
}

export const LOST_ENTRIES = `SELECT seq FROM balance_journal WHERE account_id NOT IN (SELECT id FROM account)
  OR key_id NOT IN (SELECT key_id FROM key_balance)`

// Before a process that found the journal of another one reads or copies balances.
export function applyLeftJournal(db: DatabaseSync): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    refuseLostEntries(db)
    applyJournal(db)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

const APPLY_TO_ACCOUNTS = `UPDATE account SET available = account.available + j.available, held = account.held + j.held,
    spent = account.spent + j.spent, owed = account.owed + j.owed, month = MAX(account.month, j.month),
    month_base = account.month_base + j.month_base
  FROM (SELECT account_id, SUM(available) AS available, SUM(held) AS held, SUM(spent) AS spent, SUM(owed) AS owed,
      MAX(month) AS month, SUM(month_base) AS month_base
    FROM balance_journal GROUP BY account_id) j
  WHERE account.id = j.account_id`

const APPLY_TO_KEYS = `UPDATE key_balance SET spent = key_balance.spent + j.spent, held = key_balance.held + j.held, day = j.day,
    day_count = j.day_count, month = MAX(key_balance.month, j.month), month_base = key_balance.month_base + j.month_base
  FROM (SELECT key_id, SUM(key_spent) AS spent, SUM(key_held) AS held, MAX(seq) AS last, day, day_count,
      key_month AS month, SUM(key_month_base) AS month_base
    FROM balance_journal GROUP BY key_id) j
  WHERE key_balance.key_id = j.key_id`

const WINDOWS = `SELECT subject, period, began, SUM(spent) AS spent, SUM(held) AS held FROM budget_journal
  GROUP BY subject, period, began`

// In two statements: an upsert would check the added amounts, which may be negative, as if they were the whole.
const APPLY_TO_WINDOWS = `UPDATE budget_window SET spent = budget_window.spent + j.spent, held = budget_window.held + j.held
  FROM (${WINDOWS}) j WHERE budget_window.subject = j.subject AND budget_window.period = j.period
    AND budget_window.began = j.began`

const OPEN_WINDOWS = `INSERT INTO budget_window (subject, period, began, spent, held)
  SELECT subject, period, began, spent, held FROM (${WINDOWS}) j WHERE NOT EXISTS (SELECT 1 FROM budget_window w
    WHERE w.subject = j.subject AND w.period = j.period AND w.began = j.began)`
