// The unit of work on SQLite: balances are changed in memory and appended to the journal at its end; rows are written as they
// come. The transaction is exclusive, so nobody else writes meanwhile. Our own open rows are cached from their hold to their
// settlement, which need not look them up; the write that closes a row requires that it still is as cached. See
// docs/decisions/sqlite-billing.md and docs/decisions/balance-journal.md.
import type { Nano } from '../../domain/credits.ts'
import { hourOf, type RequestFacts } from '../../domain/usage.ts'
import { readUsageRecord } from '../billing/records.ts'
import type { UnitOfWork, UsageRecord } from '../billing/transitions.ts'
import type { Row } from '../sql/sql.ts'
import type { RecordCache } from './record-cache.ts'
import { type BillingStatements, closeOpened, insertClosed, insertOpened } from './statements.ts'

// `end` returns the number of entries that it has appended to the journal.
export type SqliteUnitOfWork = UnitOfWork & { readonly inserted: number; end(): number }

export class StaleCache extends Error {}

type UnitOfWorkDeps = {
  readonly run: BillingStatements
  readonly owner: string
  readonly open: OpenRows
  readonly records: RecordCache
  // When secrets were last used; written with the balances.
  readonly uses: Map<string, number>
}

export function openUnitOfWork(
  { run, owner, open, records, uses }: UnitOfWorkDeps,
  now: number,
  claimedUntil: number,
): SqliteUnitOfWork {
  let inserted = 0
  // Hardly ever any: rows are written long before their hour is claimed.
  let changedHours: Set<number> | undefined

  return {
    now,
    get inserted() {
      return inserted
    },
    account: records.account,
    key: records.key,
    row: requestId => open.recall(requestId) ?? readRow(run, requestId),
    // One process owns the file: any other owner of an open row is dead.
    abandoned: live => abandonedRows(run, owner, new Set(live)),
    changes(createdAt) {
      if (createdAt >= claimedUntil) return
      changedHours ??= new Set()
      changedHours.add(hourOf(createdAt))
    },

    insertOpen(row) {
      insertOpened(run.insertOpen, row, owner)
      inserted += 1
      open.remember(openRecord(row.facts, row.hold))
    },
    insertClosed(row) {
      insertClosed(run.insertClosed, row)
      inserted += 1
    },
    closeRow(row, to, bill) {
      const isAsRemembered = closeOpened(run.closeRow, row.state, to, bill)
      if (!isAsRemembered) throw new StaleCache(`usage row ${row.requestId} is no longer ${row.state}`)
      open.forget(row.requestId)
    },
    correct: (accountId, requestId, amount) => run.correct.run(accountId, requestId, amount, requestId, now),
    checkpoint: (requestId, mark) => run.checkpoint.run(mark, requestId),
    touch: (hash, at) => uses.set(hash, Math.max(at, uses.get(hash) ?? 0)),

    end() {
      if (changedHours !== undefined) for (const hour of changedHours) run.markHour.run(hour)
      return records.writeJournal()
    },
  }
}

// The checkpoint is only needed by recovery, which reads it from the database.
function openRecord({ requestId, accountId, keyId, createdAt }: RequestFacts, hold: Nano): UsageRecord {
  return { requestId, state: 'open', accountId, keyId, hold, cost: 0n, checkpoint: null, createdAt }
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

// A cache of open rows by request id: a fixed number of slots, each for one row. The slot follows from the last digits of the id,
// which are random; on a collision the later row has it, and the other is read from the database. Not a Map: every id would
// become an internalised string and stay until a full collection, and so would everything still in the tables that a Map has
// outgrown.
type OpenRows = ReturnType<typeof openRows>

const DIGITS = 4
const PLACES = 16 ** DIGITS

export function openRows() {
  const records = new Array<UsageRecord | undefined>(PLACES).fill(undefined)
  const placeOf = (requestId: string): number => Number.parseInt(requestId.slice(-DIGITS), 16) & (PLACES - 1)

  return {
    remember(record: UsageRecord): void {
      records[placeOf(record.requestId)] = record
    },
    recall(requestId: string): UsageRecord | undefined {
      const record = records[placeOf(requestId)]
      return record?.requestId === requestId ? record : undefined
    },
    forget(requestId: string): void {
      const place = placeOf(requestId)
      if (records[place]?.requestId === requestId) records[place] = undefined
    },
    clear(): void {
      records.fill(undefined)
    },
  }
}
