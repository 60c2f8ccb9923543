// Checks the sums of hours and days: they must match the rows that exist, and stand for the rows of dropped hours.
import type { Nano } from '../../domain/credits.ts'
import { causeOf, ERROR_CAUSES } from '../../domain/error-cause.ts'
import { bucketOf, DAY_HOURS, HOUR_MS, hourOf, isBilled } from '../../domain/usage.ts'
import type { Sql } from '../sql/sql.ts'
import { DIMENSIONS, SUM_COLUMNS } from '../sql/usage/hour-columns.ts'
import { NAMES_MAX, TOO_MANY } from '../sql/usage/hour-totals.ts'
import { type AuditCounts, accountSums, keySums, type Pass, type PassRow, type Sums } from './counts.ts'
import { type SharedTags, sharedTagsPasses, tagsInSums } from './shared-tags.ts'
import { findInWindows, type WindowBook } from './windows.ts'

// The state of each hour: whether its sums must be current, how far its rows are dropped, and the recomputed sums.
export type HourBook = {
  readonly hours: Map<number, Hour>
  readonly days: Map<number, { readonly marks: Nano; readonly kept: Totals }>
  readonly sharedTags: SharedTags
  lastHour: number
}
type Hour = {
  readonly mark: Nano
  readonly rolledMark: Nano
  readonly isTrue: boolean
  readonly dropped: number
  readonly kept: Totals
  readonly found: Totals
  readonly totals: HourTotals
}
export function newHourBook(): HourBook {
  return { hours: new Map(), days: new Map(), sharedTags: new Map(), lastHour: -1 }
}

export function hourPasses(
  book: HourBook,
  sums: Sums,
  windows: WindowBook,
  sql: Pick<Sql, 'jsonPairs'>,
): readonly Pass[] {
  return [
    {
      statement: 'SELECT hour, mark, rolled_mark, dropped FROM usage_rolled',
      look(row) {
        const isTrue = row.mark === row.rolled_mark
        const marks = { mark: row.mark as Nano, rolledMark: row.rolled_mark as Nano, isTrue }
        const known = { ...marks, dropped: Number(row.dropped), kept: [], found: [], totals: newHourTotals() }
        book.hours.set(Number(row.hour), known)
        book.lastHour = Math.max(book.lastHour, Number(row.hour))
      },
    },
    {
      statement: `SELECT hour, ${[...DIMENSIONS, ...SUM_COLUMNS].join(', ')} FROM usage_hour`,
      look(row) {
        const hour = book.hours.get(Number(row.hour))
        if (hour === undefined) return
        addSums(hour.kept, row, DIMENSIONS)
        addSums(hour.totals.wanted, row, TOTALLED_BY)
        if (hour.dropped > 0) standFor(row, sums, windows)
      },
    },
    {
      statement: 'SELECT hour, bucket, requests FROM usage_hour_ms',
      look: row => addDurations(book.hours.get(Number(row.hour))?.kept, row),
    },
    {
      statement: 'SELECT day, marks FROM usage_rolled_day',
      look: row => void book.days.set(Number(row.day), { marks: row.marks as Nano, kept: [] }),
    },
    {
      statement: `SELECT day, ${[...DIMENSIONS, ...SUM_COLUMNS].join(', ')} FROM usage_day`,
      look(row) {
        const day = book.days.get(Number(row.day))
        if (day !== undefined) addSums(day.kept, row, DIMENSIONS)
      },
    },
    {
      statement: 'SELECT day, bucket, requests FROM usage_day_ms',
      look: row => addDurations(book.days.get(Number(row.day))?.kept, row),
    },
    ...totalsPasses(hour => book.hours.get(hour)?.totals),
    ...sharedTagsPasses(book.sharedTags, sql),
  ]
}

// Rows that are being deleted are already in their hour's sums.
export function isInSums(book: HourBook, createdAt: number): boolean {
  return book.hours.get(hourOf(createdAt))?.dropped === 1
}

// Whether a missing row may have been in a dropped hour: an id is created slightly before or after it.
export function wasDropped(book: HourBook, idTime: number | undefined, slackMs: number): boolean {
  if (idTime === undefined) return false
  return [idTime - slackMs, idTime, idTime + slackMs].some(at => (book.hours.get(hourOf(at))?.dropped ?? 0) > 0)
}

// Adds a row like the roll-up does, implemented a second time.
export function findInHour(book: HourBook, row: PassRow, counts: AuditCounts): void {
  const at = hourOf(Number(row.created_at))
  const hour = book.hours.get(at)
  if (hour === undefined) {
    // A write to an hour before the last claimed one claims it too.
    if (at < book.lastHour) counts.broken('sums', `hour ${nameOf(at)}: has rows, but no sums`)
    return
  }
  const [cost, hold] = [row.cost as Nano, row.hold as Nano]
  const unknown = row.error_code === 'model_not_found'
  const isUncosted = row.provider !== null && row.upstream_cost === null
  if (unknown) findName(hour.totals, row.model_requested)
  const found = {
    ...row,
    model: unknown ? '' : (row.model_served ?? row.model_requested ?? ''),
    provider: row.provider ?? '',
    outcome: row.outcome ?? '',
    tags: tagsInSums(book.sharedTags, row, at),
    upstream_cost: row.upstream_cost ?? 0n,
    overshoot: cost > hold ? cost - hold : 0n,
    requests_without_upstream_cost: isUncosted ? (row.requests ?? 1n) : 0n,
    cost_without_upstream_cost: isUncosted ? cost : 0n,
    ...errorsOf(row),
    failovers: attemptsOf(row) > 1 ? (row.requests ?? 1n) : 0n,
  }
  addSums(hour.found, found, DIMENSIONS)
  const took = Number(row.finished_at) - Number(row.created_at)
  const isTimed = isBilled(row.endpoint) && row.outcome === 'completed' && took >= 0
  if (isTimed) addDurations(hour.found, { bucket: BigInt(bucketOf(took)), requests: 1n })
}

function attemptsOf({ attempts }: PassRow): number {
  return typeof attempts === 'string' ? (JSON.parse(attempts) as readonly unknown[]).length : 0
}

function errorsOf(row: PassRow): Record<string, Nano> {
  const cause = causeOf(row.outcome, row.error_code)
  return Object.fromEntries(ERROR_CAUSES.map(each => [`${each}_errors`, each === cause ? (row.requests as Nano) : 0n]))
}

export function checkHours(book: HourBook, counts: AuditCounts): void {
  for (const [at, { isTrue, rolledMark, dropped, totals }] of book.hours) {
    if (totals.mark !== rolledMark || (!isTrue && dropped === 0)) continue
    checkTotals(nameOf(at), totals, dropped > 0 ? 'dropped' : 'there', counts)
  }
  for (const [at, { isTrue, dropped, kept, found }] of book.hours) {
    if (!isTrue || dropped > 0) continue
    counts.checked('sums')
    if (!isSame(kept, found))
      counts.broken('sums', `hour ${nameOf(at)}: ${wordsOf(kept)}, its rows have ${wordsOf(found)}`)
  }
  for (const [at, { marks, kept }] of book.days) {
    const hours = Array.from({ length: DAY_HOURS }, (_, i) => book.hours.get(at * DAY_HOURS + i)).filter(
      hour => hour !== undefined,
    )
    const marked = hours.reduce((sum, { mark }) => sum + mark, 0n)
    // Versions only grow: a lower sum than the day was made with means that an hour is gone.
    if (marked < marks) counts.broken('sums', `day ${nameOf(at * DAY_HOURS).slice(0, 10)}: an hour is missing`)
    if (marked !== marks) continue
    const whole: Totals = []
    for (const hour of hours) addTo(whole, hour.kept)
    counts.checked('sums')
    if (!isSame(kept, whole)) {
      counts.broken(
        'sums',
        `day ${nameOf(at * DAY_HOURS).slice(0, 10)}: ${wordsOf(kept)}, its hours have ${wordsOf(whole)}`,
      )
    }
  }
}

function standFor(row: PassRow, sums: Sums, windows: WindowBook): void {
  const cost = row.cost as Nano
  findInWindows(windows, row, { cost, held: 0n, overshoot: row.overshoot as Nano })
  accountSums(sums, String(row.account_id)).cost += cost
  const key = keySums(sums, String(row.key_id))
  key.cost += cost
  key.overshoot += row.overshoot as Nano
}

function addDurations(totals: Totals | undefined, row: Pick<PassRow, string>): void {
  if (totals === undefined) return
  const [bucket, requests] = [BigInt(row.bucket ?? 0), BigInt(row.requests ?? 0)]
  const none = SUM_COLUMNS.map(() => 0n)
  addTo(totals, [...none, ...none, requests, requests * (bucket + 1n) ** 2n])
}

function wordsOf(totals: Totals): string {
  return `${totals[0] ?? 0n} requests that cost ${totals[SUM_COLUMNS.indexOf('cost')] ?? 0n}`
}

function nameOf(hour: number): string {
  return new Date(hour * HOUR_MS).toISOString().slice(0, 13)
}

// Checks the totals and names that accompany the sums of an hour: totals must match its sums, and unknown model names its rows.
type HourTotals = {
  mark: Nano | undefined
  readonly wanted: Totals
  readonly kept: Totals
  readonly keptNames: Set<string>
  // No more than needed to know that there are too many.
  readonly foundNames: Set<string>
}

const TOTALLED_BY: readonly string[] = ['endpoint', 'outcome']

function newHourTotals(): HourTotals {
  return { mark: undefined, wanted: [], kept: [], keptNames: new Set(), foundNames: new Set() }
}

function totalsPasses(ofHour: (hour: number) => HourTotals | undefined): readonly Pass[] {
  const totalsOf = (hour: unknown) => ofHour(Number(hour))
  return [
    {
      statement: 'SELECT hour, mark FROM usage_rolled_total',
      look(row) {
        const totals = totalsOf(row.hour)
        if (totals !== undefined) totals.mark = row.mark as Nano
      },
    },
    {
      statement: `SELECT hour, ${[...TOTALLED_BY, ...SUM_COLUMNS].join(', ')} FROM usage_hour_total`,
      look(row) {
        const totals = totalsOf(row.hour)
        if (totals !== undefined) addSums(totals.kept, row, TOTALLED_BY)
      },
    },
    {
      statement: 'SELECT hour, model FROM usage_hour_unknown',
      look: row => void totalsOf(row.hour)?.keptNames.add(String(row.model)),
    },
  ]
}

function findName({ foundNames }: HourTotals, name: unknown): void {
  if (name !== null && name !== '' && foundNames.size <= NAMES_MAX) foundNames.add(String(name))
}

function checkTotals(name: string, totals: HourTotals, rows: 'there' | 'dropped', counts: AuditCounts): void {
  counts.checked('sums')
  if (!isSame(totals.kept, totals.wanted)) counts.broken('sums', `hour ${name}: its totals differ from its sums`)
  if (rows === 'dropped') return
  const wanted = totals.foundNames.size > NAMES_MAX ? new Set([TOO_MANY]) : totals.foundNames
  if (wanted.symmetricDifference(totals.keptNames).size > 0) {
    counts.broken('sums', `hour ${name}: unknown models differ from its rows`)
  }
}

// Sums of everything that is rolled up, each also weighted by its dimensions: a fingerprint that is independent of order.
type Totals = bigint[]

function addSums(totals: Totals, row: PassRow, by: readonly string[]): void {
  const weight = weightOf(by.map(name => row[name]).join('\n'))
  const values = SUM_COLUMNS.map(name => BigInt(row[name] ?? 0))
  addTo(totals, [...values, ...values.map(value => value * weight), 0n, 0n])
}

function addTo(totals: Totals, more: readonly bigint[]): void {
  more.forEach((value, i) => {
    totals[i] = (totals[i] ?? 0n) + value
  })
}

function isSame(a: Totals, b: Totals): boolean {
  const length = Math.max(a.length, b.length)
  return Array.from({ length }, (_, i) => (a[i] ?? 0n) === (b[i] ?? 0n)).every(Boolean)
}

// FNV-1a, 32 bits: enough to detect sums under the wrong dimensions.
function weightOf(text: string): bigint {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return BigInt(hash >>> 0)
}
