// The roll-up: sums of usage by hour and by day. An hour is claimed once it is over; from then on every write to one of its rows
// increments its version in the same transaction. Sums are read without a lock and written only if the version is still what it
// was before, so they are correct however many nodes do this at once.
import { hash } from 'node:crypto'
import { addDuration, bucketOf, DAY_HOURS, type Durations, HOUR_MS, hourOf } from '../../../domain/usage.ts'
import { conditions } from '../conditions.ts'
import { int, type Param, type Row, type Sql, type Tx, text } from '../sql.ts'
import { addTimeRange, ID_SLACK_MS, timePrefix } from '../time-order.ts'
import {
  CAUSE_OF_COSTS,
  DIMENSIONS,
  insertAll,
  type Pending,
  ROW_DIMENSIONS,
  ROW_MS,
  readPending,
  SUM_COLUMNS,
  SUMMED_ROWS,
  TIMED,
} from './hour-columns.ts'
import { sqlTotals } from './hour-totals.ts'
import { keptTagsByKey, sumsByKeptTags } from './tag-sums.ts'

export type Sums = { readonly rows: readonly Row[]; readonly durations: Durations }

export type Hours = ReturnType<typeof sqlHours>

// Per transaction, so that nobody waits for it.
const CLAIMED_AT_ONCE_MAX = 100
const EMPTY_CLAIMED_AT_ONCE_MAX = 2000

export function sqlHours(sql: Sql) {
  return { ...sqlTotals(sql), ...hourMethods(sql), ...dayMethods(sql) }
}

function hourMethods(sql: Sql) {
  return {
    // Claims hours that ended at least this long ago, up to the oldest open row: its settlement would only invalidate the sums.
    async claim(overForMs: number): Promise<number> {
      const open = await sql.get(`SELECT MIN(created_at) AS at FROM usage WHERE state = 'open'`)
      const endOf = (now: number) =>
        Math.min(hourOf(now - overForMs), open?.at == null ? Number.MAX_VALUE : hourOf(int(open.at)))
      // Mostly there is nothing to claim, and finding that out needs no exclusive lock. It is checked again under the lock.
      const next = await firstUnclaimed(sql)
      if (next === undefined || next >= endOf(sql.now())) return 0
      return sql.transaction(async tx => {
        const end = endOf(tx.now())
        const first = await firstUnclaimed(tx)
        if (first === undefined || first >= end) return 0
        const busy = Math.max(await firstWithRows(tx, first), first)
        const empty = Math.min(busy, end, first + EMPTY_CLAIMED_AT_ONCE_MAX) - first
        const hours = empty > 0 ? empty : Math.min(end - first, CLAIMED_AT_ONCE_MAX)
        // An hour without rows has correct sums: none.
        await tx.run(
          `WITH RECURSIVE n (hour) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT hour + 1 FROM n WHERE hour + 1 < $2)
           INSERT INTO usage_rolled (hour, mark, rolled_mark) SELECT hour, CAST($3 AS BIGINT), 0 FROM n WHERE true
           ON CONFLICT DO NOTHING`,
          [first, first + hours, empty > 0 ? 0 : 1],
        )
        return hours
      }, 'hours')
    },

    // Hours whose sums are missing or out of date, the newest first: after an upgrade these may be all, and reports of the last days
    // are read most. One whose rows are gone keeps what it has.
    async pending(max: number): Promise<readonly Pending[]> {
      const rows = await sql.all(
        `SELECT hour AS at, mark FROM usage_rolled WHERE mark <> rolled_mark AND dropped = 0 ORDER BY hour DESC LIMIT $1`,
        [max],
      )
      return rows.map(readPending)
    },

    async sums(hour: number): Promise<Sums> {
      const [from, to] = [hour * HOUR_MS, (hour + 1) * HOUR_MS]
      const kept = await keptTagsByKey(from, to, sql)
      const rows = conditions()
      addTimeRange(rows, from, to)
      const durations = await durationsOf(sql, rows.where(), rows.params)
      if (kept.size > 0) {
        const keys = sql.jsonItems(rows.param(JSON.stringify([...kept.keys()].map(keyId => [keyId]))))
        rows.add(`(tags IS NULL OR key_id NOT IN (SELECT item.value ->> 0 FROM ${keys}))`)
      }
      const groups = [...DIMENSIONS.map(name => `${ROW_DIMENSIONS[name]} AS ${name}`), `${CAUSE_OF_COSTS} AS cause`]
      const found = await sql.all(
        `SELECT ${[...groups, ...SUMMED_ROWS].join(', ')} FROM usage ${rows.where()} GROUP BY ${groups.map((_, i) => i + 1)}`,
        rows.params,
      )
      const crowded = kept.size === 0 ? [] : await sumsByKeptTags(from, to, kept, sql)
      const hashed = [...found, ...crowded].map(row => ({ ...row, tags_hash: hashOf(text(row.tags), text(row.cause)) }))
      return { rows: hashed, durations }
    },

    async write({ at, mark }: Pending, sums: Sums): Promise<boolean> {
      return sql.transaction(async tx => {
        const taken = 'UPDATE usage_rolled SET rolled_mark = $2 WHERE hour = $1 AND mark = $2 AND dropped = 0'
        if ((await tx.run(taken, [at, mark])) === 0) return false
        await replace(tx, 'hour', at, sums)
        return true
      })
    },
  }
}

function dayMethods(sql: Sql) {
  return {
    // Days that are over, with every hour current, whose own sums are missing or out of date.
    async pendingDays(max: number): Promise<readonly Pending[]> {
      const rows = await sql.all(
        `SELECT r.day AS at, r.marks AS mark FROM (${MARKS_BY_DAY}) r LEFT JOIN usage_rolled_day d ON d.day = r.day
         WHERE r.pending = 0 AND r.marks > 0 AND (r.day + 1) * ${DAY_HOURS} <= (SELECT MAX(hour) + 1 FROM usage_rolled)
           AND (d.marks IS NULL OR d.marks <> r.marks)
         ORDER BY r.day LIMIT $1`,
        [max],
      )
      return rows.map(readPending)
    },

    async daySums(day: number): Promise<Sums> {
      const range = [day * DAY_HOURS, (day + 1) * DAY_HOURS]
      const sums = SUM_COLUMNS.map(name => `SUM(${name}) AS ${name}`)
      const timed = await sql.all(
        'SELECT bucket, SUM(requests) AS requests FROM usage_hour_ms WHERE hour >= $1 AND hour < $2 GROUP BY bucket',
        range,
      )
      return {
        rows: await sql.all(
          `SELECT ${[...DIMENSIONS, 'tags_hash', ...sums].join(', ')} FROM usage_hour WHERE hour >= $1 AND hour < $2
           GROUP BY ${[...DIMENSIONS, 'tags_hash'].join(', ')}`,
          range,
        ),
        durations: new Map(timed.map(row => [int(row.bucket), int(row.requests)])),
      }
    },

    async writeDay({ at, mark }: Pending, sums: Sums): Promise<boolean> {
      return sql.transaction(async tx => {
        const now = await tx.get(`SELECT marks, pending FROM (${MARKS_BY_DAY}) r WHERE day = $1`, [at])
        if (int(now?.marks) !== mark || int(now?.pending) !== 0) return false
        await replace(tx, 'day', at, sums)
        await tx.run(
          'INSERT INTO usage_rolled_day (day, marks) VALUES ($1, $2) ON CONFLICT (day) DO UPDATE SET marks = $2',
          [at, mark],
        )
        return true
      })
    },
  }
}

const MARKS_BY_DAY = `SELECT hour / ${DAY_HOURS} AS day, SUM(mark) AS marks,
  SUM(CASE WHEN mark <> rolled_mark THEN 1 ELSE 0 END) AS pending FROM usage_rolled GROUP BY 1`

// Hours are claimed without a gap from the first row's on, so one without a claim is either before all of them, and then claimed
// by the next write to it, or still to come.
async function firstUnclaimed(tx: Tx): Promise<number | undefined> {
  const last = await tx.get('SELECT MAX(hour) AS hour FROM usage_rolled')
  if (last?.hour != null) return int(last.hour) + 1
  const first = await tx.get('SELECT created_at FROM usage ORDER BY request_id LIMIT 1')
  return first === undefined ? undefined : hourOf(int(first.created_at) - ID_SLACK_MS)
}

// From this hour on; ids differ slightly from the time of their rows.
async function firstWithRows(tx: Tx, hour: number): Promise<number> {
  const row = await tx.get('SELECT created_at FROM usage WHERE request_id >= $1 ORDER BY request_id LIMIT 1', [
    timePrefix(hour * HOUR_MS - ID_SLACK_MS),
  ])
  return row === undefined ? Number.MAX_SAFE_INTEGER : hourOf(int(row.created_at) - ID_SLACK_MS)
}

async function durationsOf(sql: Sql, where: string, params: readonly Param[]): Promise<Durations> {
  const durations: Durations = new Map()
  const timed = await sql.all(
    `SELECT ${ROW_MS} AS ms, COUNT(*) AS requests FROM usage ${where} AND ${TIMED} GROUP BY 1`,
    params,
  )
  for (const row of timed) addDuration(durations, bucketOf(int(row.ms)), int(row.requests))
  return durations
}

async function replace(tx: Tx, grain: 'hour' | 'day', at: number, { rows, durations }: Sums): Promise<void> {
  await tx.run(`DELETE FROM usage_${grain} WHERE ${grain} = $1`, [at])
  await tx.run(`DELETE FROM usage_${grain}_ms WHERE ${grain} = $1`, [at])
  const names = [...DIMENSIONS, 'tags_hash', ...SUM_COLUMNS]
  const values = rows.map(row => [at, ...names.map(name => row[name] ?? null)])
  await insertAll(tx, `usage_${grain} (${[grain, ...names].join(', ')})`, values)
  const timed = [...durations].map(([bucket, requests]) => [at, bucket, requests])
  await insertAll(tx, `usage_${grain}_ms (${grain}, bucket, requests)`, timed)
}

// In the primary key instead of the tags, and of the rare causes of failures that may have a cost.
function hashOf(tags: string, cause: string): string {
  const text = cause === '' || cause === 'provider' ? tags : `${cause} ${tags}`
  return text === '' ? '' : hash('sha256', text).slice(0, 32)
}
