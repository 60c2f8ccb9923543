// The table of usage columns is complete: it has every field of a row's records and every column of the schema, with
// its type. The compiler proves the fields, the schema the columns.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Nano } from '../../src/domain/credits.ts'
import type { RequestFacts, UsageRow } from '../../src/domain/usage.ts'
import type { OperatorUsageObject } from '../../src/domain/usage-wire.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { ClosedRow, OpenedRow } from '../../src/store/billing/unit-of-work.ts'
import { readUsageRow } from '../../src/store/billing/usage-binders.ts'
import { CLOSED_COLUMNS, OPENED_COLUMNS, USAGE_COLUMNS } from '../../src/store/billing/usage-columns.ts'
import type { Settlement } from '../../src/store/contract/store.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { sqliteSql } from '../../src/store/sqlite/sql.ts'

type Column = (typeof USAGE_COLUMNS)[number]
type Field<C extends Column = Column> = Exclude<C['field'], null>
type Written<W extends Column['written']> = Extract<Column, { written: W }>

type Equal<A, B> = [A] extends [B] ? ([B] extends [A] ? true : [B, 'is not all of', A]) : [A, 'is not all of', B]

// `requestId`, `tokens.prompt`: every field that holds a value.
type Leaves<T> = {
  [K in keyof T & string]: K extends 'tokens' ? `tokens.${keyof T[K] & string}` : K
}[keyof T & string]

type At<T, P extends string> = P extends `${infer Head}.${infer Rest}`
  ? Head extends keyof T
    ? At<T[Head], Rest>
    : never
  : P extends keyof T
    ? T[P]
    : never

// The type of a column in a record, and in a record that is read for a report.
type Held = {
  text: string
  'text?': string | null
  integer: number
  'integer?': number | null
  credits: Nano
  'credits?': Nano | null
  boolean: boolean
  'json?': string | null
}
type Reported = Omit<Held, 'json?'> & { 'json?': readonly object[] }

// Fields whose type in the record differs from their column's; none.
type Misfits<T, Types extends Record<Column['type'], unknown>> = {
  [C in Extract<Column, { field: Leaves<T> }> as C['column']]: At<T, C['field']> extends Types[C['type']]
    ? never
    : C['column']
}[Extract<Column, { field: Leaves<T> }>['column']]

test('the compiler finds every field of every record in the table, with its type', () => {
  // A report has every field, and operators see every column except those of the store alone.
  true satisfies Equal<Leaves<UsageRow>, Field>
  true satisfies Equal<keyof OperatorUsageObject, Extract<Column, { field: string }>['column'] | 'object'>
  // Each record has the fields that are written with it.
  true satisfies Equal<keyof RequestFacts, Field<Written<'request'>>>
  true satisfies Equal<Leaves<Settlement>, Field<Written<'close' | 'open, close'>> | 'requestId'>
  true satisfies Equal<keyof OpenedRow, Exclude<Field<Written<'open' | 'open, close'>>, 'requests'> | 'facts'>
  true satisfies Equal<Exclude<keyof ClosedRow, 'facts'> & Field, Exclude<keyof ClosedRow, 'facts'>>

  true satisfies Equal<Misfits<UsageRow, Reported>, never>
  true satisfies Equal<Misfits<RequestFacts, Held>, never>
  true satisfies Equal<Misfits<Settlement, Held>, never>
  true satisfies Equal<Misfits<Omit<OpenedRow, 'facts'>, Held>, never>
  true satisfies Equal<Misfits<Omit<ClosedRow, 'facts'>, Held>, never>

  assert.ok(USAGE_COLUMNS.length > 0)
})

test('the table has the columns of the schema, each once', () => {
  const sql = sqliteSql(':memory:', systemClock)
  migrate(sql.db)
  const columns = sql.db.prepare("SELECT name FROM pragma_table_info('usage') ORDER BY name").all()
  sql.close()

  assert.deepEqual(
    USAGE_COLUMNS.map(({ column }) => column).sort(),
    columns.map(({ name }) => name),
  )
})

test('an inserted row writes exactly the fields of its record', () => {
  const facts = [
    'requestId',
    'clientRequestId',
    'accountId',
    'keyId',
    'secretLast4',
    'endpoint',
    'clientIp',
    'createdAt',
    'tags',
  ]
  const opened: Exclude<keyof OpenedRow, 'facts'>[] = ['modelRequested', 'stream', 'hold', 'priceVersion', 'price']
  const closed: Exclude<keyof ClosedRow, 'facts'>[] = [
    ...(['modelRequested', 'stream', 'requests'] as const),
    ...(['outcome', 'httpStatus', 'errorCode', 'errorMessage', 'errorDetail', 'finishedAt'] as const),
  ]

  assert.deepEqual(
    OPENED_COLUMNS.map(({ field }) => field),
    [...facts, ...opened],
  )
  assert.deepEqual(
    CLOSED_COLUMNS.map(({ field }) => field),
    [...facts, ...closed],
  )
})

test('a row is read with every field in its place', () => {
  const row = Object.fromEntries(USAGE_COLUMNS.map(({ column, type }, i) => [column, stored(type, i)]))

  const read = readUsageRow(row)

  for (const [i, { field, type }] of USAGE_COLUMNS.entries()) {
    if (field === null) continue
    const value = field.split('.').reduce<unknown>((record, name) => (record as Record<string, unknown>)[name], read)
    assert.deepEqual(value, recorded(type, i), field)
  }
})

function stored(type: Column['type'], i: number): string | bigint {
  if (type === 'json?') return `[${i}]`
  if (type === 'boolean') return 1n
  return type.startsWith('text') ? `value ${i}` : BigInt(i)
}

function recorded(type: Column['type'], i: number): unknown {
  if (type === 'json?') return [i]
  if (type === 'boolean') return true
  if (type.startsWith('text')) return `value ${i}`
  return type.startsWith('credits') ? BigInt(i) : i
}
