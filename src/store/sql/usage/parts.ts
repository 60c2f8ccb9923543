// Which part of a span is read from where: whole days and whole hours from their sums, where these are current, and the rest from
// the rows. Together they are exactly the rows of that span, including dropped ones.
import { DAY_HOURS, HOUR_MS, hourOf, STEP_MS } from '../../../domain/usage.ts'
import type { ZoneOffsets } from '../../../domain/zone-offsets.ts'
import { type Conditions, conditions } from '../conditions.ts'
import { int, type Tx } from '../sql.ts'
import { addTimeRange, type IdRange, idRange } from '../time-order.ts'
import { type Dimension, ROW_DIMENSIONS, ROW_SUMMANDS, type SUM_COLUMNS } from './hour-columns.ts'
import { WITHOUT_TOTALS } from './hour-totals.ts'

export type Span = { readonly from?: number | undefined; readonly to?: number | undefined }

// In milliseconds; for rows either end may be open. A total is an hour's, whatever its dimensions.
export type Part = Span & { readonly of: 'day' | 'hour' | 'total' | 'row' }

// Days of a zone are given by its offsets.
export type Grain = 'minute' | 'hour' | 'day' | ZoneOffsets

type SumName = (typeof SUM_COLUMNS)[number]

// How a part is read: its table, its dimensions and summands under the names of the sums, and its range as conditions.
export type Source = {
  readonly table: string
  readonly dimension: (name: Dimension) => string
  readonly summand: (name: SumName) => string
  // The minute, hour or day as a number since 1970. Only rows have minutes, and days of UTC have no other.
  readonly unit: (grain: Grain) => string
  readonly asked: Conditions
  // Of rows: the range of their ids.
  readonly ids?: IdRange
}

// Of an hour whose rows were dropped only the whole is known: a span that cuts one is extended to its edge, so that no request is
// silently left out.
export async function widened<S extends Span>(span: S, sql: Tx): Promise<S> {
  const { from, to } = span
  if (from !== undefined && to !== undefined && from >= to) return span
  const cut = [from, to].filter(edge => edge !== undefined && edge % HOUR_MS !== 0).map(edge => hourOf(edge ?? 0))
  if (cut.length === 0) return span
  const rows = await sql.all('SELECT hour FROM usage_rolled WHERE dropped <> 0 AND hour IN ($1, $2)', [
    cut[0] ?? 0,
    cut.at(-1) ?? 0,
  ])
  const isDropped = (edge: number) => rows.some(row => int(row.hour) === hourOf(edge))
  return {
    ...span,
    ...(from !== undefined && isDropped(from) ? { from: hourOf(from) * HOUR_MS } : {}),
    ...(to !== undefined && to % HOUR_MS !== 0 && isDropped(to) ? { to: (hourOf(to) + 1) * HOUR_MS } : {}),
  }
}

// Oldest first.
export async function partsOf(span: Span, sql: Tx): Promise<readonly Part[]> {
  const claimed = await sql.get('SELECT MIN(hour) AS first, MAX(hour) AS last FROM usage_rolled')
  if (claimed?.first == null) return [{ of: 'row', ...span }]
  const first = Math.max(
    span.from === undefined ? int(claimed.first) : Math.ceil(span.from / HOUR_MS),
    int(claimed.first),
  )
  const end = Math.min(span.to === undefined ? Number.MAX_SAFE_INTEGER : hourOf(span.to), int(claimed.last) + 1)
  if (first >= end) return [{ of: 'row', ...span }]
  const { untrue, days } = await whatIsTrue(first, end, sql)
  return joined([
    { of: 'row', from: span.from, to: first * HOUR_MS },
    ...hourParts(first, end, untrue, days),
    { of: 'row', from: end * HOUR_MS, to: span.to },
  ])
}

async function whatIsTrue(first: number, end: number, sql: Tx) {
  const untrue = await sql.all(
    'SELECT hour, dropped FROM usage_rolled WHERE mark <> rolled_mark AND hour >= $1 AND hour < $2',
    [first, end],
  )
  const days = await sql.all(
    `SELECT d.day FROM usage_rolled_day d WHERE d.day >= $1 AND d.day < $2 AND d.marks =
       (SELECT SUM(mark) FROM usage_rolled r WHERE r.hour >= d.day * ${DAY_HOURS} AND r.hour < (d.day + 1) * ${DAY_HOURS})`,
    [Math.ceil(first / DAY_HOURS), Math.floor(end / DAY_HOURS)],
  )
  return {
    // For a dropped hour the sums still cover the deleted rows, and later rows count in addition.
    untrue: new Map(untrue.map(row => [int(row.hour), int(row.dropped) !== 0])),
    days: new Set(days.map(row => int(row.day))),
  }
}

function hourParts(
  first: number,
  end: number,
  untrue: ReadonlyMap<number, boolean>,
  days: ReadonlySet<number>,
): Part[] {
  const parts: Part[] = []
  for (let hour = first; hour < end; ) {
    const isDay = hour % DAY_HOURS === 0 && hour + DAY_HOURS <= end && days.has(hour / DAY_HOURS)
    const next = hour + (isDay ? DAY_HOURS : 1)
    const span = { from: hour * HOUR_MS, to: next * HOUR_MS }
    const wasDropped = untrue.get(hour)
    if (isDay) parts.push({ of: 'day', ...span })
    else if (wasDropped !== false) parts.push({ of: 'hour', ...span })
    if (!isDay && wasDropped !== undefined) parts.push({ of: 'row', ...span })
    hour = next
  }
  return parts
}

function joined(parts: readonly Part[]): readonly Part[] {
  const result: Part[] = []
  for (const part of parts) {
    if (part.from !== undefined && part.to !== undefined && part.from >= part.to) continue
    const last = result.at(-1)
    if (last?.of === part.of && last.to === part.from) result[result.length - 1] = { ...last, to: part.to }
    else result.push(part)
  }
  return result
}

export function sourceOf(part: Part, of: Owner, sql: Tx): Source {
  const asked = conditions()
  if (part.of === 'row') {
    addTimeRange(asked, part.from, part.to)
    return {
      table: 'usage',
      // As an expression: a column would tempt SQLite to scan all rows in the order of the index that begins with it.
      dimension: name => `(${ROW_DIMENSIONS[name]} || '')`,
      summand: name => ROW_SUMMANDS[name],
      unit: grain => (typeof grain === 'string' ? `created_at / ${STEP_MS[grain]}` : dayOfZone('created_at', 1, grain)),
      asked,
      ids: idRange(part.from, part.to),
    }
  }
  const [column, size] = part.of === 'day' ? ['day', DAY_HOURS * HOUR_MS] : ['hour', HOUR_MS]
  addUnits(asked, column, { from: inUnits(part.from, size), to: inUnits(part.to, size) }, of, sql)
  return {
    table: part.of === 'total' ? 'usage_hour_total' : `usage_${part.of}`,
    dimension: name => name,
    summand: name => name,
    unit: grain =>
      typeof grain === 'string'
        ? column === grain
          ? grain
          : `hour / ${DAY_HOURS}`
        : dayOfZone('hour', HOUR_MS, grain),
    asked,
  }
}

// Whose sums are read; neither: everybody's.
type Owner = { readonly accountId?: string | undefined; readonly keyId?: string | undefined }

const LOOKUPS_MAX = 10_000

// Sums are ordered by time, then by account. Those of one account or key are looked up unit by unit: a range would read those of
// all others too.
function addUnits(asked: Conditions, column: string, { from, to }: Span, { accountId, keyId }: Owner, sql: Tx): void {
  const isOwned = accountId !== undefined || keyId !== undefined
  if (!isOwned || from === undefined || to === undefined || to - from > LOOKUPS_MAX) {
    asked.add(`${column} >= ?`, from)
    asked.add(`${column} < ?`, to)
    return
  }
  const first = Math.ceil(from)
  const units = Array.from({ length: Math.max(Math.ceil(to) - first, 0) }, (_, i) => [first + i])
  const items = sql.jsonItems(asked.param(JSON.stringify(units)))
  asked.add(`${column} IN (SELECT CAST(item.value ->> 0 AS BIGINT) FROM ${items})`)
  if (accountId === undefined) asked.add('account_id = (SELECT account_id FROM api_key WHERE id = ?)', keyId)
}

function inUnits(ms: number | undefined, size: number): number | undefined {
  return ms === undefined ? undefined : ms / size
}

// The day in a zone of a time, which is a number of units of that length.
function dayOfZone(column: string, unitMs: number, offsets: ZoneOffsets): string {
  const cases = offsets
    .slice(1)
    .map(({ from }, i) => `WHEN ${column} < ${from / unitMs} THEN ${(offsets[i]?.offsetMs ?? 0) / unitMs}`)
  const last = (offsets.at(-1)?.offsetMs ?? 0) / unitMs
  const offset = cases.length === 0 ? String(last) : `CASE ${cases.join(' ')} ELSE ${last} END`
  return `(${column} + (${offset})) / ${(DAY_HOURS * HOUR_MS) / unitMs}`
}

// For sums by the hour, which days do not have.
export function inHours(parts: readonly Part[]): readonly Part[] {
  return joined(parts.map(part => (part.of === 'day' ? { ...part, of: 'hour' as const } : part)))
}

// For sums by time alone: fewer rows than even days have. The hour's sums, while its totals are missing.
export async function inTotals(parts: readonly Part[], sql: Tx): Promise<readonly Part[]> {
  const ends = parts
    .filter(part => part.of !== 'row')
    .map(({ from = 0, to = 0 }) => [hourOf(from), hourOf(to)] as const)
  const [first, end] = [ends[0]?.[0] ?? 0, ends.at(-1)?.[1] ?? 0]
  const missing = await sql.get(`${WITHOUT_TOTALS} AND r.hour >= $1 AND r.hour < $2 LIMIT 1`, [first, end])
  if (missing !== undefined) return parts
  return joined(parts.map(part => (part.of === 'row' ? part : { ...part, of: 'total' as const })))
}
