// The ledger of an account, newest first: its entries, and what its requests cost, summed by day, each with the balance after it. Requests are not entered one by
// one: their usage rows are the charges.
import type { Nano } from '../../domain/credits.ts'
import { DAY_MS, dayOf } from '../../domain/key.ts'
import type { LedgerEntry, LedgerFilter, LedgerKind, LedgerLine, Paged } from '../contract/operator.ts'
import { conditions } from './conditions.ts'
import { big, int, type Row, type Sql, text, textOrNull } from './sql.ts'
import { ID_SLACK_MS, timeOfId, timePrefix } from './time-order.ts'
import { partsOf } from './usage/parts.ts'
import { GROUPS_MAX, series } from './usage/sums.ts'

export const ENTRY = 'id, account_id, kind, amount, request_id, note, created_at'

// Read by one statement where balances between the entries of a page are added up.
const ADDED_AT_ONCE_MAX = 5_000

export async function listLedger(accountId: string, filter: LedgerFilter, sql: Sql): Promise<Paged<LedgerLine>> {
  const { limit, kind } = filter
  const charges = await chargesOf(accountId, sql)
  const entries = kind === 'charge' ? [] : await entriesOf(accountId, filter, limit + 1, sql)
  const all = [...entries, ...charges.filter(charge => isAsked(charge, filter))].sort((a, b) => (a.id > b.id ? -1 : 1))
  return { data: await withBalances(all.slice(0, limit), charges, sql), hasMore: all.length > limit }
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

// Newest first, as many as the account has days. A day's requests count in full on the day on which they began, also when they
// end, or are corrected, later.
async function chargesOf(accountId: string, sql: Sql): Promise<readonly LedgerEntry[]> {
  const charges: LedgerEntry[] = []
  for (let to: number | undefined; ; ) {
    const span = { accountId, to, endpoint: 'all' as const }
    const sums = await series(span, await partsOf(span, sql), 'day', sql)
    const corrected = sums.size === 0 ? new Map<number, Nano>() : await correctionsOf(accountId, sums, sql)
    const days = [...sums].sort(([a], [b]) => Number(b) - Number(a)).slice(0, GROUPS_MAX)
    for (const [day, { cost, requests }] of days) {
      const entry = chargeOf(accountId, Number(day), cost + (corrected.get(Number(day)) ?? 0n), requests)
      if (entry.amount !== 0n) charges.push(entry)
    }
    if (sums.size <= GROUPS_MAX) return charges
    to = Number(days.at(-1)?.[0]) * DAY_MS
  }
}

// The balance after an entry is the sum of it and of all older ones, whether the filter shows them or not.
async function withBalances(
  page: readonly LedgerEntry[],
  charges: readonly LedgerEntry[],
  sql: Sql,
): Promise<readonly LedgerLine[]> {
  const [newest, oldest] = [page[0], page.at(-1)]
  if (newest === undefined || oldest === undefined) return []
  let balance = await sumUpTo(oldest, sql)
  const others = [...charges].reverse().values()
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

async function sumUpTo({ accountId, id }: LedgerEntry, sql: Sql): Promise<Nano> {
  const row = await sql.get(
    "SELECT COALESCE(SUM(amount), 0) AS amount FROM ledger WHERE account_id = $1 AND kind <> 'charge' AND id <= $2",
    [accountId, id],
  )
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

// A correction is an entry of its own, and part of the cost of its row.
async function correctionsOf(
  accountId: string,
  charged: ReadonlyMap<string, unknown>,
  sql: Sql,
): Promise<ReadonlyMap<number, Nano>> {
  const rows = await sql.all(
    `SELECT l.request_id, l.amount, u.created_at FROM ledger l LEFT JOIN usage u ON u.request_id = l.request_id
     WHERE l.account_id = $1 AND l.kind <> 'charge' AND l.kind = 'correction'`,
    [accountId],
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

// Its id sorts after those of everything else on that day.
function chargeOf(accountId: string, day: number, cost: Nano, requests: number): LedgerEntry {
  const [from, to] = [day * DAY_MS, (day + 1) * DAY_MS]
  return {
    id: `${timePrefix(to - 1)}-7fff-bfff-ffffffffffff`,
    accountId,
    kind: 'charge',
    amount: -cost,
    requestId: null,
    note: null,
    createdAt: to - 1,
    charged: { from, to, requests },
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
