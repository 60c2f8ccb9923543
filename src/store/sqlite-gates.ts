// The hot path on SQLite: a batch of gates, settlements and checkpoints in one exclusive transaction. Accounts and keys
// are read once a batch, changed in memory by the rules of `books`, and written back once; the CHECKs of the schema
// stand behind them. In one batch each operation succeeds or is refused alone.
import { type Nano, NO_TOKENS } from '../domain/credits.ts'
import { decideHold } from '../domain/hold.ts'
import { dayOf } from '../domain/key.ts'
import type { RequestFacts } from '../domain/usage.ts'
import type { Checkpoint, GateAsk, HoldEntry, Purse, RefusedRow, Settled, Settlement, Verdict } from './contract.ts'
import type { BatchResult } from './group-commit.ts'
import { bookCost, takeHold } from './sql/books.ts'
import { type AccountPage, type Desk, type KeyPage, openDesk } from './sqlite-desk.ts'
import type { SqliteSql } from './sqlite-sql.ts'
import { hotStatements } from './sqlite-statements.ts'

export type HotOp =
  | { readonly do: 'gate'; readonly ask: GateAsk }
  | { readonly do: 'settle'; readonly bill: Settlement }
  | { readonly do: 'checkpoint'; readonly mark: Checkpoint }
  | { readonly do: 'note'; readonly row: RefusedRow }
  | { readonly do: 'touch'; readonly hash: string; readonly at: number }
  | { readonly do: 'sweep'; readonly live: readonly string[] }

export type HotResult = Verdict | Settled | number | null

export function sqliteGates(sql: SqliteSql, owner: string) {
  const run = hotStatements(sql)

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
    run.begin.run()
    try {
      const desk = openDesk(run, sql.now())
      const results = ops.map(op => ({ ok: true as const, value: apply(op, desk) }))
      desk.writeBack()
      run.commit.run()
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
      kind: 'granted',
      hold: granted.hold,
      outputTokens: granted.outputTokens,
      day: key.day,
      dayCount: key.dayCount,
      purse: entry.kind === 'free' ? purseOf(account, key) : null,
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
    run.insertOpen.run(
      ...factsOf(ask.facts),
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

  // Only an open row is settled; a recovered one takes the difference as a correction; a settled one takes nothing. The
  // transaction is exclusive: between the look and the change nobody else writes.
  function settle(bill: Settlement, desk: Desk): Settled {
    const row = run.row.get(bill.requestId)
    if (row === undefined) return 'unknown'
    if (row.state === 'settled') return 'again'
    const { account, key } = desk.pages(String(row.account_id), String(row.key_id))
    account.dirty = key.dirty = true
    closeRow('settled', bill)
    if (row.state === 'open') {
      bookCost(row.hold as Nano, bill.cost, account, key)
      charge(account.id, bill.requestId, bill.cost, desk.now)
      return 'settled'
    }
    // Its owner was only paused: the row was recovered meanwhile, and the difference is booked where everybody sees it.
    const more = bill.cost - (row.cost as Nano)
    bookCost(0n, more, account, key)
    if (more !== 0n) run.correct.run(account.id, bill.requestId, -more, bill.requestId, desk.now)
    return 'corrected'
  }

  function closeRow(to: 'settled' | 'recovered', bill: Settlement): void {
    const { tokens } = bill
    run.closeRow.run(
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
    )
  }

  function charge(accountId: string, requestId: string, cost: Nano, now: number): void {
    if (cost > 0n) run.charge.run(accountId, requestId, -cost, requestId, now)
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
    closeRow('recovered', {
      requestId: String(row.request_id),
      outcome: 'recovered',
      httpStatus: 0,
      errorCode: null,
      finishReason: null,
      modelServed: mark?.model ?? null,
      provider: mark?.provider ?? null,
      attempts: null,
      routing: null,
      tokens: mark?.tokens ?? NO_TOKENS,
      usageSource: mark === undefined ? 'none' : 'estimate',
      cost,
      upstreamCost: null,
      priceVersion: mark?.priceVersion ?? null,
      price: mark?.price ?? null,
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

function purseOf(account: AccountPage, key: KeyPage): Purse {
  return {
    balance: { available: account.available, held: account.held, spent: account.spent, owed: account.owed },
    key: { creditLimit: key.creditLimit, spent: key.spent, held: key.held },
  }
}

type FactValues = [string, string | null, string, string, string, string, string, number]

function factsOf(facts: RequestFacts): FactValues {
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
