// For tests of the transfer to Postgres: a data dir with any number of rows and a correct ledger, and the comparison of
// every value of every table on both sides.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { STAYS, sourceShape } from '../../src/store/transfer/plan.ts'

// Adds this many clones of the charged rows, of each in turn, and charges their accounts and keys for them.
export function multiplyRows(dataDir: string, times: number): void {
  const db = new DatabaseSync(join(dataDir, 'turnpike.db'), { timeout: 5000 })
  try {
    db.exec('PRAGMA synchronous = OFF; BEGIN IMMEDIATE')
    const rows = db.prepare('SELECT * FROM usage WHERE cost > 0').all()
    const insertRow = inserter(db, 'usage', rows[0] ?? {})
    for (let i = 0; i < times; i++) {
      const row = rows[i % rows.length] ?? {}
      // Older than the gateway's own rows, in the format of its ids.
      const id = `01900000-0000-7000-8000-${i.toString(16).padStart(12, '0')}`
      insertRow({ ...row, request_id: id, client_request_id: AWKWARD[i % AWKWARD.length] ?? null })
    }
    // Left in the journal, as by a gateway that was killed.
    const charge = db.prepare(
      `INSERT INTO balance_journal (account_id, key_id, available, held, spent, owed, key_spent, key_held, day, day_count)
       SELECT ?1, key_id, -?2, 0, ?2, 0, ?2, 0, day, day_count + ?3 FROM key_balance_now WHERE key_id = ?4`,
    )
    for (const [i, row] of rows.entries()) {
      const clones = Math.ceil((times - i) / rows.length)
      charge.run(row.account_id ?? '', BigInt(String(row.cost)) * BigInt(clones), clones, row.key_id ?? '')
    }
    db.exec('UPDATE api_key SET daily_limit = NULL WHERE id IN (SELECT key_id FROM usage)')
    db.exec('COMMIT')
  } finally {
    db.close()
  }
}

// Characters that a line of text could break on.
const AWKWARD: readonly (string | null)[] = [
  null,
  'a\tb',
  'a\\b\\N',
  '\\.',
  'line\nline\r',
  '',
  '{"a":"\\u00e9"}',
  'é😀\u2028',
]

type Cells = Record<string, string | number | bigint | null | Uint8Array>

function inserter(db: DatabaseSync, table: string, row: object): (row: Cells) => void {
  const names = Object.keys(row)
  const statement = db.prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`)
  return cells => void statement.run(...names.map(name => cells[name] ?? null))
}

// Every value of every row of every transferred table. Returns the number of rows.
export async function assertSameRows(dataDir: string, url: string): Promise<number> {
  const db = new DatabaseSync(join(dataDir, 'turnpike.db'), { readOnly: true })
  const client = new pg.Client({ connectionString: url, types: { getTypeParser: () => (text: string) => text } })
  await client.connect()
  let compared = 0
  try {
    for (const [table, columns] of Object.entries(sourceShape(db))) {
      if (STAYS.includes(table)) continue
      const names = columns.map(column => column.name).join(', ')
      const order = columns.filter(column => column.key > 0).sort((a, b) => a.key - b.key)
      const text = `SELECT ${names} FROM ${table} ORDER BY ${order.map(column => column.name).join(', ')}`
      const here = db.prepare(text)
      here.setReadBigInts(true)
      const rows = here.all().map(row => Object.values(row).map(value => (value === null ? null : storable(value))))
      const there = (await client.query<unknown[]>({ text, rowMode: 'array' })).rows
      assert.deepEqual(there, rows, table)
      compared += rows.length
    }
  } finally {
    await client.end()
    db.close()
  }
  return compared
}

function storable(value: unknown): string {
  return String(value).replaceAll('\u0000', '\ufffd')
}
