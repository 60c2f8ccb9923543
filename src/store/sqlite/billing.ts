// Billing on SQLite: a batch of reservations, settlements and checkpoints in one exclusive transaction, by the rules of
// transitions.ts, guarded by the CHECKs of the schema.
import type { BatchResult } from '../billing/group-commit.ts'
import { applyOp, type BillingOp, type BillingResult } from '../billing/transitions.ts'
import type { SqliteSql } from './sql.ts'
import { billingStatements } from './statements.ts'
import { openRows, openUnitOfWork, StaleCache } from './unit-of-work.ts'

export function sqliteBilling(sql: SqliteSql, owner: string) {
  const run = billingStatements(sql)
  const open = openRows()
  // In memory, since nobody else claims hours: a batch must not pay for something this rare.
  let claimedUntil = 0
  lookAtClaims()

  // After anything that may have claimed hours, and before the next batch.
  function lookAtClaims(): void {
    claimedUntil = Number(run.claimedUntil.get()?.at ?? 0)
  }

  // A batch that the database rejects is split in halves until the faulty operation is alone. A database that is locked, full or
  // damaged rejects everything, and each half would only wait for it again.
  function commit(ops: readonly BillingOp[]): BatchResult<BillingResult>[] {
    try {
      return inTransaction(ops)
    } catch (error) {
      // Another process has changed the file. The cache is cleared, so rows are read this time and cannot differ.
      if (error instanceof StaleCache) return commit(ops)
      if (ops.length === 1 || isUnavailable(error)) return ops.map(() => ({ ok: false, error: error as Error }))
      const half = ops.length >> 1
      return [...commit(ops.slice(0, half)), ...commit(ops.slice(half))]
    }
  }

  function inTransaction(ops: readonly BillingOp[]): BatchResult<BillingResult>[] {
    run.begin.run()
    try {
      const unit = openUnitOfWork({ run, owner, open }, sql.now(), claimedUntil)
      const results = ops.map(op => ({ ok: true as const, value: applyOp(op, unit) }))
      unit.writeBack()
      run.commit.run()
      return results
    } catch (error) {
      // What this transaction opened does not exist, and what it closed is still open.
      open.clear()
      if (sql.db.isTransaction) sql.db.exec('ROLLBACK')
      throw error
    }
  }

  return { commit, lookAtClaims }
}

// SQLite's own codes: busy, locked, out of memory, read-only, I/O, corrupt, full, cannot open, not a database.
const AWAY = new Set([5, 6, 7, 8, 10, 11, 13, 14, 26])

function isUnavailable(error: unknown): boolean {
  const { errcode } = error as { errcode?: unknown }
  return typeof errcode === 'number' && AWAY.has(errcode & 0xff)
}
