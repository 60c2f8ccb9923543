// The statements of the hot path on SQLite, prepared once. Values are bound by position, which is the quickest way in.
import type { StatementSync } from 'node:sqlite'
import type { SqliteSql } from './sqlite-sql.ts'

export type HotStatements = ReturnType<typeof hotStatements>

export function hotStatements({ db }: SqliteSql) {
  const facts = 'request_id, client_request_id, account_id, key_id, secret_last4, endpoint, client_ip, created_at'
  const prepare = (text: string): StatementSync => {
    const statement = db.prepare(text)
    statement.setReadBigInts(true)
    return statement
  }
  return {
    begin: prepare('BEGIN IMMEDIATE'),
    commit: prepare('COMMIT'),
    account: prepare('SELECT id, status, available, held, spent, owed FROM account WHERE id = ?'),
    key: prepare(
      `SELECT k.id, k.version, k.daily_limit, k.credit_limit, k.expires_at, k.expired_at, k.revoked_at,
         b.spent, b.held, b.day, b.day_count
       FROM api_key k JOIN key_balance b ON b.key_id = k.id WHERE k.id = ?`,
    ),
    writeAccount: prepare('UPDATE account SET available = ?, held = ?, spent = ?, owed = ? WHERE id = ?'),
    writeKey: prepare('UPDATE key_balance SET spent = ?, held = ?, day = ?, day_count = ? WHERE key_id = ?'),
    insertOpen: prepare(
      `INSERT INTO usage (${facts}, model_requested, stream, hold, price_version, price, owner, state)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open')`,
    ),
    insertClosed: prepare(
      `INSERT INTO usage (${facts}, model_requested, stream, outcome, http_status, error_code, finished_at, state)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'settled')`,
    ),
    row: prepare('SELECT state, account_id, key_id, hold, cost FROM usage WHERE request_id = ?'),
    closeRow: prepare(
      `UPDATE usage SET state = ?, outcome = ?, http_status = ?, error_code = ?, finish_reason = ?, model_served = ?,
         provider = ?, attempts = ?, routing = ?, prompt_tokens = ?, cached_tokens = ?, cache_write_tokens = ?, completion_tokens = ?,
         reasoning_tokens = ?, usage_source = ?, cost = ?, upstream_cost = ?, first_byte_at = ?, finished_at = ?,
         upstream_id = ?, price_version = COALESCE(?, price_version), price = COALESCE(?, price), checkpoint = NULL
       WHERE request_id = ?`,
    ),
    charge: prepare(
      `INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at) VALUES (?, ?, 'charge', ?, ?, ?)`,
    ),
    correct: prepare(
      `INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at)
       VALUES (?, ? || '-correction', 'correction', ?, ?, ?)`,
    ),
    checkpoint: prepare(`UPDATE usage SET checkpoint = ? WHERE request_id = ? AND state = 'open'`),
    touch: prepare('UPDATE secret SET last_used_at = MAX(COALESCE(last_used_at, 0), ?) WHERE hash = ?'),
    openRows: prepare(`SELECT request_id, owner, account_id, key_id, hold, checkpoint FROM usage WHERE state = 'open'`),
  }
}
