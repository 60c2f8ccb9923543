// Retention of usage rows, hour by hour: an hour whose sums are current and about whose rows nothing is undecided is set to be
// dropped, its rows are deleted a few at a time, and then it is marked as dropped. Its sums stay forever.
import { DAY_MS } from '../../domain/key.ts'
import { HOUR_MS, hourOf } from '../../domain/usage.ts'
import type { Settings } from '../contract/operator.ts'
import { dropOldWindows } from './budgets.ts'
import { conditions } from './conditions.ts'
import { int, type Sql, type Tx } from './sql.ts'
import { addTimeRange } from './time-order.ts'

export type Retention = ReturnType<typeof sqlRetention>

const DELETED_AT_ONCE_MAX = 500
// How long the owner of a recovered row, if it was only paused, may still correct it.
const RECOVERED_YOUNG_MS = DAY_MS

export function sqlRetention(sql: Sql) {
  return {
    // Deletes some rows of the oldest hour, if it is over before that time. Returns `none` where there is nothing (more) to drop.
    async dropSome(before: number): Promise<'hour' | 'rows' | 'none'> {
      return sql.transaction(async tx => {
        const hour = await oldestHour(tx, hourOf(before))
        if (hour === undefined) return 'none'
        if ((await deleteRows(tx, hour)) === DELETED_AT_ONCE_MAX) {
          await tx.run('UPDATE usage_rolled SET dropped = 1 WHERE hour = $1', [hour])
          return 'rows'
        }
        await tx.run('UPDATE usage_rolled SET dropped = 2 WHERE hour = $1', [hour])
        await tx.run('DELETE FROM usage_hour_unknown WHERE hour = $1', [hour])
        return 'hour'
      })
    },

    dropWindows: (now: number) => sql.transaction(tx => dropOldWindows(tx, now)),

    // When it was created; undefined if there is no row.
    async newestRow(): Promise<number | undefined> {
      const row = await sql.get('SELECT created_at FROM usage ORDER BY request_id DESC LIMIT 1')
      return row === undefined ? undefined : int(row.created_at)
    },
  }
}

// Per call, so that a drain need not wait long.
const STEPS_MAX = 200

export async function dropHours(before: number, { dropSome }: Pick<Retention, 'dropSome'>) {
  let dropped = 0
  for (let steps = 0; steps < STEPS_MAX; steps++) {
    const done = await dropSome(before)
    if (done === 'none') return { dropped, more: false }
    if (done === 'hour') dropped += 1
  }
  return { dropped, more: true }
}

async function oldestHour(tx: Tx, end: number): Promise<number | undefined> {
  const oldest = await tx.get(
    'SELECT hour, mark, rolled_mark FROM usage_rolled WHERE dropped < 2 ORDER BY hour LIMIT 1',
  )
  if (oldest === undefined || int(oldest.hour) >= end || oldest.mark !== oldest.rolled_mark) return undefined
  const hour = int(oldest.hour)
  return (await isUndecided(tx, hour, hour + 1)) ? undefined : hour
}

// Whether a row of these hours is open, or recovered so recently that its owner may still come back. Their sums, which must be
// current, tell where such rows are.
export async function isUndecided(tx: Tx, first: number, end: number): Promise<boolean> {
  const hours = await tx.all(
    `SELECT DISTINCT hour FROM usage_hour WHERE hour >= $1 AND hour < $2 AND outcome IN ('', 'recovered')`,
    [first, end],
  )
  for (const { hour } of hours) {
    const rows = conditions()
    addTimeRange(rows, int(hour) * HOUR_MS, (int(hour) + 1) * HOUR_MS)
    rows.add(`(state = 'open' OR (state = 'recovered' AND finished_at > ?))`, tx.now() - RECOVERED_YOUNG_MS)
    const undecided = await tx.get(`SELECT 1 AS one FROM usage ${rows.where()} LIMIT 1`, rows.params)
    if (undecided !== undefined) return true
  }
  return false
}

async function deleteRows(tx: Tx, hour: number): Promise<number> {
  const rows = conditions()
  addTimeRange(rows, hour * HOUR_MS, (hour + 1) * HOUR_MS)
  return tx.run(
    `DELETE FROM usage WHERE request_id IN
       (SELECT request_id FROM usage ${rows.where()} ORDER BY request_id LIMIT ${DELETED_AT_ONCE_MAX})`,
    rows.params,
  )
}

// The clock of retention. A wall clock that jumps, or is wrong when a process starts, must not delete rows: this clock starts at
// its last stored value, runs at most twice as fast as real time, and is never ahead of the wall clock. After a pause it catches
// up at most a day per day; a wall clock a month ahead costs a day of rows per day. See docs/decisions/usage-reports.md.
type RetentionClock = { believed(): Promise<number> }

type RetentionClockNeeds = {
  readonly settings: Settings
  readonly retention: Pick<Retention, 'newestRow'>
  // The store's time, and a monotonic clock.
  now(): number
  monotonic(): number
}

const NAME = 'retention_clock'

export function retentionClock(needs: RetentionClockNeeds): RetentionClock {
  const { settings, monotonic } = needs
  // The last value in this process, and its monotonic time.
  let last: { readonly believed: number; readonly at: number } | undefined

  // Without a stored value, the newest row gives a recent time.
  async function firstBelief(): Promise<number> {
    const newest = await needs.retention.newestRow()
    return newest === undefined ? needs.now() : Math.min(newest + DAY_MS, needs.now())
  }

  return {
    async believed() {
      const written = Number((await settings.get(NAME)) ?? (await firstBelief()))
      const at = monotonic()
      const elapsed = last === undefined ? 0 : at - last.at
      // Several nodes write the same value, and each continues from its own: none adds to what another has caught up.
      const from = last?.believed ?? written
      const believed = Math.floor(Math.max(written, from + elapsed, Math.min(needs.now(), from + 2 * elapsed)))
      last = { believed, at }
      await settings.set(NAME, String(believed))
      return Math.min(believed, needs.now())
    },
  }
}
