// The unit of work on Postgres: what a batch touches is locked and read at its start, accounts before keys and each in the order
// of their ids, so that no two nodes deadlock. Its changes are written by one statement at its end, balances as deltas, guarded
// by the CHECKs of the schema. See docs/decisions/postgres-billing.md.
import type { PoolClient } from 'pg'
import { type BudgetPeriod, windowBegan } from '../../domain/budget.ts'
import { HOUR_MS, hourOf } from '../../domain/usage.ts'
import type { Budgeted, WindowRecord } from '../billing/budgets.ts'
import type { OpenRows } from '../billing/open-rows.ts'
import {
  ACCOUNT_COLUMNS,
  KEY_COLUMNS,
  RECORD_COLUMNS,
  readAccountRecord,
  readKeyRecord,
  readUsageRecord,
  readWindowRecord,
  WINDOW_COLUMNS,
} from '../billing/records.ts'
import type { BillingOp } from '../billing/transitions.ts'
import type { AccountRecord, KeyRecord, UnitOfWork, UsageRecord } from '../billing/unit-of-work.ts'
import type { Settlement } from '../contract/store.ts'
import { int, type Row, text } from '../sql/sql.ts'
import { findAbandoned, type Lease } from './lease.ts'
import { DATABASE_TIME } from './sql.ts'
import { noChanges, planName, writeChanges } from './writes.ts'

export type PostgresUnitOfWork = UnitOfWork & {
  writeBack(): Promise<void>
}

// Whose a row is, which never changes.
export type RowOwner = { readonly requestId: string; readonly accountId: string; readonly keyId: string }

export type UnitOfWorkDeps = {
  readonly lease: Lease
  // A number that this node uses only once.
  readonly batch: number
  // Of rows that this node has opened and not closed: their accounts and keys need not be looked up before they are locked.
  readonly owners: OpenRows<RowOwner>
}

export async function openPostgresUnitOfWork(
  client: PoolClient,
  ops: readonly BillingOp[],
  { lease, batch, owners }: UnitOfWorkDeps,
): Promise<PostgresUnitOfWork> {
  const ask = async (name: string, statement: string, values: unknown[]) =>
    (await client.query<Row>({ name: planName(client, name), text: statement, values })).rows
  const touched = whatIsTouched(ops, await abandonedRows(client, ops, lease), owners)
  // Pipelined: the server executes them in order.
  const [accounts, keys, { now, claimedUntil, rows }] = await Promise.all([
    lockAccounts(touched, ask),
    lockKeys(touched, ask),
    readRows(touched.rowIds, ask),
  ])
  const windows = await readWindows(windowsOf(ops, accounts, keys, rows), ask)
  const changes = noChanges(lease, batch, now)

  return {
    now,
    account: id => accounts.get(id)?.record,
    key: id => keys.get(id)?.record,
    window: (subject, period, began) => windows.get(`${subject} ${period} ${began}`),
    openWindow(subject, period, began) {
      const id = `${subject} ${period} ${began}`
      const window = windows.get(id) ?? { subject, period, began, spent: 0n, held: 0n, dirty: false }
      windows.set(id, window)
      return window
    },
    row: requestId => rows.get(requestId),
    abandoned: () => touched.abandoned.flatMap(id => openOnly(rows.get(id))),
    changes(createdAt) {
      if (createdAt < claimedUntil) changes.hours.add(hourOf(createdAt))
    },

    insertOpen(row) {
      changes.insertOpen(row)
      owners.remember({ requestId: row.facts.requestId, accountId: row.facts.accountId, keyId: row.facts.keyId })
    },
    insertClosed: row => changes.insertClosed(row),
    closeRow(row, to, bill) {
      rows.set(row.requestId, closed(row, to, bill))
      owners.forget(row.requestId)
      changes.close(row.state, to, bill)
    },
    correct: (accountId, requestId, amount) => changes.correct(accountId, requestId, amount),
    checkpoint(requestId, mark) {
      const row = rows.get(requestId)
      if (row !== undefined && row.state === 'open') rows.set(requestId, { ...row, checkpoint: mark })
      changes.mark(requestId, mark)
    },
    touch: (hash, at) => changes.touch(hash, at),
    emit: event => changes.emit(event),

    async writeBack() {
      for (const { record, before } of accounts.values()) if (record.dirty) changes.account(record, before)
      for (const { record, before } of keys.values()) if (record.dirty) changes.key(record, before)
      for (const window of windows.values()) if (window.dirty) changes.window(window)
      await writeChanges(client, changes)
    },
  }
}

type Ask = (name: string, statement: string, values: unknown[]) => Promise<readonly Row[]>

type Touched = {
  readonly accountIds: ReadonlySet<string>
  readonly keyIds: ReadonlySet<string>
  readonly rowIds: readonly string[]
  // Those whose accounts and keys are not known.
  readonly unknownIds: readonly string[]
  readonly abandoned: readonly string[]
}

async function abandonedRows(client: PoolClient, ops: readonly BillingOp[], lease: Lease): Promise<readonly string[]> {
  for (const op of ops) if (op.do === 'sweep') return findAbandoned(client, op.live, lease)
  return []
}

function whatIsTouched(ops: readonly BillingOp[], abandoned: readonly string[], owners: OpenRows<RowOwner>): Touched {
  const accountIds = new Set<string>()
  const keyIds = new Set<string>()
  const rowIds = [...abandoned]
  const unknownIds = [...abandoned]

  function touch({ accountId, keyId }: RowOwner): void {
    accountIds.add(accountId)
    keyIds.add(keyId)
  }

  function touchRow(requestId: string): void {
    rowIds.push(requestId)
    const owner = owners.recall(requestId)
    if (owner === undefined) unknownIds.push(requestId)
    else touch(owner)
  }

  for (const op of ops) {
    if (op.do === 'reserve') touch(op.ask.facts)
    else if (op.do === 'settle') touchRow(op.bill.requestId)
    else if (op.do === 'checkpoint') touchRow(op.mark.requestId)
  }
  return { accountIds, keyIds, rowIds, unknownIds, abandoned }
}

// A record as it is changed, and as it was read.
type Locked<Kept> = ReadonlyMap<string, { readonly record: Kept; readonly before: Kept }>

function lockedOf<Kept extends { readonly id: string }>(rows: readonly Row[], read: (row: Row) => Kept): Locked<Kept> {
  return new Map(rows.map(row => [text(row.id), { record: read(row), before: read(row) }]))
}

async function lockAccounts({ accountIds, unknownIds }: Touched, ask: Ask): Promise<Locked<AccountRecord>> {
  return lockedOf(await ask('hot-accounts', LOCK_ACCOUNTS, [[...accountIds], unknownIds]), readAccountRecord)
}

async function lockKeys({ keyIds, unknownIds }: Touched, ask: Ask): Promise<Locked<KeyRecord>> {
  return lockedOf(await ask('hot-keys', LOCK_KEYS, [[...keyIds], unknownIds]), readKeyRecord)
}

// Id by id, each in its own partition: a list of ids would be searched in all of them. The OFFSET keeps the planner from turning
// it into a join, which would scan a table that it believes small.
function rowsOf(ids: string): string {
  return `unnest(${ids}::text[]) AS ids (id)
    CROSS JOIN LATERAL (SELECT * FROM usage WHERE request_id = ids.id OFFSET 0) u`
}

// A settlement knows only its request, which another node may have opened. The owner of a row never changes, so it may be read
// before anything is locked. The key's own row is locked too, although nothing here changes it: a revoke waits until the rows of
// this batch are committed, or this batch waits and finds the key revoked.
const LOCK_ACCOUNTS = `SELECT ${ACCOUNT_COLUMNS} FROM account WHERE id IN (SELECT unnest($1::text[])
    UNION SELECT u.account_id FROM ${rowsOf('$2')})
  ORDER BY id FOR NO KEY UPDATE`
const LOCK_KEYS = `SELECT ${KEY_COLUMNS} FROM api_key k JOIN key_balance b ON b.key_id = k.id
  WHERE k.id IN (SELECT unnest($1::text[]) UNION SELECT u.key_id FROM ${rowsOf('$2')})
  ORDER BY k.id FOR NO KEY UPDATE OF k, b`

// After the locks: changing the state of a row requires its account's lock, so what is read here stays. So does the time.
async function readRows(ids: readonly string[], ask: Ask) {
  const found = await ask('hot-rows', READ_ROWS, [ids])
  const rows = new Map<string, UsageRecord>()
  for (const row of found) if (row.request_id !== null) rows.set(text(row.request_id), readUsageRecord(row))
  return { now: int(found[0]?.now), claimedUntil: int(found[0]?.claimed_until), rows }
}

const READ_ROWS = `SELECT ${DATABASE_TIME} AS now, ${RECORD_COLUMNS},
    (SELECT (MAX(hour) + 1) * ${HOUR_MS} FROM usage_rolled) AS claimed_until
  FROM (SELECT 1) one LEFT JOIN (SELECT u.* FROM ${rowsOf('$1')}) wanted ON true`

type WindowId = { readonly subject: string; readonly period: BudgetPeriod; readonly began: number }

// Those of accounts and keys with budgets, at the times of their requests.
function windowsOf(
  ops: readonly BillingOp[],
  accounts: Locked<AccountRecord>,
  keys: Locked<KeyRecord>,
  rows: ReadonlyMap<string, UsageRecord>,
): ReadonlyMap<string, WindowId> {
  const windows = new Map<string, WindowId>()

  function add(subject: Budgeted | undefined, at: number): void {
    for (const { window: period } of subject?.budgets ?? []) {
      if (period === 'total') continue
      const window = { subject: subject?.id ?? '', period, began: windowBegan(period, at) }
      windows.set(`${window.subject} ${period} ${window.began}`, window)
    }
  }

  function addBoth(accountId: string, keyId: string, at: number): void {
    add(accounts.get(accountId)?.record, at)
    add(keys.get(keyId)?.record, at)
  }

  const hasBudgets = ({ record }: { readonly record: Budgeted }) => record.budgets.length > 0
  if (!accounts.values().some(hasBudgets) && !keys.values().some(hasBudgets)) return windows
  for (const op of ops)
    if (op.do === 'reserve') addBoth(op.ask.facts.accountId, op.ask.facts.keyId, op.ask.facts.createdAt)
  for (const { accountId, keyId, createdAt } of rows.values()) addBoth(accountId, keyId, createdAt)
  return windows
}

// In a statement of its own, after the locks, and only for batches that need it.
async function readWindows(wanted: ReadonlyMap<string, WindowId>, ask: Ask): Promise<Map<string, WindowRecord>> {
  if (wanted.size === 0) return new Map()
  const ids = [...wanted.values()]
  const found = await ask('hot-windows', READ_WINDOWS, [
    ids.map(({ subject }) => subject),
    ids.map(({ period }) => period),
    ids.map(({ began }) => began),
  ])
  return new Map(found.map(row => [`${row.subject} ${row.period} ${row.began}`, readWindowRecord(row)]))
}

const READ_WINDOWS = `SELECT ${WINDOW_COLUMNS} FROM budget_window
  JOIN unnest($1::text[], $2::text[], $3::bigint[]) AS w (subject, period, began) USING (subject, period, began)`

function openOnly(row: UsageRecord | undefined): readonly UsageRecord[] {
  return row?.state === 'open' ? [row] : []
}

function closed(row: UsageRecord, state: string, bill: Settlement): UsageRecord {
  return { ...row, state, cost: bill.cost, checkpoint: null }
}
