// The SQLite side of a transfer: read only, page by page along the primary key, also while the gateway writes. No page keeps a
// transaction open, so the gateway's log does not grow.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { newerVersion } from '../migration-files.ts'
import { applyLeftJournal } from '../sqlite/journal.ts'
import { DATABASE_FILE } from '../sqlite/lock.ts'
import { APPLICATION_ID, newestSchema } from '../sqlite/migrate.ts'
import { AHEAD, CannotTransfer, type TransferColumn, type TransferTable } from './plan.ts'

export type Value = string | bigint | Uint8Array | null
export type Key = readonly Value[]
export type Keyed = { readonly key: Key; readonly mark: string }
export type Range = { readonly after: Key | undefined; readonly upTo: Key | undefined }

export type TransferSource = {
  readonly db: DatabaseSync
  count(table: TransferTable): number
  // Keys, and what tells whether their rows are unchanged; `settledOnly` leaves out rows that may still change.
  keys(table: TransferTable, after: Key | undefined, limit: number, settledOnly: boolean): readonly Keyed[]
  rows(table: TransferTable, range: Range): Iterable<readonly Value[]>
  sums(table: TransferTable): readonly string[]
  // Balances of a gateway that was killed are partly in its journal. Only when none is running.
  applyJournal(): void
  close(): void
}

export function openTransferSource(dir: string): TransferSource {
  const path = join(dir, DATABASE_FILE)
  if (!existsSync(path)) throw new CannotTransfer(`database not found: ${path}`)
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  try {
    refuseUnfit(db, path)
  } catch (error) {
    db.close()
    throw error
  }
  db.function('storable_bytes', { deterministic: true }, text => BigInt(Buffer.byteLength(storableText(String(text)))))

  return {
    db,
    count: table => Number(db.prepare(`SELECT COUNT(*) AS n FROM ${table.name}`).get()?.n),
    keys(table, after, limit, settledOnly) {
      const { marks, settled } = AHEAD[table.name] ?? { marks: [] }
      const { where, values } = within(table, { after, upTo: undefined })
      const only = settledOnly && settled !== undefined ? `AND ${settled}` : ''
      const text = `SELECT ${[...table.key, ...marks].join(', ')} FROM ${table.name} WHERE ${where} ${only}
        ORDER BY ${table.key.join(', ')} LIMIT ${limit}`
      return arrays(db, text, values).map(row => keyed(row, table.key.length))
    },
    *rows(table, range) {
      const { where, values } = within(table, range)
      const names = table.columns.map(column => column.name).join(', ')
      const statement = db.prepare(`SELECT ${names} FROM ${table.name} WHERE ${where} ORDER BY ${table.key.join(', ')}`)
      statement.setReadBigInts(true)
      statement.setReturnArrays(true)
      yield* statement.iterate(...values) as unknown as Iterable<readonly Value[]>
    },
    sums(table) {
      const sums = db.prepare(`SELECT ${sumsOf(table, 'sqlite').join(', ')} FROM ${table.name}`)
      sums.setReadBigInts(true)
      return Object.values(sums.get() ?? {}).map(String)
    },
    applyJournal() {
      using writable = new DatabaseSync(path)
      applyLeftJournal(writable)
    },
    close: () => db.close(),
  }
}

function refuseUnfit(db: DatabaseSync, path: string): void {
  const pragma = (name: string) => Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0)
  if (pragma('application_id') !== APPLICATION_ID) throw new CannotTransfer(`${path} is not a Turnpike database`)
  const version = pragma('user_version')
  if (version > newestSchema()) {
    throw new CannotTransfer(`${path} is ${newerVersion(version, newestSchema())}`)
  }
  if (version < newestSchema()) {
    throw new CannotTransfer(
      `${path} is from an older version of Turnpike; start this version on it once, then migrate`,
    )
  }
}

// Rows of the range, valid on both engines: row values compare from left to right.
function within(table: TransferTable, { after, upTo }: Range): { readonly where: string; readonly values: Value[] } {
  const key = `(${table.key.join(', ')})`
  const marks = `(${table.key.map(() => '?').join(', ')})`
  const conditions = [after && `${key} > ${marks}`, upTo && `${key} <= ${marks}`].filter(part => part !== undefined)
  return { where: conditions.join(' AND ') || 'TRUE', values: [...(after ?? []), ...(upTo ?? [])] }
}

function arrays(db: DatabaseSync, text: string, values: readonly Value[]): readonly (readonly Value[])[] {
  const statement = db.prepare(text)
  statement.setReadBigInts(true)
  statement.setReturnArrays(true)
  return statement.all(...values) as unknown as readonly (readonly Value[])[]
}

export function keyed(row: readonly Value[], keyLength: number): Keyed {
  return { key: row.slice(0, keyLength), mark: row.slice(keyLength).join(' ') }
}

// What is compared of a table after the copy: the number of rows, and for every column the number of values and their sum, for
// texts the sum of their bytes. Exact on both engines, whatever the sums.
type Engine = 'sqlite' | 'postgres'

// One expression after the other, in the same order on both engines.
export function sumsOf(table: TransferTable, engine: Engine): readonly string[] {
  return ['COUNT(*) AS n', ...table.columns.flatMap((column, i) => columnSums(column, engine, `c${i}`))]
}

// Labels of the sums of `sumsOf`, for messages about differences.
export function sumNames(table: TransferTable): readonly string[] {
  return ['rows', ...table.columns.flatMap(({ name, kind }) => Array(kind === 'integer' ? 3 : 2).fill(name))]
}

// In two halves: the sum of a million balances may exceed what SQLite can add.
const HALF = 1_000_000_000

function columnSums({ name, kind }: TransferColumn, engine: Engine, as: string): readonly string[] {
  const count = `COUNT(${name}) AS ${as}n`
  if (kind === 'integer') {
    return [count, `COALESCE(SUM(${name} / ${HALF}), 0) AS ${as}h`, `COALESCE(SUM(${name} % ${HALF}), 0) AS ${as}l`]
  }
  const bytes = engine === 'postgres' ? `octet_length(${name})` : kind === 'text' ? textBytes(name) : `length(${name})`
  return [count, `COALESCE(SUM(${bytes}), 0) AS ${as}b`]
}

// SQLite's own length of a text ends at a NUL, which Postgres does not have.
function textBytes(name: string): string {
  const bytes = `CAST(${name} AS BLOB)`
  return `CASE WHEN instr(${bytes}, x'00') > 0 THEN storable_bytes(${name}) ELSE length(${bytes}) END`
}

// Postgres texts cannot contain NUL: the replacement is the one that the gateway itself writes there.
export function storableText(text: string): string {
  return text.includes('\u0000') ? text.replaceAll('\u0000', '\ufffd') : text
}
