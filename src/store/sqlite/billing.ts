// Billing on SQLite: a batch of reservations, settlements and checkpoints in one exclusive transaction, by the rules of
// transitions.ts. Balances are in memory and in the journal; about once a second the journal is applied to the tables.
import type { Failpoint } from '../../lib/failpoint.ts'
import type { BatchResult } from '../billing/group-commit.ts'
import { openRows } from '../billing/open-rows.ts'
import { applyOp, type BillingOp, type BillingResult } from '../billing/transitions.ts'
import { applyJournal, refuseLostEntries } from './journal.ts'
import { recordCache } from './record-cache.ts'
import type { SqliteSql } from './sql.ts'
import { billingStatements } from './statements.ts'
import { type OpenRecord, openUnitOfWork, StaleCache } from './unit-of-work.ts'

export type BillingOptions = {
  // Beyond this many entries the journal is applied early: readers of balances and the next start would notice.
  readonly journalMax?: number
  // Of accounts, and as many of keys and of windows: some 10 MB. Beyond it, all are dropped and read again as needed.
  readonly recordsMax?: number
  // Called when another process has written to the file, which its lock should prevent.
  readonly onForeignWrite?: () => void
  readonly failpoint?: Failpoint | undefined
}

export function sqliteBilling(sql: SqliteSql, owner: string, options: BillingOptions = {}) {
  const { journalMax = 8192, recordsMax = 16_384, onForeignWrite, failpoint } = options
  const run = billingStatements(sql)
  const open = openRows<OpenRecord>()
  const records = recordCache(run)
  const uses = new Map<string, number>()
  // In memory, since nobody else claims hours: a batch must not pay for something this rare.
  let claimedUntil = 0
  let dataVersion = dataVersionNow()
  let journalSize = 0
  // What is in memory is not what is in the file: the journal is applied, and everything read again.
  let isStale = true
  let inserted: string[] = []
  // The first write-back is the replay.
  let step: 'replay' | 'write_back' = 'replay'
  lookAtClaims()
  writeBack()
  step = 'write_back'

  // After anything that may have claimed hours, and before the next batch.
  function lookAtClaims(): void {
    claimedUntil = Number(run.claimedUntil.get()?.at ?? 0)
  }

  function dataVersionNow(): bigint {
    return run.dataVersion.get()?.data_version as bigint
  }

  function applyAll(ops: readonly BillingOp[]): Results {
    const unit = openUnitOfWork({ run, owner, open, records, uses }, sql.now(), claimedUntil)
    const results = ops.map(op => ({ ok: true as const, value: applyOp(op, unit) }))
    journalSize += unit.end()
    inserted.push(...unit.inserted)
    return results
  }

  // With the file as it is in memory: another process that has written to it is noticed while nobody else can write.
  function inTransaction<T>(work: () => T): T {
    run.begin.run()
    try {
      const version = dataVersionNow()
      const isForeign = version !== dataVersion
      dataVersion = version
      if (isForeign) onForeignWrite?.()
      if (isStale || isForeign) {
        refuseLostEntries(sql.db)
        apply()
        lookAtClaims()
        open.clear()
        records.drop()
        journalSize = 0
      }
      const result = work()
      run.commit.run()
      isStale = false
      return result
    } catch (error) {
      isStale = true
      if (sql.db.isTransaction) sql.db.exec('ROLLBACK')
      throw error
    }
  }

  function apply(): void {
    applyJournal(sql.db, failpoint && (() => failpoint(`in_${step}`)))
  }

  function writeBack(): void {
    if (journalSize > 0 || uses.size > 0 || isStale) {
      inTransaction(() => {
        for (const [hash, at] of uses) run.touch.run(at, hash)
        apply()
        failpoint?.(`before_${step}_commit`)
      })
      failpoint?.(`after_${step}_commit`)
      journalSize = 0
      uses.clear()
    }
    if (records.size() > recordsMax) records.drop()
  }

  return {
    commit(ops: readonly BillingOp[]): Results {
      const results = commitInHalves(ops, each => inTransaction(() => applyAll(each)))
      if (journalSize >= journalMax || records.size() > recordsMax) writeBackOrLater()
      return results
    },
    lookAtClaims,
    writeBack,
    writeBackOrLater,
    // For anything else that reads or changes accounts and keys: it finds their balances in the tables, and what it changes is read
    // again.
    async apart<T>(work: () => Promise<T>): Promise<T> {
      writeBack()
      const before = run.totalChanges.get()?.n
      try {
        return await work()
      } finally {
        if (run.totalChanges.get()?.n !== before) records.drop()
      }
    },
    // The record of a key, if it is in memory.
    knownKey: records.knownKey,
    // The ids of rows that were inserted since the last call.
    takeInserted(): readonly string[] {
      const taken = inserted
      inserted = []
      return taken
    },
  }

  // A journal that cannot be applied stays as it is; the next reservation or settlement fails with the same error.
  function writeBackOrLater(): void {
    try {
      writeBack()
    } catch {
      isStale = true
    }
  }
}

type Results = BatchResult<BillingResult>[]

// A batch that the database rejects is split in halves until the faulty operation is alone. A database that is locked, full or
// damaged rejects everything, and each half would only wait for it again.
function commitInHalves(ops: readonly BillingOp[], commit: (ops: readonly BillingOp[]) => Results): Results {
  try {
    return commit(ops)
  } catch (error) {
    // Another process has changed the file. The caches are cleared, so rows are read this time and cannot differ.
    if (error instanceof StaleCache) return commitInHalves(ops, commit)
    if (ops.length === 1 || isUnavailable(error)) return ops.map(() => ({ ok: false, error: error as Error }))
    const half = ops.length >> 1
    return [...commitInHalves(ops.slice(0, half), commit), ...commitInHalves(ops.slice(half), commit)]
  }
}

// SQLite's own codes: busy, locked, out of memory, read-only, I/O, corrupt, full, cannot open, not a database.
const AWAY = new Set([5, 6, 7, 8, 10, 11, 13, 14, 26])

function isUnavailable(error: unknown): boolean {
  const { errcode } = error as { errcode?: unknown }
  return typeof errcode === 'number' && AWAY.has(errcode & 0xff)
}
