// The hot path on SQLite: a batch of gates, settlements and checkpoints in one exclusive transaction. Accounts and keys
// are read once a batch, changed in memory by the rules of `books`, and written back once; the CHECKs of the schema
// stand behind them. In one batch each operation succeeds or is refused alone.
import type { StatementSync } from 'node:sqlite'
import { type Nano, NO_TOKENS, type Tokens } from '../domain/credits.ts'
import { dayOf } from '../domain/key.ts'
import type { RequestFacts } from '../domain/usage.ts'
import type { Checkpoint, GateAsk, HoldEntry, RefusedRow, Settled, Settlement, Verdict } from './contract.ts'
import type { BatchResult } from './group-commit.ts'
import { type Books, bookCost, decideHold, type KeyBooks, takeHold } from './sql/books.ts'
import type { SqliteSql } from './sqlite-sql.ts'

export type HotOp =
  | { readonly do: 'gate'; readonly ask: GateAsk }
  | { readonly do: 'settle'; readonly bill: Settlement }
  | { readonly do: 'checkpoint'; readonly mark: Checkpoint }
  | { readonly do: 'note'; readonly row: RefusedRow }
  | { readonly do: 'touch'; readonly hash: string; readonly at: number }
  | { readonly do: 'sweep'; readonly live: readonly string[] }

export type HotResult = Verdict | Settled | number | null

type AccountPage = Books & { readonly id: string; readonly status: string; dirty: boolean }
type KeyPage = KeyBooks & {
  readonly id: string
  readonly version: number
  readonly dailyLimit: number | null
  readonly expiresAt: number | null
  readonly dead: boolean
  day: number
  dayCount: number
  dirty: boolean
}

export function sqliteGates(sql: SqliteSql, owner: string) {
  const run = statements(sql)

  // A batch that the database rejects is split in halves until the culprit stands alone. A database that is locked, full
  // or broken rejects everything, and each half would only wait for it again.
  function commit(ops: readonly HotOp[]): BatchResult<HotResult>[] {
    try {
      return inTransaction(ops)
    } catch (error) {
      if (ops.length === 1 || isAway(error)) return ops.map(() => ({ ok: false, error: error as Error }))
      const half = ops.length >> 1
      return [...commit(ops.slice(0, half)), ...commit(ops.slice(half))]
    }
  }

  function inTransaction(ops: readonly HotOp[]): BatchResult<HotResult>[] {
    sql.db.exec('BEGIN IMMEDIATE')
    try {
      const desk = openDesk(run, sql.now())
      const results = ops.map(op => ({ ok: true as const, value: apply(op, desk) }))
      desk.writeBack()
      sql.db.exec('COMMIT')
      return results
    } catch (error) {
      if (sql.db.isTransaction) sql.db.exec('ROLLBACK')
      throw error
    }
  }

  function apply(op: HotOp, desk: Desk): HotResult {
    switch (op.do) {
      case 'gate':
        return gate(op.ask, desk)
      case 'settle':
        return settle(op.bill, desk)
      case 'checkpoint':
        return checkpoint(op.mark)
      case 'note':
        return note(op.row)
      case 'touch':
        run.touch.run(op.at, op.hash)
        return null
      case 'sweep':
        return sweep(new Set(op.live), desk)
    }
  }

  function gate(ask: GateAsk, desk: Desk): Verdict {
    const { facts, entry } = ask
    const key = desk.key(facts.keyId)
    const account = desk.account(facts.accountId)
    const ended = (at: number | null) => at !== null && at <= desk.now
    if (key === undefined || account === undefined || key.dead || key.version !== ask.keyVersion)
      return { kind: 'stale' }
    if (ended(ask.graceExpiresAt) || ended(key.expiresAt)) return { kind: 'stale' }
    if (account.status !== 'active' && !ask.evenIfSuspended) return { kind: 'suspended' }

    const day = dayOf(desk.now)
    if (key.day < day) {
      key.day = day
      key.dayCount = 0
    }
    if (key.dailyLimit !== null && key.dayCount >= key.dailyLimit) {
      insertFree(ask, 'refused', 429, 'daily_limit_exceeded', desk.now)
      return { kind: 'daily_spent', day: key.day, dayCount: key.dayCount }
    }
    const granted =
      entry.kind === 'hold' ? insertHold(ask, entry, account, key, desk.now) : insertAsAsked(ask, desk.now)
    if (granted.kind === 'short') return { ...granted, owed: account.owed }

    key.dayCount += 1
    key.dirty = true
    return {
      ...granted,
      kind: 'granted',
      day: key.day,
      dayCount: key.dayCount,
      balance: { available: account.available, held: account.held, spent: account.spent, owed: account.owed },
      keyRemaining: key.creditLimit === null ? null : key.creditLimit - key.spent - key.held,
    }
  }

  function insertHold(ask: GateAsk, entry: HoldEntry, account: AccountPage, key: KeyPage, now: number) {
    const decision = decideHold(entry, account, key)
    if (decision.kind === 'short') {
      insertFree(ask, 'refused', 402, decision.heldByOthers ? 'credits_held' : 'insufficient_credits', now)
      return decision
    }
    takeHold(decision.hold, account, key)
    account.dirty = true
    const facts = factsOf(ask.facts)
    run.insertOpen.run(
      ...facts,
      ask.modelRequested,
      ask.stream ? 1 : 0,
      decision.hold,
      entry.priceVersion,
      entry.price,
      owner,
    )
    return { kind: 'fits' as const, hold: decision.hold, outputTokens: decision.outputTokens }
  }

  function insertAsAsked(ask: GateAsk, now: number) {
    if (ask.entry.kind === 'free') insertFree(ask, ask.entry.outcome, ask.entry.httpStatus, ask.entry.errorCode, now)
    return { kind: 'fits' as const, hold: 0n, outputTokens: 0 }
  }

  function insertFree(ask: GateAsk, outcome: string, status: number, code: string | null, now: number): void {
    run.insertClosed.run(...factsOf(ask.facts), ask.modelRequested, ask.stream ? 1 : 0, outcome, status, code, now)
  }

  // Only an open row is settled; a recovered one takes the difference as a correction; a settled one takes nothing.
  function settle(bill: Settlement, desk: Desk): Settled {
    const row = closeRow('open', 'settled', bill)
    if (row === undefined) return correct(bill, desk)
    const { account, key } = desk.pages(String(row.account_id), String(row.key_id))
    bookCost(row.hold as Nano, bill.cost, account, key)
    account.dirty = key.dirty = true
    charge(account.id, bill.requestId, bill.cost, desk.now)
    return 'settled'
  }

  // The owner was only paused: its row was recovered meanwhile, and the difference is booked where everybody sees it.
  function correct(bill: Settlement, desk: Desk): Settled {
    const before = run.costBefore.get(bill.requestId)
    if (before === undefined) return 'unknown'
    const row = closeRow('recovered', 'settled', bill)
    if (row === undefined) return 'again'
    const { account, key } = desk.pages(String(row.account_id), String(row.key_id))
    const more = bill.cost - (before.cost as Nano)
    bookCost(0n, more, account, key)
    account.dirty = key.dirty = true
    if (more !== 0n) run.correct.run(account.id, bill.requestId, -more, desk.now)
    return 'corrected'
  }

  // One statement is the lock: a row that is no longer in the state it should come from is not found.
  function closeRow(from: 'open' | 'recovered', to: 'settled' | 'recovered', bill: Closing) {
    const t: Tokens = bill.tokens
    return run.closeRow.get(
      to,
      bill.outcome,
      bill.httpStatus,
      bill.errorCode,
      bill.finishReason,
      bill.modelServed,
      bill.provider,
      bill.attempts.length === 0 ? null : JSON.stringify(bill.attempts),
      t.prompt,
      t.cached,
      t.cacheWrite,
      t.completion,
      t.reasoning,
      bill.usageSource,
      bill.cost,
      bill.upstreamCost ?? null,
      bill.firstByteAt,
      bill.finishedAt,
      bill.upstreamId,
      bill.priceVersion,
      bill.price,
      bill.requestId,
      from,
    )
  }

  function charge(accountId: string, requestId: string, cost: Nano, now: number): void {
    if (cost > 0n) run.charge.run(accountId, requestId, -cost, now)
  }

  function checkpoint(mark: Checkpoint): null {
    run.checkpoint.run(JSON.stringify({ ...mark, requestId: undefined, cost: mark.cost.toString() }), mark.requestId)
    return null
  }

  function note(row: RefusedRow): null {
    run.insertClosed.run(...factsOf(row.facts), null, 0, 'refused', row.httpStatus, row.errorCode, row.facts.createdAt)
    return null
  }

  function sweep(live: ReadonlySet<string>, desk: Desk): number {
    let swept = 0
    for (const row of run.openRows.all()) {
      if (row.owner === owner && live.has(String(row.request_id))) continue
      recover(row, desk)
      swept += 1
    }
    return swept
  }

  // A row whose process died is billed at what its last checkpoint says; without one nothing is known to be produced.
  function recover(row: Record<string, unknown>, desk: Desk): void {
    const mark =
      typeof row.checkpoint === 'string' ? (JSON.parse(row.checkpoint) as Checkpoint & { cost: string }) : undefined
    const cost = BigInt(mark?.cost ?? 0)
    const { account, key } = desk.pages(String(row.account_id), String(row.key_id))
    bookCost(row.hold as Nano, cost, account, key)
    account.dirty = key.dirty = true
    closeRow('open', 'recovered', {
      requestId: String(row.request_id),
      outcome: 'recovered',
      httpStatus: 0,
      errorCode: null,
      finishReason: null,
      modelServed: null,
      provider: mark?.provider ?? null,
      attempts: [],
      tokens: mark?.tokens ?? NO_TOKENS,
      usageSource: mark === undefined ? 'none' : 'estimate',
      cost,
      priceVersion: null,
      price: null,
      firstByteAt: null,
      finishedAt: desk.now,
      upstreamId: null,
    })
    charge(account.id, String(row.request_id), cost, desk.now)
  }

  return { commit }
}

// SQLite's own codes: busy, locked, out of memory, read-only, I/O, corrupt, full, cannot open, not a database.
const AWAY = new Set([5, 6, 7, 8, 10, 11, 13, 14, 26])

function isAway(error: unknown): boolean {
  const { errcode } = error as { errcode?: unknown }
  return typeof errcode === 'number' && AWAY.has(errcode & 0xff)
}

type Closing = Omit<Settlement, 'upstreamCost'> & { readonly upstreamCost?: Nano | null }

type Desk = ReturnType<typeof openDesk>

// The accounts and keys that one transaction touches: read on first use, written back at its end.
function openDesk(run: Statements, now: number) {
  const accounts = new Map<string, AccountPage | undefined>()
  const keys = new Map<string, KeyPage | undefined>()

  function account(id: string): AccountPage | undefined {
    if (!accounts.has(id)) accounts.set(id, readAccount(run.account.get(id)))
    return accounts.get(id)
  }

  function key(id: string): KeyPage | undefined {
    if (!keys.has(id)) keys.set(id, readKey(run.key.get(id)))
    return keys.get(id)
  }

  function pages(accountId: string, keyId: string): { account: AccountPage; key: KeyPage } {
    const found = { account: account(accountId), key: key(keyId) }
    if (found.account === undefined || found.key === undefined)
      throw new Error('a usage row names an unknown account or key')
    return { account: found.account, key: found.key }
  }

  function writeBack(): void {
    for (const page of accounts.values()) {
      if (page?.dirty) run.writeAccount.run(page.available, page.held, page.spent, page.owed, page.id)
    }
    for (const page of keys.values()) {
      if (page?.dirty) run.writeKey.run(page.spent, page.held, page.day, page.dayCount, page.id)
    }
  }

  return { now, account, key, pages, writeBack }
}

function readAccount(row: Record<string, unknown> | undefined): AccountPage | undefined {
  if (row === undefined) return undefined
  const { available, held, spent, owed } = row as Record<string, Nano>
  return {
    id: String(row.id),
    status: String(row.status),
    available: available ?? 0n,
    held: held ?? 0n,
    spent: spent ?? 0n,
    owed: owed ?? 0n,
    dirty: false,
  }
}

function readKey(row: Record<string, unknown> | undefined): KeyPage | undefined {
  if (row === undefined) return undefined
  const numberOrNull = (value: unknown) => (value === null ? null : Number(value))
  return {
    id: String(row.id),
    version: Number(row.version),
    dailyLimit: numberOrNull(row.daily_limit),
    creditLimit: row.credit_limit as Nano | null,
    expiresAt: numberOrNull(row.expires_at),
    dead: row.revoked_at !== null || row.expired_at !== null,
    spent: row.spent as Nano,
    held: row.held as Nano,
    day: Number(row.day),
    dayCount: Number(row.day_count),
    dirty: false,
  }
}

type Facts = [string, string | null, string, string, string, string, string, number]

function factsOf(facts: RequestFacts): Facts {
  return [
    facts.requestId,
    facts.clientRequestId,
    facts.accountId,
    facts.keyId,
    facts.secretLast4,
    facts.endpoint,
    facts.clientIp,
    facts.createdAt,
  ]
}

type Statements = ReturnType<typeof statements>

function statements(sql: SqliteSql) {
  const facts = 'request_id, client_request_id, account_id, key_id, secret_last4, endpoint, client_ip, created_at'
  const prepare = (text: string): StatementSync => sql.prepare(text)
  return {
    account: prepare('SELECT id, status, available, held, spent, owed FROM account WHERE id = $1'),
    key: prepare(
      `SELECT k.id, k.version, k.daily_limit, k.credit_limit, k.expires_at, k.expired_at, k.revoked_at,
         b.spent, b.held, b.day, b.day_count
       FROM api_key k JOIN key_balance b ON b.key_id = k.id WHERE k.id = $1`,
    ),
    writeAccount: prepare('UPDATE account SET available = $1, held = $2, spent = $3, owed = $4 WHERE id = $5'),
    writeKey: prepare('UPDATE key_balance SET spent = $1, held = $2, day = $3, day_count = $4 WHERE key_id = $5'),
    insertOpen: prepare(
      `INSERT INTO usage (${facts}, model_requested, stream, hold, price_version, price, owner, state)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 'open')`,
    ),
    insertClosed: prepare(
      `INSERT INTO usage (${facts}, model_requested, stream, outcome, http_status, error_code, finished_at, state)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 'settled')`,
    ),
    costBefore: prepare('SELECT cost FROM usage WHERE request_id = $1'),
    closeRow: prepare(
      `UPDATE usage SET state = $1, outcome = $2, http_status = $3, error_code = $4, finish_reason = $5, model_served = $6,
         provider = $7, attempts = $8, prompt_tokens = $9, cached_tokens = $10, cache_write_tokens = $11,
         completion_tokens = $12, reasoning_tokens = $13, usage_source = $14, cost = $15, upstream_cost = $16,
         first_byte_at = $17, finished_at = $18, upstream_id = $19, price_version = COALESCE($20, price_version),
         price = COALESCE($21, price), checkpoint = NULL
       WHERE request_id = $22 AND state = $23 RETURNING account_id, key_id, hold`,
    ),
    charge: prepare(
      `INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at) VALUES ($1, $2, 'charge', $3, $2, $4)`,
    ),
    correct: prepare(
      `INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at)
       VALUES ($1, $2 || '-correction', 'correction', $3, $2, $4)`,
    ),
    checkpoint: prepare(`UPDATE usage SET checkpoint = $1 WHERE request_id = $2 AND state = 'open'`),
    touch: prepare('UPDATE secret SET last_used_at = MAX(COALESCE(last_used_at, 0), $1) WHERE hash = $2'),
    openRows: prepare(`SELECT request_id, owner, account_id, key_id, hold, checkpoint FROM usage WHERE state = 'open'`),
  }
}
