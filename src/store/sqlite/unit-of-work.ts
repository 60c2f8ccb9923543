// The unit of work on SQLite: accounts and keys that one transaction touches are read on first use, changed in memory and written
// back once at its end; rows are written as they come. The transaction is exclusive, so nobody else writes meanwhile. Our own
// open rows are cached from their hold to their settlement, which need not look them up; the write that closes a row requires
// that it still is as cached. See docs/decisions/sqlite-billing.md.
import type { Nano } from '../../domain/credits.ts'
import { hourOf, type RequestFacts } from '../../domain/usage.ts'
import { readAccountRecord, readKeyRecord, readUsageRecord } from '../billing/records.ts'
import type { AccountRecord, KeyRecord, UnitOfWork, UsageRecord } from '../billing/transitions.ts'
import type { Row } from '../sql/sql.ts'
import { type BillingStatements, closeOpened, insertClosed, insertOpened } from './statements.ts'

export type SqliteUnitOfWork = UnitOfWork & { writeBack(): void }

export class StaleCache extends Error {}

type UnitOfWorkDeps = { readonly run: BillingStatements; readonly owner: string; readonly open: OpenRows }

export function openUnitOfWork(
  { run, owner, open }: UnitOfWorkDeps,
  now: number,
  claimedUntil: number,
): SqliteUnitOfWork {
  const accounts = records<AccountRecord>(id => read(run.account.get(id), readAccountRecord))
  const keys = records<KeyRecord>(id => read(run.key.get(id), readKeyRecord))
  // Hardly ever any: rows are written long before their hour is claimed.
  let changedHours: Set<number> | undefined

  return {
    now,
    account: accounts.of,
    key: keys.of,
    row: requestId => open.recall(requestId) ?? read(run.row.get(requestId), readUsageRecord),
    // One process owns the file: any other owner of an open row is dead.
    abandoned: live => abandonedRows(run, owner, new Set(live)),
    changes(createdAt) {
      if (createdAt >= claimedUntil) return
      changedHours ??= new Set()
      changedHours.add(hourOf(createdAt))
    },

    insertOpen(row) {
      insertOpened(run.insertOpen, row, owner)
      open.remember(openRecord(row.facts, row.hold))
    },
    insertClosed: row => insertClosed(run.insertClosed, row),
    closeRow(row, to, bill) {
      const isAsRemembered = closeOpened(run.closeRow, row.state, to, bill)
      if (!isAsRemembered) throw new StaleCache(`usage row ${row.requestId} is no longer ${row.state}`)
      open.forget(row.requestId)
    },
    // By `get`, as for every chat: it creates no result object.
    charge: (accountId, requestId, amount) => run.charge.get(accountId, requestId, amount, requestId, now),
    correct: (accountId, requestId, amount) => run.correct.run(accountId, requestId, amount, requestId, now),
    checkpoint: (requestId, mark) => run.checkpoint.run(mark, requestId),
    touch: (hash, at) => run.touch.run(at, hash),

    writeBack() {
      if (changedHours !== undefined) for (const hour of changedHours) run.markHour.run(hour)
      for (const record of accounts.all()) {
        if (record?.dirty) run.writeAccount.run(record.available, record.held, record.spent, record.owed, record.id)
      }
      for (const record of keys.all()) {
        if (record?.dirty) run.writeKey.run(record.spent, record.held, record.day, record.dayCount, record.id)
      }
    },
  }
}

// Most operations of a transaction share an account, and comparing two ids is faster than a table lookup.
function records<Kept extends { readonly id: string }>(read: (id: string) => Kept | undefined) {
  const known = new Map<string, Kept | undefined>()
  let last: Kept | undefined
  return {
    of(id: string): Kept | undefined {
      if (last?.id === id) return last
      if (!known.has(id)) known.set(id, read(id))
      last = known.get(id)
      return last
    },
    all: () => known.values(),
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

function read<T>(row: Record<string, unknown> | undefined, as: (row: Row) => T): T | undefined {
  return row === undefined ? undefined : as(row as Row)
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
