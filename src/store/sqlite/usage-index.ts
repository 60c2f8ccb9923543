// The index of usage rows by key. A trigger adds every new row to `usage_recent`, in the order of time; when there are many, they
// are moved to `usage_by_key` in the order of the keys, so that rows of one key share a page. Batches run between two steps.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { text } from '../sql/sql.ts'
import type { SqliteSql } from './sql.ts'

export type IndexBounds = {
  // A list of a key's rows reads at most about twice as many entries that are not in its order.
  readonly recentMax: number
  readonly readAtOnce: number
  readonly writtenAtOnce: number
}

const INDEX_BOUNDS: IndexBounds = { recentMax: 32_768, readAtOnce: 2048, writtenAtOnce: 512 }

export function usageIndex(sql: SqliteSql, bounds: IndexBounds = INDEX_BOUNDS, turn: () => Promise<void> = nextTurn) {
  let recent = Number(sql.prepare('SELECT COUNT(*) AS n FROM usage_recent').get()?.n)
  let moving: Promise<void> | undefined
  let isClosing = false

  // Entries are in both tables until all are moved: deleting them one by one would write most pages of `usage_recent` each time.
  async function move(): Promise<void> {
    const last = sql.prepare('SELECT MAX(request_id) AS id FROM usage_recent').get()?.id
    const byKey = await readByKey(text(last as string))
    for (const slice of slicesOf(byKey, bounds.writtenAtOnce)) {
      if (isClosing) return
      inTransaction(() => {
        for (const [keyId, requestId] of slice) INSERT(sql).run(keyId, requestId)
      })
      await turn()
    }
    while (!isClosing) {
      const deleted = inTransaction(() => DELETE(sql).run(text(last as string), bounds.readAtOnce).changes)
      recent -= Number(deleted)
      if (Number(deleted) < bounds.readAtOnce) return
      await turn()
    }
  }

  async function readByKey(last: string): Promise<ReadonlyMap<string, readonly string[]>> {
    const byKey = new Map<string, string[]>()
    for (let after = ''; !isClosing; ) {
      const rows = sql
        .prepare(
          `SELECT request_id, key_id FROM usage_recent WHERE request_id > $1 AND request_id <= $2
           ORDER BY request_id LIMIT ${bounds.readAtOnce}`,
        )
        .all(after, last)
      for (const row of rows) {
        const [keyId, requestId] = [String(row.key_id), String(row.request_id)]
        const ids = byKey.get(keyId)
        if (ids === undefined) byKey.set(keyId, [requestId])
        else ids.push(requestId)
        after = requestId
      }
      if (rows.length < bounds.readAtOnce) break
      await turn()
    }
    return byKey
  }

  function inTransaction<T>(work: () => T): T {
    sql.db.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      sql.db.exec('COMMIT')
      return result
    } catch (error) {
      if (sql.db.isTransaction) sql.db.exec('ROLLBACK')
      throw error
    }
  }

  return {
    // Rows were inserted.
    added(rows: number): void {
      recent += rows
      if (recent < bounds.recentMax || moving !== undefined || isClosing) return
      // An error (a full disk) leaves the rest where it is; the next rows begin a new attempt.
      moving = move()
        .catch(() => undefined)
        .finally(() => {
          moving = undefined
        })
    },
    // What has not been moved stays in `usage_recent`.
    async close(): Promise<void> {
      isClosing = true
      await moving
    },
  }
}

// A row that was deleted meanwhile must not come back.
const INSERT = (sql: SqliteSql) =>
  sql.prepare(
    `INSERT OR IGNORE INTO usage_by_key (key_id, request_id) SELECT key_id, request_id FROM usage_recent
     WHERE request_id = $2 AND key_id = $1`,
  )
const DELETE = (sql: SqliteSql) =>
  sql.prepare(
    `DELETE FROM usage_recent WHERE request_id IN
       (SELECT request_id FROM usage_recent WHERE request_id <= $1 ORDER BY request_id LIMIT $2)`,
  )

// Pairs in the order of the index, some at a time.
function* slicesOf(
  byKey: ReadonlyMap<string, readonly string[]>,
  size: number,
): Generator<(readonly [string, string])[]> {
  let slice: (readonly [string, string])[] = []
  for (const keyId of [...byKey.keys()].sort()) {
    for (const requestId of byKey.get(keyId) ?? []) {
      slice.push([keyId, requestId])
      if (slice.length < size) continue
      yield slice
      slice = []
    }
  }
  if (slice.length > 0) yield slice
}
