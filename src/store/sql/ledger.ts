// The ledger of an account, newest first: its entries, and what its requests cost, summed by day. Requests are not entered one by
// one: their usage rows are the charges.
import type { Nano } from '../../domain/credits.ts'
import { DAY_MS, dayOf } from '../../domain/key.ts'
import type { LedgerEntry, LedgerKind, Page, Paged } from '../contract/operator.ts'
import { conditions } from './conditions.ts'
import { big, int, type Row, type Sql, text, textOrNull } from './sql.ts'
import { ID_SLACK_MS, timeOfId, timePrefix } from './time-order.ts'
import { partsOf } from './usage/parts.ts'
import { GROUPS_MAX, series } from './usage/sums.ts'

export const ENTRY = 'id, account_id, kind, amount, request_id, note, created_at'

export async function listLedger(accountId: string, { limit, after }: Page, sql: Sql): Promise<Paged<LedgerEntry>> {
  const entries = await entriesOf(accountId, after, limit + 1, sql)
  const days = await chargesOf(accountId, { limit, after }, sql)
  const all = [...entries, ...days].sort((a, b) => (a.id > b.id ? -1 : 1))
  return { data: all.slice(0, limit), hasMore: all.length > limit }
}

async function entriesOf(accountId: string, after: string | undefined, max: number, sql: Sql) {
  const asked = conditions()
  asked.add('account_id = ?', accountId)
  asked.add('id < ?', after)
  asked.add("kind <> 'charge'")
  const rows = await sql.all(
    `SELECT ${ENTRY} FROM ledger ${asked.where()} ORDER BY id DESC LIMIT ${asked.param(max)}`,
    asked.params,
  )
  return rows.map(readEntry)
}

// A day's requests count in full on the day on which they began, also when they end, or are corrected, later.
async function chargesOf(accountId: string, { limit, after }: Page, sql: Sql): Promise<readonly LedgerEntry[]> {
  // One day more than may be on the page: every page has to find a correction on the same day.
  const before = after === undefined ? undefined : timeOfId(after)
  const charges: LedgerEntry[] = []
  for (let to = before === undefined ? undefined : (dayOf(before) + 2) * DAY_MS; ; ) {
    const span = { accountId, to, endpoint: 'all' as const }
    const sums = await series(span, await partsOf(span, sql), 'day', sql)
    const corrected = sums.size === 0 ? new Map<number, Nano>() : await correctionsOf(accountId, sums, sql)
    const days = [...sums].sort(([a], [b]) => Number(b) - Number(a)).slice(0, GROUPS_MAX)
    for (const [day, { cost, requests }] of days) {
      const entry = chargeOf(accountId, Number(day), cost + (corrected.get(Number(day)) ?? 0n), requests)
      if (entry.amount !== 0n && (after === undefined || entry.id < after)) charges.push(entry)
    }
    if (sums.size <= GROUPS_MAX || charges.length > limit) return charges
    to = Number(days.at(-1)?.[0]) * DAY_MS
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
