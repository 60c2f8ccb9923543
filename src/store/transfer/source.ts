// The SQLite side of a transfer: read only, page by page along the primary key, also while the gateway writes. No page keeps a
// transaction open, so the gateway's log does not grow.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { newerVersion } from '../migration-files.ts'
import { DATABASE_FILE } from '../sqlite/lock.ts'
import { APPLICATION_ID, newestSchema } from '../sqlite/migrate.ts'
import { AHEAD, CannotTransfer, type TransferTable } from './plan.ts'
import { storableText, sumsOf } from './sums.ts'

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
