// The statements of the hot path on SQLite, prepared once. Values are bound by position, which is the quickest way in.
import type { StatementSync } from 'node:sqlite'
import type { Nano } from '../../domain/credits.ts'
import type { RequestFacts } from '../../domain/usage.ts'
import { HOUR_MS } from '../../domain/usage-hours.ts'
import { ACCOUNT_PAGE, KEY_PAGE, ROW_PAGE } from '../billing/records.ts'
import type { GateAsk, HoldEntry, Settlement } from '../contract/store.ts'
import type { SqliteSql } from './sql.ts'

export type HotStatements = ReturnType<typeof hotStatements>

export function hotStatements({ db }: SqliteSql) {
  // In the order of `valuesOfFacts`, and of what `writeOpenRow` binds.
  const facts = 'request_id, client_request_id, account_id, key_id, secret_last4, endpoint, client_ip, created_at'
  const prepare = (text: string): StatementSync => {
    const statement = db.prepare(text)
    statement.setReadBigInts(true)
    return statement
  }
  return {
    begin: prepare('BEGIN IMMEDIATE'),
    commit: prepare('COMMIT'),
    account: prepare(`SELECT ${ACCOUNT_PAGE} FROM account WHERE id = ?`),
    key: prepare(`SELECT ${KEY_PAGE} FROM api_key k JOIN key_balance b ON b.key_id = k.id WHERE k.id = ?`),
    writeAccount: prepare('UPDATE account SET available = ?, held = ?, spent = ?, owed = ? WHERE id = ?'),
    writeKey: prepare('UPDATE key_balance SET spent = ?, held = ?, day = ?, day_count = ? WHERE key_id = ?'),
    insertOpen: prepare(
      `INSERT INTO usage (${facts}, model_requested, stream, hold, price_version, price, owner, state)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open')`,
    ),
    insertClosed: prepare(
      `INSERT INTO usage (${facts}, model_requested, stream, outcome, http_status, error_code, finished_at, requests, state)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'settled')`,
    ),
    row: prepare(`SELECT ${ROW_PAGE} FROM usage WHERE request_id = ?`),
    closeRow: prepare(
      `UPDATE usage SET state = ?, outcome = ?, http_status = ?, error_code = ?, finish_reason = ?, model_served = ?,
         provider = ?, attempts = ?, routing = ?, prompt_tokens = ?, cached_tokens = ?, cache_write_tokens = ?, completion_tokens = ?,
         reasoning_tokens = ?, usage_source = ?, cost = ?, upstream_cost = ?, first_byte_at = ?, finished_at = ?,
         upstream_id = ?, price_version = COALESCE(?, price_version), price = COALESCE(?, price), checkpoint = NULL
       WHERE request_id = ? AND state = ?`,
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
    claimedUntil: prepare(`SELECT (MAX(hour) + 1) * ${HOUR_MS} AS at FROM usage_rolled`),
    markHour: prepare(
      `INSERT INTO usage_rolled (hour, mark, rolled_mark) VALUES (?, 1, 0) ON CONFLICT DO UPDATE SET mark = mark + 1`,
    ),
    openRows: prepare(`SELECT ${ROW_PAGE}, owner FROM usage WHERE state = 'open'`),
  }
}

export function valuesOfFacts(facts: RequestFacts) {
  return [
    facts.requestId,
    facts.clientRequestId,
    facts.accountId,
    facts.keyId,
    facts.secretLast4,
    facts.endpoint,
    facts.clientIp,
    facts.createdAt,
  ] as const
}

// What every chat writes goes in value by value: spreading a list of them costs as much as binding it. An INSERT is run by `get`,
// which makes no result where none is read.
type OpenRow = { readonly ask: GateAsk; readonly entry: HoldEntry; readonly hold: Nano; readonly owner: string }

export function writeOpenRow(insertOpen: StatementSync, { ask, entry, hold, owner }: OpenRow): void {
  const { facts } = ask
  insertOpen.get(
    facts.requestId,
    facts.clientRequestId,
    facts.accountId,
    facts.keyId,
    facts.secretLast4,
    facts.endpoint,
    facts.clientIp,
    facts.createdAt,
    ask.modelRequested,
    ask.stream ? 1 : 0,
    hold,
    entry.priceVersion,
    entry.price,
    owner,
  )
}

// Whether there was such a row in the state that it is said to be in.
export function writeClosedRow(closeRow: StatementSync, from: string, to: string, bill: Settlement): boolean {
  const { tokens } = bill
  const { changes } = closeRow.run(
    to,
    bill.outcome,
    bill.httpStatus,
    bill.errorCode,
    bill.finishReason,
    bill.modelServed,
    bill.provider,
    bill.attempts,
    bill.routing,
    tokens.prompt,
    tokens.cached,
    tokens.cacheWrite,
    tokens.completion,
    tokens.reasoning,
    bill.usageSource,
    bill.cost,
    bill.upstreamCost,
    bill.firstByteAt,
    bill.finishedAt,
    bill.upstreamId,
    bill.priceVersion,
    bill.price,
    bill.requestId,
    from,
  )
  return changes === 1n
}
