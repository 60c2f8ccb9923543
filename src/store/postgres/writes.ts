// The changes of a billing batch on Postgres, collected as lists and written by one statement, which contains only the parts that
// have something to write, and the node's own row. Each list is passed as one JSON text.
import type { PoolClient } from 'pg'
import type { Nano } from '../../domain/credits.ts'
import type { OutboxEvent } from '../../domain/events.ts'
import type { WindowRecord } from '../billing/budgets.ts'
import { WINDOW_COLUMNS } from '../billing/records.ts'
import type { AccountRecord, ClosedRow, KeyRecord, OpenedRow } from '../billing/unit-of-work.ts'
import { compile, inBill, inRow, jsonMembers } from '../billing/usage-binders.ts'
import {
  CLOSED_COLUMNS,
  type ColumnType,
  type FieldColumn,
  namesOf,
  OPENED_COLUMNS,
  REPLACED_COLUMNS,
  SETTLED_COLUMNS,
  SETTLEMENT_COLUMNS,
} from '../billing/usage-columns.ts'
import type { Settlement } from '../contract/store.ts'
import { eventIdAt, OUTBOX_COLUMNS } from '../sql/outbox.ts'
import { type Lease, nodeValues, renewing } from './lease.ts'

export type Changes = ReturnType<typeof noChanges>

// `batch` numbers the batches of this node.
export function noChanges(lease: Lease, batch: number, now: number) {
  const { owner } = lease
  const inserts: InsertedRow[] = []
  const closes = new Map<string, CloseValues>()
  const entries: Values[] = []
  const marks = new Map<string, string | null>()
  const touches = new Map<string, number>()
  const accounts: Values[] = []
  const keys: Values[] = []
  const hours = new Set<number>()
  const events: Values[] = []
  const windows: Values[] = []

  return {
    lease,
    batch,
    inserts,
    closes,
    entries,
    marks,
    touches,
    accounts,
    keys,
    hours,
    events,
    windows,

    insertOpen(row: OpenedRow): void {
      inserts.push(openedValues(row, owner))
    },
    insertClosed(row: ClosedRow): void {
      inserts.push(closedValues(row))
    },
    // A row that is recovered and settled in one batch is written in its final state; the table still has the state before both.
    close(from: string, to: 'settled' | 'recovered', bill: Settlement): void {
      const { state_before, price_version, price } = closes.get(bill.requestId) ?? { ...NO_PRICE, state_before: from }
      const values = billValues(to, bill)
      closes.set(bill.requestId, {
        ...values,
        state_before,
        price_version: values.price_version ?? price_version,
        price: values.price ?? price,
      })
      marks.delete(bill.requestId)
    },
    correct(accountId: string, requestId: string, amount: Nano): void {
      const id = `${requestId}-correction`
      entries.push({ account_id: accountId, id, amount: `${amount}`, request_id: requestId, created_at: now })
    },
    mark(requestId: string, mark: string | null): void {
      if (!closes.has(requestId)) marks.set(requestId, mark)
    },
    touch(hash: string, at: number): void {
      touches.set(hash, Math.max(at, touches.get(hash) ?? 0))
    },
    emit({ once, type, accountId, data }: OutboxEvent): void {
      events.push({
        id: eventIdAt(now),
        once,
        type,
        account_id: accountId,
        created_at: now,
        data: JSON.stringify(data),
      })
    },
    account(record: AccountRecord, before: AccountRecord): void {
      accounts.push({
        id: record.id,
        available: `${record.available - before.available}`,
        held: `${record.held - before.held}`,
        spent: `${record.spent - before.spent}`,
        owed: `${record.owed - before.owed}`,
        month: record.month,
        month_base: `${record.monthBase - before.monthBase}`,
      })
    },
    key(record: KeyRecord, before: KeyRecord): void {
      const { id, day, dayCount, month } = record
      const [spent, held] = [`${record.spent - before.spent}`, `${record.held - before.held}`]
      const month_base = `${record.monthBase - before.monthBase}`
      keys.push({ id, spent, held, day, day_count: dayCount, month, month_base })
    },
    window({ subject, period, began, spent, held }: WindowRecord): void {
      windows.push({ subject, period, began, spent: `${spent}`, held: `${held}` })
    },
  }
}

export async function writeChanges(client: PoolClient, changes: Changes): Promise<void> {
  const { inserts, closes, entries, marks, touches, accounts, keys, hours, events, windows } = changes
  const own = [nodeValues(changes.lease, changes.batch)]
  const lists: readonly (readonly Values[])[] = [
    inserts,
    [...closes.values()],
    entries,
    [...marks].map(([request_id, mark]) => ({ request_id, mark })),
    [...touches].map(([hash, at]) => ({ hash, at })),
    accounts,
    keys,
    [...hours].map(hour => ({ hour })),
    events,
    windows,
  ]
  if (lists.every(list => list.length === 0)) return
  const used = PARTS.map((part, i) => ({ part, list: lists[i] ?? own, i })).filter(({ list }) => list.length > 0)
  const { leaseMs } = changes.lease
  const parts = used.map(({ part, i }, at) => `part${i} AS (${part(`json_to_recordset($${at + 1}::json)`, leaseMs)})`)
  const counted = used.filter(({ i }) => COUNTED.has(i))
  await client.query({
    name: planName(client, `hot-write-${used.map(({ i }) => i).join('-')}`),
    text: `WITH ${parts.join(',\n')} SELECT ${demanding(
      counted.map(({ i }) => `part${i}`),
      used.length + 1,
    )}`,
    values: [...used.map(({ list }) => jsonOf(list)), ...counted.map(({ list }) => list.length)],
  })
}

// The commit is sent before this is answered, so the statement itself has to fail where a row is not as it was read: a division
// by zero, which counts as a refused value of the batch.
function demanding(counted: readonly string[], at: number): string {
  const found = counted.map((part, i) => `(SELECT COUNT(*) FROM ${part}) = $${at + i}::bigint`)
  return `1 / (${['true', ...found].join(' AND ')})::int`
}

type Values = Readonly<Record<string, string | number | null>>
type InsertedRow = Values & { readonly request_id: string; readonly state: string }
type BillValues = InsertedRow & { readonly price_version: string | null; readonly price: string | null }
type CloseValues = BillValues & { readonly state_before: string }

const NO_PRICE = { price_version: null, price: null }

const INSERTED = [...OPENED_COLUMNS, ...CLOSED_COLUMNS.filter(column => !OPENED_COLUMNS.includes(column))]
const INSERTED_ONCE = INSERTED.filter(({ column }) => column !== 'requests')
const CORRECTION = 'account_id text, id text, amount bigint, request_id text, created_at bigint'

// In the order of the lists. A secret that is locked by another change is skipped: its last use is written the next time.
const PARTS: readonly ((list: string, leaseMs: number) => string)[] = [
  list => `INSERT INTO usage (${namesOf(INSERTED_ONCE)}, owner, state, requests)
    SELECT ${namesOf(INSERTED_ONCE)}, owner, state, COALESCE(requests, 1)
    FROM ${list} AS r (${typed(INSERTED)}, owner text, state text)`,
  list => `UPDATE usage u SET state = r.state, checkpoint = NULL,
      ${SETTLED_COLUMNS.map(({ column }) => `${column} = r.${column}`).join(', ')},
      ${REPLACED_COLUMNS.map(({ column }) => `${column} = COALESCE(r.${column}, u.${column})`).join(', ')}
    FROM ${list} AS r (${typed(SETTLEMENT_COLUMNS)}, state_before text, state text)
    WHERE u.request_id = r.request_id AND u.state = r.state_before RETURNING 1`,
  list => `INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at)
    SELECT account_id, id, 'correction', amount, request_id, created_at FROM ${list} AS r (${CORRECTION})`,
  list => `UPDATE usage u SET checkpoint = r.mark FROM ${list} AS r (request_id text, mark text)
    WHERE u.request_id = r.request_id AND u.state = 'open'`,
  list => `UPDATE secret s SET last_used_at = GREATEST(COALESCE(s.last_used_at, 0), f.at) FROM (
      SELECT t.hash, r.at FROM ${list} AS r (hash text, at bigint) JOIN secret t ON t.hash = r.hash
      FOR NO KEY UPDATE OF t SKIP LOCKED) f
    WHERE s.hash = f.hash`,
  list => `UPDATE account a SET available = a.available + r.available, held = a.held + r.held,
      spent = a.spent + r.spent, owed = a.owed + r.owed, month = r.month, month_base = a.month_base + r.month_base
    FROM ${list} AS r (id text, available bigint, held bigint, spent bigint, owed bigint, month bigint, month_base bigint)
    WHERE a.id = r.id RETURNING 1`,
  list => `UPDATE key_balance b SET spent = b.spent + r.spent, held = b.held + r.held, day = r.day,
      day_count = r.day_count, month = r.month, month_base = b.month_base + r.month_base
    FROM ${list} AS r (id text, spent bigint, held bigint, day bigint, day_count bigint, month bigint, month_base bigint)
    WHERE b.key_id = r.id RETURNING 1`,
  list => `INSERT INTO usage_rolled (hour, mark, rolled_mark) SELECT r.hour, 1, 0 FROM ${list} AS r (hour bigint)
    ORDER BY r.hour ON CONFLICT (hour) DO UPDATE SET mark = usage_rolled.mark + 1`,
  // In one order: two batches with the same events wait for each other and do not deadlock.
  list => `INSERT INTO outbox (${OUTBOX_COLUMNS}) SELECT ${OUTBOX_COLUMNS}
    FROM ${list} AS r (id text, once text, type text, account_id text, created_at bigint, data text)
    ORDER BY r.once ON CONFLICT (once) DO NOTHING`,
  // The whole amounts: nobody else changes a window while its account or key is locked.
  list => `INSERT INTO budget_window (${WINDOW_COLUMNS}) SELECT ${WINDOW_COLUMNS}
    FROM ${list} AS r (subject text, period text, began bigint, spent bigint, held bigint)
    ON CONFLICT (subject, period, began) DO UPDATE SET spent = excluded.spent, held = excluded.held`,
  renewing,
]
// Every entry of these lists must have found its row.
const CLOSES = 1
const ACCOUNTS = 5
const KEYS = 6
const COUNTED: ReadonlySet<number> = new Set([CLOSES, ACCOUNTS, KEYS])

function typed(columns: readonly FieldColumn[]): string {
  return columns.map(({ column, type }) => `${column} ${TYPES[type]}`).join(', ')
}

const TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  'text?': 'text',
  integer: 'bigint',
  'integer?': 'bigint',
  credits: 'bigint',
  'credits?': 'bigint',
  boolean: 'bigint',
  'json?': 'text',
}

const openedValues = compile<(row: OpenedRow, owner: string) => InsertedRow>(
  `(row, owner) => ({ ${jsonMembers(OPENED_COLUMNS, inRow)}, owner, state: 'open' })`,
)

const closedValues = compile<(row: ClosedRow) => InsertedRow>(
  `row => ({ ${jsonMembers(CLOSED_COLUMNS, inRow)}, hold: '0', state: 'settled' })`,
)

const billValues = compile<(state: string, bill: Settlement) => BillValues>(
  `(state, bill) => ({ ${jsonMembers(SETTLEMENT_COLUMNS, inBill)}, state })`,
)

// Postgres accepts neither NUL nor lone surrogates. They hardly ever occur, so checking for them is the only cost.
function jsonOf(list: readonly Values[]): string {
  const json = JSON.stringify(list)
  return /\\u(?:0000|d[89a-f])/.test(json) ? JSON.stringify(list, storable) : json
}

function storable(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\u0000', '\ufffd') : value
}

// A connection plans a prepared statement once and keeps that plan however much the tables grow. The statement names therefore
// change whenever a connection has executed twice as many batches: no plan is for tables that were far smaller.
type Age = { batches: number; generation: number }

const ages = new WeakMap<PoolClient, Age>()

// One more batch. Plans that will not be used again are deallocated.
export async function renewPlans(client: PoolClient): Promise<void> {
  const age = ages.get(client) ?? { batches: 0, generation: 0 }
  ages.set(client, age)
  age.batches += 1
  if (age.batches !== 2 << age.generation) return
  age.generation += 1
  await client.query('DEALLOCATE ALL')
}

export function planName(client: PoolClient, statement: string): string {
  return `${statement}-${ages.get(client)?.generation ?? 0}`
}
