// The ledger of an account, newest first: its entries, and what its requests cost, summed by day, each with the balance after it.
// Requests are not entered one by one: their usage rows are the charges.
import type { Nano } from '../../domain/credits.ts'
import { DAY_MS, dayOf } from '../../domain/key.ts'
import { HOUR_MS } from '../../domain/usage.ts'
import type { LedgerEntry, LedgerFilter, LedgerKind, LedgerLine, Paged } from '../contract/operator.ts'
import { conditions } from './conditions.ts'
import { big, int, type Row, type Sql, text, textOrNull } from './sql.ts'
import { endOfIds, ID_SLACK_MS, timeOfId, timePrefix } from './time-order.ts'
import { partsOf } from './usage/parts.ts'
import { GROUPS_MAX, series } from './usage/sums.ts'

export const ENTRY = 'id, account_id, kind, amount, request_id, note, created_at'

// Read by one statement where balances between the entries of a page are added up.
const ADDED_AT_ONCE_MAX = 5_000
// Days whose charges are read at once: fewer than the groups of a series.
const DAYS_AT_ONCE = 900

// A page with the balance of the one before reads only its own days. Without it, every day up to the oldest is added up.
export async function listLedger(accountId: string, filter: LedgerFilter, sql: Sql): Promise<Paged<LedgerLine>> {
  const { limit, kind, balanceBefore } = filter
  const entries = kind === 'charge' ? [] : await entriesOf(accountId, filter, limit + 1, sql)
  const charges: LedgerEntry[] = []
  let all = entries
  for await (const { from, found } of chargesOf(accountId, filter.after, sql)) {
    charges.push(...found)
    all = [...entries, ...charges.filter(charge => isAsked(charge, filter))].sort(newestFirst)
    const oldest = all[limit]
    if (balanceBefore !== undefined && oldest !== undefined && from <= startOfDay(oldest)) break
  }
  return { data: await withBalances(all.slice(0, limit), charges, filter, sql), hasMore: all.length > limit }
}

function newestFirst(a: LedgerEntry, b: LedgerEntry): number {
  return a.id > b.id ? -1 : 1
}

function startOfDay({ id }: Pick<LedgerEntry, 'id'>): number {
  return dayOf(timeOfId(id) ?? 0) * DAY_MS
}

async function entriesOf(accountId: string, { after, kind, from, to }: LedgerFilter, max: number, sql: Sql) {
  const asked = conditions()
  asked.add('account_id = ?', accountId)
  asked.add('id < ?', after)
  asked.add("kind <> 'charge'")
  asked.add('kind = ?', kind)
  asked.add('created_at >= ?', from)
  asked.add('created_at < ?', to)
  const rows = await sql.all(
    `SELECT ${ENTRY} FROM ledger ${asked.where()} ORDER BY id DESC LIMIT ${asked.param(max)}`,
    asked.params,
  )
  return rows.map(readEntry)
}

function isAsked({ id, kind, createdAt }: LedgerEntry, { after, kind: asked, from, to }: LedgerFilter): boolean {
  if (asked !== undefined && asked !== kind) return false
  if (from !== undefined && createdAt < from) return false
  return (to === undefined || createdAt < to) && (after === undefined || id < after)
}

// Newest first, some days at a time, each time from `from` on; only days that ended before the entry `after`. A day's requests count
// in full on the day on which they began, also when they end, or are corrected, later.
async function* chargesOf(accountId: string, after: string | undefined, sql: Sql) {
  const first = await firstDay(sql)
  let end = after === undefined ? undefined : startOfDay({ id: after })
  for (;;) {
    const asked = (end ?? (dayOf(sql.now()) + 1) * DAY_MS) - DAYS_AT_ONCE * DAY_MS
    // With a day before and after: a correction near midnight belongs to the day that has a charge.
    const span = { accountId, from: asked - DAY_MS, to: end && end + DAY_MS, endpoint: 'all' as const }
    const sums = await series(span, await partsOf(span, sql), 'day', sql)
    const from = startOf(sums) ?? asked
    const corrected = sums.size === 0 ? new Map<number, Nano>() : await correctionsOf(accountId, from, end, sums, sql)
    const found = [...sums]
      .map(([day, sums]) => ({ day: Number(day), sums }))
      .filter(({ day }) => day >= dayOf(from) && (end === undefined || day < dayOf(end)))
      .sort((a, b) => b.day - a.day)
      .map(({ day, sums: { cost, ...counts } }) => chargeOf(accountId, day, cost + (corrected.get(day) ?? 0n), counts))
    yield { from, found: found.filter(({ amount }) => amount !== 0n) }
    if (first === undefined || from <= first) return
    end = from
  }
}

// Where a series has more days than it returns in full, as after a clock that was ahead: the first day of which the one before it is
// complete too.
function startOf(sums: ReadonlyMap<string, unknown>): number | undefined {
  if (sums.size <= GROUPS_MAX) return undefined
  const days = [...sums.keys()].map(Number).sort((a, b) => b - a)
  return ((days[GROUPS_MAX - 1] ?? 0) + 1) * DAY_MS
}

// When the first request of any account was made.
async function firstDay(sql: Sql): Promise<number | undefined> {
  const rolled = await sql.get('SELECT MIN(hour) AS hour FROM usage_rolled')
  const row = await sql.get('SELECT created_at FROM usage ORDER BY request_id LIMIT 1')
  const times = [
    ...(rolled?.hour == null ? [] : [int(rolled.hour) * HOUR_MS]),
    ...(row === undefined ? [] : [int(row.created_at) - ID_SLACK_MS]),
  ]
  return times.length === 0 ? undefined : Math.min(...times)
}

// The balance after an entry is the sum of it and of all older ones, whether the filter shows them or not.
async function withBalances(
  page: readonly LedgerEntry[],
  charges: readonly LedgerEntry[],
  { after, balanceBefore }: LedgerFilter,
  sql: Sql,
): Promise<readonly LedgerLine[]> {
  const [newest, oldest] = [page[0], page.at(-1)]
  if (newest === undefined || oldest === undefined) return []
  const newer = charges.filter(({ id }) => id > oldest.id)
  let balance =
    balanceBefore === undefined || after === undefined
      ? (await sumOf(oldest.accountId, { upTo: oldest.id }, sql)) + total(charges.filter(({ id }) => id <= oldest.id))
      : balanceBefore - (await sumOf(oldest.accountId, { after: oldest.id, before: after }, sql)) - total(newer)
  const others = newer.toReversed().values()
  const entries = entriesBetween(oldest, newest, sql)
  let charge = others.next().value
  let entry = (await entries.next()).value
  const lines: LedgerLine[] = []
  for (const each of page.toReversed()) {
    for (; charge !== undefined && charge.id <= each.id; charge = others.next().value) balance += charge.amount
    for (; entry !== undefined && entry.id <= each.id; entry = (await entries.next()).value) balance += entry.amount
    lines.push({ ...each, balance })
  }
  return lines.reverse()
}

function total(entries: readonly LedgerEntry[]): Nano {
  return entries.reduce((sum, { amount }) => sum + amount, 0n)
}

type Between = { readonly upTo?: string; readonly after?: string; readonly before?: string }

// Of entries, without charges.
async function sumOf(accountId: string, { upTo, after, before }: Between, sql: Sql): Promise<Nano> {
  const asked = conditions()
  asked.add('account_id = ?', accountId)
  asked.add("kind <> 'charge'")
  asked.add('id <= ?', upTo)
  asked.add('id > ?', after)
  asked.add('id < ?', before)
  const row = await sql.get(`SELECT COALESCE(SUM(amount), 0) AS amount FROM ledger ${asked.where()}`, asked.params)
  return big(row?.amount)
}

// Oldest first, without the oldest one itself.
async function* entriesBetween(oldest: LedgerEntry, newest: LedgerEntry, sql: Sql) {
  for (let after = oldest.id; ; ) {
    const rows = await sql.all(
      `SELECT id, amount FROM ledger WHERE account_id = $1 AND kind <> 'charge' AND id > $2 AND id <= $3
       ORDER BY id LIMIT ${ADDED_AT_ONCE_MAX}`,
      [oldest.accountId, after, newest.id],
    )
    for (const row of rows) yield { id: text(row.id), amount: big(row.amount) }
    if (rows.length < ADDED_AT_ONCE_MAX) return
    after = text(rows.at(-1)?.id)
  }
}

// A correction is an entry of its own, under the id of its request, and part of the cost of its row.
async function correctionsOf(
  accountId: string,
  from: number,
  to: number | undefined,
  charged: ReadonlyMap<string, unknown>,
  sql: Sql,
): Promise<ReadonlyMap<number, Nano>> {
  const asked = conditions()
  asked.add('l.account_id = ?', accountId)
  asked.add("l.kind <> 'charge' AND l.kind = 'correction'")
  asked.add('l.id >= ?', timePrefix(from - ID_SLACK_MS))
  asked.add('l.id < ?', to === undefined ? undefined : endOfIds(to))
  const rows = await sql.all(
    `SELECT l.request_id, l.amount, u.created_at FROM ledger l LEFT JOIN usage u ON u.request_id = l.request_id
     ${asked.where()}`,
    asked.params,
  )
  const days = new Map<number, Nano>()
  for (const row of rows) {
    const day = row.created_at === null ? dayOfDropped(text(row.request_id), charged) : dayOf(int(row.created_at))
    days.set(day, (days.get(day) ?? 0n) + big(row.amount))
  }
  return days
}

// Ids differ slightly from the time of their rows, so a request at midnight may have been charged on the day before or after.
function dayOfDropped(requestId: string, charged: ReadonlyMap<string, unknown>): number {
  const at = timeOfId(requestId) ?? 0
  const days = [at, at - ID_SLACK_MS, at + ID_SLACK_MS].map(dayOf)
  return days.find(day => charged.has(String(day))) ?? dayOf(at)
}

type Counts = { readonly requests: number; readonly errors: number }

// Its id sorts after those of everything else on that day.
function chargeOf(accountId: string, day: number, cost: Nano, { requests, errors }: Counts): LedgerEntry {
  const [from, to] = [day * DAY_MS, (day + 1) * DAY_MS]
  return {
    id: `${timePrefix(to - 1)}-7fff-bfff-ffffffffffff`,
    accountId,
    kind: 'charge',
    amount: -cost,
    requestId: null,
    note: null,
    createdAt: to - 1,
    charged: { from, to, requests, errors },
  }
}

export function readEntry(row: Row): LedgerEntry {
  return {
    id: text(row.id),
    accountId: text(row.account_id),
    kind: text(row.kind) as LedgerKind,
    amount: big(row.amount),
    requestId: textOrNull(row.request_id),
    note: textOrNull(row.note),
    createdAt: int(row.created_at),
    charged: null,
  }
}
