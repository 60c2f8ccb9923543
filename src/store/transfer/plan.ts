// What a transfer copies, read from the schemas of both databases, so that no table and no column can be forgotten: each table
// with its columns, its key, and its role.
import type { DatabaseSync } from 'node:sqlite'
import type { PoolClient } from 'pg'

export type TransferTable = {
  readonly name: string
  readonly columns: readonly TransferColumn[]
  readonly key: readonly string[]
  // `ahead`: long, and its rows hardly change once written, so most of it is copied while the gateway runs. `parent`: others
  // refer to it, so its rows are updated in place and never removed for a moment. `leaf`: all others.
  readonly role: 'ahead' | 'parent' | 'leaf'
  // An ahead table refers to it: its rows must exist before that one's.
  readonly first: boolean
}

export type TransferColumn = { readonly name: string; readonly kind: 'integer' | 'text' | 'bytes' }

// The schemas do not match; a plan would lose something.
export class CannotTransfer extends Error {
  override readonly name = 'CannotMove'
}

// Where a row's key alone does not identify its content: the columns that change with it.
export const AHEAD: Readonly<Record<string, { readonly marks: readonly string[]; readonly settled?: string }>> = {
  // Settled rows never change; the others may at any time.
  usage: { marks: ['state', 'cost'], settled: "state = 'settled'" },
  ledger: { marks: ['kind', 'amount'] },
  event: { marks: ['at'] },
}

// Live nodes of the source are meaningless in the target; the journals are applied first, and the target has an index
// of its own.
export const STAYS: readonly string[] = ['node', 'balance_journal', 'budget_journal', 'usage_by_key', 'usage_recent']

const KINDS: Readonly<Record<string, TransferColumn['kind']>> = {
  INTEGER: 'integer',
  INT: 'integer',
  TEXT: 'text',
  BLOB: 'bytes',
  bigint: 'integer',
  integer: 'integer',
  smallint: 'integer',
  text: 'text',
  bytea: 'bytes',
}

type Shape = Readonly<Record<string, readonly { readonly name: string; readonly type: string; readonly key: number }[]>>
type Reference = { readonly child: string; readonly parent: string }

export async function planTransfer(db: DatabaseSync, client: PoolClient): Promise<readonly TransferTable[]> {
  const source = sourceShape(db)
  const target = await targetShape(client)
  const references = await targetReferences(client)
  const aheadParents = new Set<string>()
  for (const name of Object.keys(AHEAD)) for (const parent of parentsOf(name, references)) aheadParents.add(parent)
  const tables = Object.keys(source)
    .filter(name => !STAYS.includes(name))
    .map(name => ({
      name,
      columns: columnsOf(name, source, target),
      key: keyOf(source[name] ?? [], name),
      role: roleOf(name, references),
      first: aheadParents.has(name),
    }))
  // Parents before their children, otherwise by name.
  const depth = (name: string) => parentsOf(name, references).length
  return tables.sort((a, b) => depth(a.name) - depth(b.name) || (a.name < b.name ? -1 : 1))
}

export function sourceShape(db: DatabaseSync): Shape {
  const tables = db.prepare(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
  )
  const columns = db.prepare('SELECT name, type, pk FROM pragma_table_info(?)')
  return Object.fromEntries(
    tables
      .all()
      .map(table => [
        String(table.name),
        columns
          .all(String(table.name))
          .map(row => ({ name: String(row.name), type: String(row.type), key: Number(row.pk) })),
      ]),
  )
}

// Partitions belong to their table.
export async function targetShape(client: PoolClient): Promise<Shape> {
  const { rows } = await client.query<{ table: string; name: string; type: string }>(
    `SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, NULL) AS type
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND a.attgenerated = '' ORDER BY c.relname, a.attnum`,
  )
  const shape: Record<string, { name: string; type: string; key: number }[]> = {}
  for (const { table, name, type } of rows) {
    const columns = shape[table] ?? []
    columns.push({ name, type, key: 0 })
    shape[table] = columns
  }
  return shape
}

async function targetReferences(client: PoolClient): Promise<readonly Reference[]> {
  const { rows } = await client.query<Reference>(
    `SELECT c.relname AS child, p.relname AS parent FROM pg_constraint f
     JOIN pg_class c ON c.oid = f.conrelid JOIN pg_class p ON p.oid = f.confrelid
     WHERE f.contype = 'f' AND f.conparentid = 0 AND c.relnamespace = current_schema()::regnamespace`,
  )
  return rows
}

function columnsOf(table: string, source: Shape, target: Shape): readonly TransferColumn[] {
  const there = new Map(target[table]?.map(column => [column.name, KINDS[column.type]]))
  return (source[table] ?? []).map(({ name, type }) => {
    const kind = KINDS[type]
    if (kind === undefined || there.get(name) !== kind) {
      throw new CannotTransfer(
        `the column ${table}.${name} (${type}) does not exist in the target; nothing was migrated`,
      )
    }
    return { name, kind }
  })
}

function keyOf(columns: Shape[string], table: string): readonly string[] {
  const key = columns.filter(column => column.key > 0).sort((a, b) => a.key - b.key)
  if (key.length === 0) throw new CannotTransfer(`the table ${table} has no primary key; nothing was migrated`)
  return key.map(column => column.name)
}

function roleOf(name: string, references: readonly Reference[]): TransferTable['role'] {
  if (Object.hasOwn(AHEAD, name)) return 'ahead'
  return references.some(({ parent }) => parent === name) ? 'parent' : 'leaf'
}

// Everything that it refers to, directly and indirectly.
function parentsOf(name: string, references: readonly Reference[]): readonly string[] {
  const near = references.filter(({ child, parent }) => child === name && parent !== name).map(({ parent }) => parent)
  return [...new Set([...near, ...near.flatMap(parent => parentsOf(parent, references))])]
}
