// Recounts days: how many usage rows of each key count on each UTC day, compared with the key's own counter and with its daily
// limit. See docs/decisions/audit-and-transfer.md.
import { DAY_MS, dayOf } from '../../domain/key.ts'
import { REFUSALS, type RefusalCode } from '../../domain/refusal.ts'
import { DAY_HOURS } from '../../domain/usage.ts'
import type { AuditCounts, Pass, PassRow } from './counts.ts'
import type { HourBook } from './hours.ts'

export type DayBook = {
  // The rows that certainly count on the day of the key's counter, and those that may.
  readonly recounts: Map<string, Recount>
  readonly changes: Map<string, LimitChanges>
}
type Recount = { least: bigint; most: bigint }
// The last day on which an operator changed the daily limit, and the last on which one reset the counter.
type LimitChanges = { limitDay: number; resetDay: number }

export function newDayBook(): DayBook {
  return { recounts: new Map(), changes: new Map() }
}

// An operator may set a limit below what was already used; only unchanged limits can be checked. A missing or truncated detail may
// have named the limit.
const DETAIL_CHARS_MAX = 4000

export function limitChangesPass({ changes }: DayBook): Pass {
  return {
    statement: `SELECT subject, at, action, detail FROM event WHERE action IN ('key.update', 'key.reset_day')`,
    look({ subject, at, action, detail }) {
      const id = String(subject)
      const before = changes.get(id) ?? { limitDay: -1, resetDay: -1 }
      const day = dayOf(Number(at))
      const isReset = action !== 'key.update'
      const isOfDay = typeof detail !== 'string' || detail.length >= DETAIL_CHARS_MAX || /daily_?limit/i.test(detail)
      changes.set(id, {
        limitDay: !isReset && isOfDay ? Math.max(before.limitDay, day) : before.limitDay,
        resetDay: isReset ? Math.max(before.resetDay, day) : before.resetDay,
      })
    },
  }
}

// Refusals that count in the day are those that the reservation writes: not the ones at or before the limits, those for lack of
// credits, and unexpected errors. An unknown path does not count either, an unknown row or model does.
const UNCOUNTED = (Object.keys(REFUSALS) as RefusalCode[]).filter(code => {
  const { counts, row } = REFUSALS[code]
  return !counts || row !== 'reservation'
})
// A row with a price was reserved, whatever happened later.
const COUNTS = `price IS NOT NULL OR error_code IS NULL OR (error_code NOT IN (${UNCOUNTED.map(code => `'${code}'`)})
  AND (error_code <> 'not_found' OR endpoint <> 'unknown'))`

// A request counts on the day on which its row is committed, by the database's clock. A row that is written closed ends at that
// moment. An opened one has only the arrival time of its request, by the node's clock: its body and the reservation take time.
const CLOCK_SKEW_MS = 60_000
const COMMITTED_WITHIN_MS = 300_000
const dayAt = (opened: string) =>
  `(CASE WHEN price IS NULL THEN COALESCE(finished_at, created_at) ELSE ${opened} END) / ${DAY_MS}`
// As an expression, so that SQLite scans the table sequentially and not row by row in the order of an index.
const ROWS = `SELECT key_id || '' AS key_id, requests, ${dayAt(`created_at - ${CLOCK_SKEW_MS}`)} AS day,
    ${dayAt(`created_at + ${COMMITTED_WITHIN_MS}`)} AS late_day
  FROM usage WHERE ${COUNTS}`
// Grouped by the engine, which spills to disk where there are many keys and days.
const DAYS = `SELECT key_id, day, CAST(SUM(CASE WHEN day = late_day THEN requests ELSE 0 END) AS BIGINT) AS certain,
    CAST(SUM(CASE WHEN day = late_day THEN 0 ELSE requests END) AS BIGINT) AS edge
  FROM (${ROWS}) r GROUP BY key_id, day`

export function dayPass({ recounts, changes }: DayBook, now: number, counts: AuditCounts): Pass {
  return {
    statement: `SELECT d.key_id, d.day, d.certain, d.edge, k.daily_limit, b.day AS counted_day
      FROM (${DAYS}) d JOIN api_key k ON k.id = d.key_id JOIN key_balance_now b ON b.key_id = d.key_id`,
    look(row) {
      const id = String(row.key_id)
      const [day, countedDay] = [Number(row.day), Number(row.counted_day)]
      const [certain, edge] = [row.certain as bigint, row.edge as bigint]
      if (day === countedDay || day === countedDay - 1) {
        const recount = recounts.get(id) ?? { least: 0n, most: 0n }
        if (day === countedDay) recount.least += certain
        recount.most += day === countedDay ? certain + edge : edge
        recounts.set(id, recount)
      }
      counts.checked('I14')
      const limit = row.daily_limit as bigint | null
      if (limit !== null && certain > limit && day > lastChange(changes.get(id)))
        counts.broken('I14', `${id}: ${certain} rows on ${nameOf(day)}, daily limit ${limit}`)
      if (certain > 0n && day > countedDay && day <= dayOf(now))
        counts.broken('I14', `${id}: ${certain} rows on ${nameOf(day)}, counted last on ${nameOf(countedDay)}`)
    },
  }
}

// On the day of a reset a key gets more than its limit.
function lastChange(changes: LimitChanges | undefined): number {
  return changes === undefined ? -1 : Math.max(changes.limitDay, changes.resetDay)
}

// A row of the key pass: the counter against the recount, and against the limit.
export function checkDay(
  row: PassRow,
  { recounts, changes }: DayBook,
  hours: HourBook,
  now: number,
  counts: AuditCounts,
): void {
  const id = String(row.id)
  const day = Number(row.day)
  const count = row.day_count as bigint | null
  if (count === null) return
  const { limitDay, resetDay } = changes.get(id) ?? { limitDay: -1, resetDay: -1 }
  const limit = row.daily_limit as bigint | null
  if (limit !== null && count > limit && day > limitDay) counts.broken('I14', `${id}: ${count} in a day`)

  if (isDropped(day, hours)) return
  const { least, most } = recounts.get(id) ?? { least: 0n, most: 0n }
  const isLess = count < least && day > resetDay
  // A day in the future was counted by a clock that was ahead; rows of other days are in it once the clock is right again.
  const isMore = count > most && day <= dayOf(now)
  if (isLess || isMore) {
    const range = least === most ? `${least}` : `${least} to ${most}`
    counts.broken('I14', `${id}: counts ${count} on ${nameOf(day)}, its rows are ${range}`)
  }
}

// Whether rows that would have to be counted may have been deleted.
function isDropped(day: number, { hours }: HourBook): boolean {
  for (let hour = day * DAY_HOURS - 1; hour < (day + 1) * DAY_HOURS; hour++) {
    if ((hours.get(hour)?.dropped ?? 0) > 0) return true
  }
  return false
}

function nameOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}
