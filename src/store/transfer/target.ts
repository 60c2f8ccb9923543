// The Postgres side of a transfer: claims an empty database for one source, so that no gateway and no other transfer starts
// there, writes rows, and reports what exists.
import type { PoolClient, QueryResult, Submittable } from 'pg'
import { lockMigrations, MOVE_TABLE, migratePostgres, SCHEMA_TABLE } from '../postgres/migrate.ts'
import { lockOf } from '../postgres/sql.ts'
import { AHEAD, CannotTransfer, type TransferTable } from './plan.ts'
import { type Key, type Keyed, keyed, type Range, storableText, sumsOf, type Value } from './source.ts'

export type TransferTarget = {
  readonly client: PoolClient
  readonly state: 'copying' | 'done'
  begin(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  keys(table: TransferTable, range: Range): Promise<readonly Keyed[]>
  insert(table: TransferTable, lines: readonly string[]): Promise<void>
  // Rows that may already exist in another state.
  put(table: TransferTable, lines: readonly string[], ifThere: 'update' | 'keep'): Promise<void>
  remove(table: TransferTable, keys: readonly Key[]): Promise<void>
  empty(table: TransferTable): Promise<void>
  // Deletes everything that was not among the rows of the last `put`.
  removeOthers(table: TransferTable): Promise<void>
  sums(table: TransferTable): Promise<readonly string[]>
  refuseRunning(): Promise<void>
  analyse(tables: readonly TransferTable[]): Promise<void>
  finish(): Promise<void>
}

const LOCK_NOT_AVAILABLE = '55P03'

export async function claimTarget(client: PoolClient, id: string, tables: readonly string[]): Promise<TransferTarget> {
  await lockTransfers(client)
  await refuseForeign(client)
  await migratePostgres(client, id)
  const state = await claim(client, id, tables)
  return openTarget(client, id, state)
}

// For as long as the connection lives. A killed one may be busy for a while, in its last statement.
async function lockTransfers(client: PoolClient): Promise<void> {
  await client.query(`SELECT pg_advisory_lock(${lockOf('transfers')})`).catch((error: { code?: string }) => {
    if (error.code !== LOCK_NOT_AVAILABLE) throw error
    throw new CannotTransfer('another migration into the target is running')
  })
}

// Before anything is created: a schema with tables but without Turnpike's marker belongs to somebody else. Tables of extensions
// do not count.
async function refuseForeign(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname::text AS name FROM pg_class c
     WHERE relnamespace = to_regnamespace(current_schema()::text) AND relkind IN ('r', 'p', 'f')
       AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
     ORDER BY relname`,
  )
  const [first] = rows
  if (first === undefined || rows.some(({ name }) => name === SCHEMA_TABLE)) return
  throw new CannotTransfer(`the target is not empty (it has a table ${first.name}); use an empty database`)
}

// Under the lock of the migrations, which every starting gateway takes: it finds either an unclaimed empty database or our claim.
async function claim(client: PoolClient, id: string, tables: readonly string[]): Promise<'copying' | 'done'> {
  await client.query('BEGIN')
  try {
    await lockMigrations(client)
    await client.query(
      `CREATE TABLE IF NOT EXISTS ${MOVE_TABLE} (source TEXT PRIMARY KEY, state TEXT NOT NULL, at TIMESTAMPTZ NOT NULL)`,
    )
    const { rows } = await client.query<{ source: string; state: string }>(`SELECT source, state FROM ${MOVE_TABLE}`)
    if (rows.length === 0) {
      await refuseUsed(client, tables)
      await client.query(`INSERT INTO ${MOVE_TABLE} VALUES ($1, 'copying', now())`, [id])
    } else if (rows[0]?.source !== id) {
      throw new CannotTransfer('the target belongs to the migration of another source; use an empty database')
    }
    await client.query('COMMIT')
    return rows[0]?.state === 'done' ? 'done' : 'copying'
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

async function refuseUsed(client: PoolClient, tables: readonly string[]): Promise<void> {
  for (const table of [...tables, 'node']) {
    const { used } = await one(client, `SELECT EXISTS (SELECT 1 FROM ${table}) AS used`)
    if (String(used) === 't') {
      throw new CannotTransfer(`the target is not empty (it has rows in ${table}); use an empty database`)
    }
  }
}

function openTarget(client: PoolClient, id: string, state: 'copying' | 'done'): TransferTarget {
  const names = (table: TransferTable) => table.columns.map(column => column.name)
  const stage = (table: TransferTable) => `move_${table.name}`
  return {
    client,
    state,
    begin: async () => void (await client.query('BEGIN')),
    commit: async () => void (await client.query('COMMIT')),
    // A lost connection has rolled back by itself; the original error matters.
    rollback: async () => void (await client.query('ROLLBACK').catch(() => {})),
    async keys(table, range) {
      const { where, values } = within(table, range)
      const columns = [...table.key, ...(AHEAD[table.name]?.marks ?? [])].join(', ')
      const text = `SELECT ${columns} FROM ${table.name} WHERE ${where} ORDER BY ${table.key.join(', ')}`
      const { rows } = await client.query<Value[]>({ text, values, rowMode: 'array' })
      return rows.map(row => keyed(row, table.key.length))
    },
    insert: (table, lines) => copyInto(client, table.name, names(table), lines),
    async put(table, lines, ifThere) {
      const columns = names(table)
      const others = columns.filter(column => !table.key.includes(column))
      const action =
        ifThere === 'keep' || others.length === 0
          ? 'NOTHING'
          : `UPDATE SET ${others.map(column => `${column} = excluded.${column}`).join(', ')}`
      await client.query(`DROP TABLE IF EXISTS pg_temp.${stage(table)}`)
      await client.query(
        `CREATE TEMP TABLE ${stage(table)} ON COMMIT DROP AS SELECT ${columns.join(', ')} FROM ${table.name} WITH NO DATA`,
      )
      await copyInto(client, stage(table), columns, lines)
      await client.query(
        `INSERT INTO ${table.name} (${columns.join(', ')}) SELECT ${columns.join(', ')} FROM ${stage(table)}
         ON CONFLICT (${table.key.join(', ')}) DO ${action}`,
      )
    },
    async remove(table, keys) {
      if (keys.length === 0) return
      const lists = table.key.map((_, i) => keys.map(key => key[i]))
      const wanted = table.key.map((_, i) => `$${i + 1}::text[]`).join(', ')
      await client.query(
        `DELETE FROM ${table.name} WHERE (${table.key.join(', ')}) IN (SELECT * FROM unnest(${wanted}))`,
        lists,
      )
    },
    empty: async table => void (await client.query(`DELETE FROM ${table.name}`)),
    async removeOthers(table) {
      const same = table.key.map(column => `s.${column} = t.${column}`).join(' AND ')
      await client.query(`DELETE FROM ${table.name} t WHERE NOT EXISTS (SELECT 1 FROM ${stage(table)} s WHERE ${same})`)
    },
    async sums(table) {
      return Object.values(await one(client, `SELECT ${sumsOf(table, 'postgres').join(', ')} FROM ${table.name}`)).map(
        String,
      )
    },
    async refuseRunning() {
      const { used } = await one(client, 'SELECT EXISTS (SELECT 1 FROM node) AS used')
      if (String(used) === 't') throw new CannotTransfer('a gateway has started on the target; use an empty database')
    },
    analyse: async tables => void (await client.query(`ANALYZE ${tables.map(table => table.name).join(', ')}`)),
    finish: async () =>
      void (await client.query(`UPDATE ${MOVE_TABLE} SET state = 'done', at = now() WHERE source = $1`, [id])),
  }
}

function within(table: TransferTable, { after, upTo }: Range): { readonly where: string; readonly values: Value[] } {
  const values: Value[] = []
  const compared = (sign: string, key: Key) =>
    `(${table.key.join(', ')}) ${sign} (${key.map(value => `$${values.push(value)}`).join(', ')})`
  const conditions = [after && compared('>', after), upTo && compared('<=', upTo)].filter(part => part !== undefined)
  return { where: conditions.join(' AND ') || 'TRUE', values }
}

async function one(client: PoolClient, text: string): Promise<Readonly<Record<string, unknown>>> {
  return (await client.query<Record<string, unknown>>(text)).rows[0] ?? {}
}

// Writes rows to Postgres by COPY, the fastest way: each row a line of text, many lines at once.
type Wire = { sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void }

async function copyInto(
  client: PoolClient,
  table: string,
  columns: readonly string[],
  lines: readonly string[],
): Promise<void> {
  if (lines.length === 0) return
  const { default: pg } = await import('pg')
  await new Promise<void>((resolve, reject) => {
    const done = (error: Error | undefined, _result?: QueryResult) => (error ? reject(error) : resolve())
    const text = `COPY ${table} (${columns.join(', ')}) FROM STDIN`
    // The driver supports COPY except for the source of the rows.
    const query = new (pg.Query as unknown as new (text: string, done: unknown) => Submittable)(text, done)
    client.query(
      Object.assign(query, {
        handleCopyInResponse(wire: Wire) {
          wire.sendCopyFromChunk(Buffer.from(lines.join('')))
          wire.endCopyFrom()
        },
      }),
    )
  })
}

export function copyLine(row: readonly Value[]): string {
  return `${row.map(field).join('\t')}\n`
}

function field(value: Value): string {
  if (value === null) return '\\N'
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'string') return /[\\\t\n\r\0]/.test(value) ? escaped(storableText(value)) : value
  return `\\\\x${Buffer.from(value).toString('hex')}`
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function escaped(text: string): string {
  return text.replace(/[\\\t\n\r]/g, character => ESCAPES[character] ?? character)
}
