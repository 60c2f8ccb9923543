// The unit of work on SQLite: balances are changed in memory and appended to the journal at its end; rows are written as they
// come. The transaction is exclusive, so nobody else writes meanwhile. Our own open rows are cached from their hold to their
// settlement, which need not look them up; the write that closes a row requires that it still is as cached. See
// docs/decisions/sqlite-billing.md and docs/decisions/balance-journal.md.
import type { Nano } from '../../domain/credits.ts'
import { hourOf, type RequestFacts } from '../../domain/usage.ts'
import type { OpenRows } from '../billing/open-rows.ts'
import { readUsageRecord } from '../billing/records.ts'
import type { UnitOfWork, UsageRecord } from '../billing/unit-of-work.ts'
import { eventIdAt } from '../sql/outbox.ts'
import type { Row } from '../sql/sql.ts'
import type { KeyInMemory } from './balance-records.ts'
import type { RecordCache } from './record-cache.ts'
import { type BillingStatements, closeOpened, insertClosed, insertOpened } from './statements.ts'

// `inserted` are the ids of its new rows; `end` returns the number of entries that it has appended to the journal.
export type SqliteUnitOfWork = UnitOfWork & { readonly inserted: readonly string[]; end(): number }

export class StaleCache extends Error {}

// With the key that it will be settled for: settlements need not look it up.
export type OpenRecord = UsageRecord & { readonly key: KeyInMemory | undefined }

type UnitOfWorkDeps = {
  readonly run: BillingStatements
  readonly owner: string
  readonly open: OpenRows<OpenRecord>
  readonly records: RecordCache
  // When secrets were last used; written with the balances.
  readonly uses: Map<string, number>
}

export function openUnitOfWork(
  { run, owner, open, records, uses }: UnitOfWorkDeps,
  now: number,
  claimedUntil: number,
): SqliteUnitOfWork {
  const inserted: string[] = []
  // Hardly ever any: rows are written long before their hour is claimed.
  let changedHours: Set<number> | undefined

  return {
    now,
    inserted,
    account: records.account,
    key: records.key,
    window: records.window,
    openWindow: records.openWindow,
    row(requestId) {
      const known = open.recall(requestId)
      if (known === undefined) return readRow(run, requestId)
      records.expectKey(known.key)
      return known
    },
    // One process owns the file: any other owner of an open row is dead.
    abandoned: live => abandonedRows(run, owner, new Set(live)),
    changes(createdAt) {
      if (createdAt >= claimedUntil) return
      changedHours ??= new Set()
      changedHours.add(hourOf(createdAt))
    },

    insertOpen(row) {
      insertOpened(run.insertOpen, row, owner)
      inserted.push(row.facts.requestId)
      open.remember(openRecord(row.facts, row.hold, records.key(row.facts.keyId)))
    },
    insertClosed(row) {
      insertClosed(run.insertClosed, row)
      inserted.push(row.facts.requestId)
    },
    closeRow(row, to, bill) {
      const isAsRemembered = closeOpened(run.closeRow, row.state, to, bill)
      if (!isAsRemembered) throw new StaleCache(`usage row ${row.requestId} is no longer ${row.state}`)
      open.forget(row.requestId)
    },
    correct: (accountId, requestId, amount) => run.correct.run(accountId, requestId, amount, requestId, now),
    checkpoint: (requestId, mark) => run.checkpoint.run(mark, requestId),
    emit: ({ once, type, accountId, data }) =>
      run.emit.run(eventIdAt(now), once, type, accountId, now, JSON.stringify(data)),
    touch: (hash, at) => uses.set(hash, Math.max(at, uses.get(hash) ?? 0)),

    end() {
      if (changedHours !== undefined) for (const hour of changedHours) run.markHour.run(hour)
      return records.writeJournal()
    },
  }
}

// The checkpoint is only needed by recovery, which reads it from the database.
function openRecord(facts: RequestFacts, hold: Nano, key: KeyInMemory | undefined): OpenRecord {
  const { requestId, accountId, keyId, createdAt } = facts
  return { requestId, state: 'open', accountId, keyId, hold, cost: 0n, checkpoint: null, createdAt, key }
}

function abandonedRows(run: BillingStatements, owner: string, live: ReadonlySet<string>): readonly UsageRecord[] {
  return run.openRows
    .all()
    .filter(row => row.owner !== owner || !live.has(String(row.request_id)))
    .map(row => readUsageRecord(row as Row))
}

function readRow(run: BillingStatements, requestId: string): UsageRecord | undefined {
  const row = run.row.get(requestId)
  return row === undefined ? undefined : readUsageRecord(row as Row)
}
