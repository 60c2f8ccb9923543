// Functions over the columns of a usage row, compiled once from their table: the generated source names every field, like
// hand-written code. Every chat passes here several times, and a loop over names would be slower.
import type { Tokens } from '../../domain/credits.ts'
import type { RequestFacts, UsageRow } from '../../domain/usage.ts'
import type { Settlement } from '../contract/store.ts'
import { big, bigOrNull, int, intOrNull, type Row, text, textOrNull } from '../sql/sql.ts'
import { type ColumnType, type FieldColumn, REPORTED, REQUEST_COLUMNS, SETTLEMENT_COLUMNS } from './usage-columns.ts'

type Columns = readonly FieldColumn[]
// The expression that gives the value of a column.
type Source = (column: FieldColumn, index: number) => string

// `scope` is what the source may refer to in addition to its own parameters.
export function compile<F>(source: string, scope: Readonly<Record<string, unknown>> = {}): F {
  return new Function(...Object.keys(scope), `'use strict'; return ${source}`)(...Object.values(scope)) as F
}

// In an inserted row, called `row`: the facts of its request are a nested object.
export const inRow: Source = ({ field, written }) => (written === 'request' ? `row.facts.${field}` : `row.${field}`)

// In a settlement, called `bill`.
export const inBill: Source = ({ field }) => `bill.${field}`

// Arguments for a statement of SQLite.
export function sqliteValues(columns: Columns, source: Source): string {
  return columns
    .map((column, i) => (column.type === 'boolean' ? `${source(column, i)} ? 1 : 0` : source(column, i)))
    .join(', ')
}

// Members of an object that is sent to Postgres as JSON, which has no 64-bit integers.
export function jsonMembers(columns: Columns, source: Source): string {
  return columns.map((column, i) => `${column.column}: ${jsonValue(column.type, source(column, i))}`).join(', ')
}

function jsonValue(type: ColumnType, value: string): string {
  if (type === 'boolean') return `${value} ? 1 : 0`
  if (type === 'credits') return `String(${value})`
  return type === 'credits?' ? `${value} === null ? null : String(${value})` : value
}

// To the store's thread and back: a flat list is cheaper to clone than an object, whose field names are all written.
export const FACTS_SIZE = REQUEST_COLUMNS.length
export const packFacts = packer<RequestFacts>(REQUEST_COLUMNS)
export const unpackFacts = unpacker<RequestFacts>(REQUEST_COLUMNS)
export const BILL_SIZE = SETTLEMENT_COLUMNS.length
export const packBill = packer<Settlement>(SETTLEMENT_COLUMNS)
export const unpackBill = unpacker<Settlement>(SETTLEMENT_COLUMNS)

function packer<T>(columns: Columns): (flat: unknown[], record: T) => void {
  return compile(`(flat, record) => { flat.push(${columns.map(({ field }) => `record.${field}`).join(', ')}) }`)
}

function unpacker<T>(columns: Columns): (flat: readonly unknown[], at: number) => T {
  return compile(`(flat, at) => (${objectOf(columns, (_column, i) => `flat[at + ${i}]`)})`)
}

const TOKENS = REPORTED.filter(({ field }) => field.startsWith('tokens.'))

const READERS: Readonly<Record<ColumnType, (value: string) => string>> = {
  text: value => `text(${value})`,
  'text?': value => `textOrNull(${value})`,
  integer: value => `int(${value})`,
  'integer?': value => `intOrNull(${value})`,
  credits: value => `big(${value})`,
  'credits?': value => `bigOrNull(${value})`,
  boolean: value => `int(${value}) !== 0`,
  'json?': value => `${value} === null ? [] : JSON.parse(text(${value}))`,
}

const READ = { text, textOrNull, int, intOrNull, big, bigOrNull }

export const readUsageRow = compile<(row: Row) => UsageRow>(
  `row => (${objectOf(REPORTED, ({ column, type }) => READERS[type](`row.${column}`))})`,
  READ,
)

// The tokens of a row that was read separately.
export function readTokens(row: Row): Tokens {
  return readTokensOf(row).tokens
}

const readTokensOf = compile<(row: Row) => { readonly tokens: Tokens }>(
  `row => (${objectOf(TOKENS, ({ column }) => `int(row.${column})`)})`,
  READ,
)

// An object literal of the fields; those of a nested object (`tokens.prompt`) are adjacent in the table.
function objectOf(columns: Columns, source: Source): string {
  const members: string[] = []
  const inner = new Map<string, string[]>()
  for (const [i, column] of columns.entries()) {
    const [name = '', part] = column.field.split('.')
    const value = source(column, i)
    if (part === undefined) members.push(`${name}: ${value}`)
    else inner.set(name, [...(inner.get(name) ?? []), `${part}: ${value}`])
  }
  for (const [name, parts] of inner) members.push(`${name}: { ${parts.join(', ')} }`)
  return `{ ${members.join(', ')} }`
}
