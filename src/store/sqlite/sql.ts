// The store's Sql interface on node:sqlite: statements prepared once, integers read as bigint, one transaction at a time. It is
// synchronous underneath, so in its own thread every promise here resolves before the next message is read.
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Clock } from '../../lib/clock.ts'
import type { Param, Row, Sql, Tx } from '../sql/sql.ts'

export type SqliteSql = Sql & { readonly db: DatabaseSync; prepare(text: string): StatementSync; close(): void }

export const SQLITE_DIALECT = {
  keyRows: 'view',
  jsonCast: '',
  jsonItems: (list: string) => `json_each(${list}) AS item`,
  jsonPairs: (object: string) => `json_each(${object}) AS pair`,
} as const

export function sqliteSql(path: string, clock: Clock, options: { readonly readOnly?: boolean } = {}): SqliteSql {
  const db = new DatabaseSync(path, {
    readOnly: options.readOnly ?? false,
    enableForeignKeyConstraints: true,
    // Only a foreign process can hold the lock: a quick 503 is better than a queue of callers.
    timeout: 1000,
  })
  const prepared = new Map<string, StatementSync>()

  function prepare(text: string): StatementSync {
    let statement = prepared.get(text)
    if (statement === undefined) {
      // `$1` is a name to SQLite; `?1` is a number.
      statement = db.prepare(text.replace(/\$(\d+)/g, '?$1'))
      statement.setReadBigInts(true)
      prepared.set(text, statement)
    }
    return statement
  }

  const statements = {
    all: async (text: string, params: readonly Param[] = []) => prepare(text).all(...params) as unknown as Row[],
    get: async (text: string, params: readonly Param[] = []) =>
      prepare(text).get(...params) as unknown as Row | undefined,
    run: async (text: string, params: readonly Param[] = []) => Number(prepare(text).run(...params).changes),
  }

  return {
    ...statements,
    now: clock.now,
    ...SQLITE_DIALECT,
    db,
    prepare,
    async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
      const now = clock.now()
      db.exec('BEGIN IMMEDIATE')
      try {
        const result = await work({ ...statements, now: () => now, ...SQLITE_DIALECT })
        db.exec('COMMIT')
        return result
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK')
        throw error
      }
    },
    close: () => db.close(),
  }
}
