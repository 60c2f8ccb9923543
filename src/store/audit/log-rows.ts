// Looks up the usage rows for a log comparison by request id, on either engine.
import { DatabaseSync } from 'node:sqlite'
import type { Nano } from '../../domain/credits.ts'
import { systemClock } from '../../lib/clock.ts'
import { openPostgresSql, POSTGRES_BOUNDS } from '../postgres/sql.ts'
import { type BookedRow, LAST_DROPPED, type RowLookup } from './log.ts'

const FIELDS = 'request_id, state, cost'

export async function withSqliteRows<T>(path: string, use: (rows: RowLookup) => Promise<T>): Promise<T> {
  using db = new DatabaseSync(path, { readOnly: true, timeout: 5000, readBigInts: true })
  const one = db.prepare(`SELECT ${FIELDS} FROM usage WHERE request_id = ?`)
  return await use({
    droppedUntil: async () => Number(db.prepare(LAST_DROPPED).get()?.at),
    rows: async ids => byId(ids.map(id => one.get(id)).filter(row => row !== undefined)),
  })
}

export async function withPostgresRows<T>(url: string, use: (rows: RowLookup) => Promise<T>): Promise<T> {
  const sql = await openPostgresSql({ url, clock: systemClock, bounds: { ...POSTGRES_BOUNDS, connectionsMax: 1 } })
  try {
    return await use({
      droppedUntil: async () => Number((await sql.get(LAST_DROPPED))?.at),
      rows: async ids => {
        const places = ids.map((_, i) => `$${i + 1}`)
        return byId(
          ids.length === 0
            ? []
            : await sql.all(`SELECT ${FIELDS} FROM usage WHERE request_id IN (${places})`, [...ids]),
        )
      },
    })
  } finally {
    await sql.close()
  }
}

function byId(rows: readonly Readonly<Record<string, unknown>>[]): ReadonlyMap<string, BookedRow> {
  return new Map(rows.map(row => [String(row.request_id), { state: String(row.state), cost: row.cost as Nano }]))
}
