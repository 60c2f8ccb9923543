// Where a list of usage has to search: the sums of days and hours tell where rows of a filter are and of which keys, so that a
// filter with few matches does not read everything else. Searches run newest first; ids differ slightly from the time of their
// rows, so two of them may find the same row.
import { causeOf, ERROR_CAUSES, ERROR_OUTCOMES, FAILED } from '../../../domain/error-cause.ts'
import { DAY_MS } from '../../../domain/key.ts'
import { DAY_HOURS, HOUR_MS } from '../../../domain/usage.ts'
import type { RowSpan, UsageFilter, UsageSpan } from '../../contract/operator.ts'
import type { Conditions } from '../conditions.ts'
import { int, type Sql, text } from '../sql.ts'
import { ID_SLACK_MS, timeOfId } from '../time-order.ts'
import { BILLED, CAUSE, IS_ERROR } from './hour-columns.ts'
import { TOO_MANY, WITHOUT_TOTALS } from './hour-totals.ts'
import { type Part, partsOf, type Source, type Span, sourceOf } from './parts.ts'
import { addTags } from './tag-sums.ts'

// All rows of a span, or those of some keys each in its own span. Everything still to come is older than `from`.
export type Look = Span & { readonly keys?: readonly KeySpan[] }
export type KeySpan = { readonly keyId: string; readonly from: number; readonly to: number }

type HourKeys = { readonly hour: number; readonly keys: readonly string[]; readonly requests: number }

// Per search: each key's hour is a separate search in the index of keys.
export const KEY_SPANS_MAX = 48
// An hour with rows of more keys is read as a whole, and so is one that fills the page alone.
const HOUR_KEYS_MAX = 16

// As if `wanted` rows were to be found; sums tell how many each search will find.
export async function* reachOf(filter: UsageFilter, wanted: number, sql: Sql): AsyncGenerator<Look> {
  const parts = await partsOf({ from: await oldest(filter, sql), to: newest(filter) }, sql)
  for (const part of [...parts].reverse()) {
    if (part.of === 'row') yield part
    else if (part.of === 'hour') yield* looksIn(filter, part, wanted, sql)
    else for await (const days of daysWith(filter, part, wanted, sql)) yield* looksIn(filter, days, wanted, sql)
  }
}

// Sums remain of dropped rows: there is nothing to be found for them.
async function oldest({ from }: UsageFilter, sql: Sql): Promise<number | undefined> {
  const row = await sql.get('SELECT request_id FROM usage ORDER BY request_id LIMIT 1')
  const first = row === undefined ? undefined : timeOfId(text(row.request_id))
  return first === undefined || (from !== undefined && from > first) ? from : first - ID_SLACK_MS
}

function newest({ to, after }: UsageFilter): number | undefined {
  const before = after === undefined ? undefined : timeOfId(after)
  if (before === undefined) return to
  return to !== undefined && to < before ? to : before + ID_SLACK_MS
}

async function* looksIn(filter: UsageFilter, part: Part, wanted: number, sql: Sql): AsyncGenerator<Look> {
  let keys: KeySpan[] = []
  let requests = 0
  for await (const unit of hoursWith(filter, part, sql)) {
    const span = { from: unit.hour * HOUR_MS, to: (unit.hour + 1) * HOUR_MS }
    const isWhole = unit.keys.length > HOUR_KEYS_MAX || unit.requests >= wanted
    if (keys.length > 0 && (isWhole || requests >= wanted || keys.length + unit.keys.length > KEY_SPANS_MAX)) {
      yield { from: keys.at(-1)?.from, keys }
      keys = []
      requests = 0
    }
    if (isWhole) yield span
    else {
      keys.push(...unit.keys.map(keyId => ({ keyId, ...span })))
      requests += unit.requests
    }
  }
  if (keys.length > 0) yield { from: keys.at(-1)?.from, keys }
}

// A model that is not offered is not in the sums by its name. These are the hours in which it may have been requested.
const UNKNOWN = `SELECT hour FROM usage_hour_unknown WHERE model IN (?, '${TOO_MANY}')
  UNION ALL SELECT at AS hour FROM (${WITHOUT_TOTALS}) w`

const HOUR_KEYS_AT_ONCE = 500

// Hours that contain rows of the filter, newest first. In the order of the primary key, so that no more is read than requested.
async function* hoursWith(filter: UsageFilter, part: Part, sql: Sql): AsyncGenerator<HourKeys> {
  for (let to = part.to; ; ) {
    const source = sourceOf({ ...part, of: 'hour', to }, filter, sql)
    narrowSums(filter, source, `hour IN (SELECT hour FROM (${UNKNOWN}) u)`)
    const rows = await sql.all(
      `SELECT hour, key_id, SUM(requests) AS requests FROM ${source.table} ${source.asked.where()}
       GROUP BY hour, account_id, key_id ORDER BY hour DESC, account_id DESC, key_id DESC LIMIT ${HOUR_KEYS_AT_ONCE}`,
      source.asked.params,
    )
    const hours = Map.groupBy(rows, row => int(row.hour))
    const isAll = rows.length < HOUR_KEYS_AT_ONCE
    const cut = isAll || hours.size === 1 ? undefined : int(rows.at(-1)?.hour)
    for (const [hour, of] of hours) {
      if (hour === cut) continue
      const requests = of.reduce((sum, row) => sum + int(row.requests), 0)
      yield { hour, keys: of.map(row => text(row.key_id)), requests }
    }
    if (isAll) return
    to = (cut === undefined ? int(rows.at(-1)?.hour) : cut + 1) * HOUR_MS
  }
}

const DAYS_AT_ONCE = 48
// Gaps of up to this many days without matches are searched as well.
const GAP_DAYS_MAX = 2

// Runs of days that contain rows of the filter, newest first, each as long as needed to find the wanted number.
async function* daysWith(filter: UsageFilter, part: Part, wanted: number, sql: Sql): AsyncGenerator<Part> {
  for (let to = part.to; ; ) {
    const source = sourceOf({ ...part, to }, filter, sql)
    narrowSums(filter, source, `day IN (SELECT hour / ${DAY_HOURS} FROM (${UNKNOWN}) u)`)
    const rows = await sql.all(
      `SELECT day, SUM(requests) AS requests FROM ${source.table} ${source.asked.where()}
       GROUP BY 1 ORDER BY 1 DESC LIMIT ${DAYS_AT_ONCE}`,
      source.asked.params,
    )
    yield* runsOf(
      rows.map(row => ({ day: int(row.day), requests: int(row.requests) })),
      wanted,
    )
    if (rows.length < DAYS_AT_ONCE) return
    to = int(rows.at(-1)?.day) * DAY_MS
  }
}

function* runsOf(
  days: readonly { readonly day: number; readonly requests: number }[],
  wanted: number,
): Generator<Part> {
  for (let i = 0; i < days.length; ) {
    const last = days[i]?.day ?? 0
    let first = last
    for (let found = 0; i < days.length && found < wanted; i++) {
      const { day, requests } = days[i] ?? { day: 0, requests: 0 }
      if (first - day > GAP_DAYS_MAX + 1) break
      first = day
      found += requests
    }
    yield { of: 'hour', from: first * DAY_MS, to: (last + 1) * DAY_MS }
  }
}

function narrowSums(filter: UsageFilter, { asked }: Source, unit: string): void {
  if (filter.errorCodes !== undefined) asked.add(whereErrors(filter.errorCodes))
  narrow(asked, filter, {
    model: `(model = ? OR (model = '' AND outcome = 'refused' AND ${unit}))`,
    provider: 'provider = ?',
    cause: `${filter.cause}_errors > 0`,
    tags: 'perhaps',
  })
}

// Sums in which a request may have failed with one of these codes: by the causes that the codes can have.
function whereErrors(codes: readonly string[]): string {
  const causes = new Set(codes.flatMap(code => ERROR_OUTCOMES.map(outcome => causeOf(outcome, code) ?? 'other')))
  const isKnown = ERROR_CAUSES.filter(cause => causes.has(cause)).map(cause => `${cause}_errors > 0`)
  return causes.has('other') ? IS_ERROR : `(${isKnown.join(' OR ')})`
}

// Of rows: sums do not know the codes.
export function addCodes(asked: Conditions, codes: readonly string[] | undefined): void {
  if (codes !== undefined) asked.add(`error_code IN (${codes.map(() => '?').join(', ')})`, ...codes)
}

// The filter of a report, the same for rows and for sums: billed endpoints, unless the filter names another.

// The conditions on model and provider, each `?` standing for the requested value, and on the cause of an error; and whether
// entries of sums that may have the tags are included.
type Asking = {
  readonly model: string
  readonly provider: string
  readonly cause: string
  readonly tags: 'certainly' | 'perhaps'
}

export function narrow(asked: Conditions, filter: UsageSpan, { model, provider, cause, tags }: Asking): void {
  asked.add('key_id = ?', filter.keyId)
  asked.add('account_id = ?', filter.accountId)
  asked.add(model, ...Array<string | undefined>(model.split('?').length - 1).fill(filter.model))
  asked.add(provider, filter.provider)
  if (filter.outcome === FAILED) asked.add(IS_ERROR)
  else asked.add('outcome = ?', filter.outcome)
  if (filter.cause !== undefined) asked.add(cause)
  addTags(asked, filter.tags, tags)
  if (filter.endpoint === undefined) asked.add(BILLED)
  else if (filter.endpoint !== 'all') asked.add('endpoint = ?', filter.endpoint)
}

// From `from` on and before `to`.
export function narrowRows(asked: Conditions, filter: RowSpan): void {
  addCodes(asked, filter.errorCodes)
  asked.add('created_at >= ?', filter.from)
  asked.add('created_at < ?', filter.to)
  narrow(asked, filter, {
    model: '(model_served = ? OR (model_served IS NULL AND model_requested = ?))',
    provider: 'provider = ?',
    cause: `${CAUSE} = '${filter.cause}'`,
    tags: 'certainly',
  })
}
