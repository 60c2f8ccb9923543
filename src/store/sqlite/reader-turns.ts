// Turns between the reports of one read-only thread: SQLite is synchronous, so a report that has used the thread for a while lets
// others run before its next statement, and one past its deadline starts no further statement.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../lib/clock.ts'
import type { Sql } from '../sql/sql.ts'

// Shorter than a person notices, longer than a turn of the event loop.
const TURN_MS = 5

export type ReaderTurns = { next(deadline: number): Promise<void> }

export function readerTurns(clock: Pick<Clock, 'monotonic'>): ReaderTurns {
  let turnBegan = clock.monotonic()
  return {
    async next(deadline) {
      if (clock.monotonic() - turnBegan > TURN_MS) {
        await nextTurn()
        turnBegan = clock.monotonic()
      }
      if (clock.monotonic() > deadline) throw new Error('the report took too long; narrow the time range or filter')
    },
  }
}

export function inTurns(sql: Sql, deadline: number, turns: ReaderTurns): Sql {
  return {
    ...sql,
    async all(text, params) {
      await turns.next(deadline)
      return sql.all(text, params)
    },
    async get(text, params) {
      await turns.next(deadline)
      return sql.get(text, params)
    },
  }
}
