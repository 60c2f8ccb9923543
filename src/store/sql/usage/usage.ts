// Reports over the usage rows. Request ids sort by time, so a page or a time range is a range of the primary key.
import { readUsageRow } from '../../billing/usage-binders.ts'
import { namesOf, REPORTED } from '../../billing/usage-columns.ts'
import type { UsageFilter, UsageReports } from '../../contract/operator.ts'
import { type Conditions, conditions } from '../conditions.ts'
import { page, type Row, type Sql, text } from '../sql.ts'
import { ALL_IDS, addIdRange, endOfIds, type IdRange, idRange } from '../time-order.ts'
import { idsByCost, rowsByIds } from './by-cost.ts'
import { overviewOf } from './overview.ts'
import type { Span } from './parts.ts'
import { KEY_SPANS_MAX, type KeySpan, type Look, narrowRows, reachOf } from './reach.ts'
import { addRowsOfKey, hasMoreRows, idAfterNewest, ofKey } from './rows-of-key.ts'
import { summarise, summariseRows } from './sums.ts'

const REPORT_COLUMNS = namesOf(REPORTED)

const KEY_SPANS_FEW = 8
// Of a busy key, as many rows are read before the next ones are looked for.
const KEY_ROWS_AT_ONCE = 1000

export function sqlUsage(sql: Sql): UsageReports {
  return {
    async get(requestId, keyId) {
      const asked = conditions()
      asked.add('request_id = ?', requestId)
      asked.add('key_id = ?', keyId)
      const row = await sql.get(`SELECT ${REPORT_COLUMNS} FROM usage ${asked.where()}`, asked.params)
      return row === undefined ? undefined : readUsageRow(row)
    },

    list: filter => (filter.lookMax === undefined ? listWithin(filter, sql) : listBounded(filter, filter.lookMax, sql)),
    async listByCost(filter, rowsMax) {
      const ids = await idsByCost(filter, rowsMax, sql)
      return typeof ids === 'string' ? ids : { ...ids, data: await rowsByIds(ids.data, sql) }
    },
    idsByCost: (filter, rowsMax) => idsByCost(filter, rowsMax, sql),
    byIds: requestIds => rowsByIds(requestIds, sql),
    summary: (filter, groupBy) => summarise(filter, groupBy, sql),
    async summaryOfRows(filter, groupBy, rowsMax) {
      return (await hasMoreRows(filter, rowsMax, sql)) ? 'too_many' : summariseRows(filter, groupBy, sql)
    },
    overview: span => overviewOf(span, sql),
  }
}

// Examines as many rows as it may, whatever matches.
async function listBounded(filter: UsageFilter, lookMax: number, sql: Sql) {
  const end = await endOfLook(filter, lookMax, sql)
  const asked = conditions()
  addIdRange(asked, filter.from, filter.to)
  asked.add('request_id < ?', filter.after)
  asked.add('request_id >= ?', end)
  narrowRows(asked, filter)
  addRowsOfKey(asked, filter.keyId, { from: end ?? ALL_IDS.from, to: filter.after ?? ALL_IDS.to }, sql)
  const { data, hasMore } = page(await newest(asked, filter.limit + 1, sql), filter.limit, readUsageRow)
  const next = hasMore ? data.at(-1)?.requestId : end
  return { data, hasMore: next !== undefined, next: next ?? null }
}

// The sums tell in which hours there is something to find; no others are searched. A row has its final position once nothing that
// is still to be searched can be newer.
async function listWithin(filter: UsageFilter, sql: Sql) {
  const wanted = filter.limit + 1
  const found = new Map<string, Row>()
  let rows: readonly Row[] = []
  for await (const look of reachOf(filter, wanted, sql)) {
    for (const row of await rowsOf(look, filter, wanted, sql)) found.set(text(row.request_id), row)
    rows = [...found.values()].sort((a, b) => (text(a.request_id) > text(b.request_id) ? -1 : 1)).slice(0, wanted)
    const last = rows[wanted - 1]
    if (last !== undefined && look.from !== undefined && text(last.request_id) >= endOfIds(look.from)) break
  }
  const { data, hasMore } = page(rows, filter.limit, readUsageRow)
  return { data, hasMore, next: hasMore ? (data.at(-1)?.requestId ?? null) : null }
}

async function rowsOf(look: Look, filter: UsageFilter, wanted: number, sql: Sql): Promise<readonly Row[]> {
  const asked = conditions()
  if (look.keys === undefined) {
    const ids = idsOf(look, filter.after)
    if (filter.keyId !== undefined && sql.keyRows === 'view') {
      return newestOfKey(filter.keyId, ids, filter, wanted, sql)
    }
    asked.add('request_id >= ?', ids.from)
    asked.add('request_id < ?', ids.to)
    narrowRows(asked, filter)
    return newest(asked, wanted, sql)
  }
  addKeySpans(asked, look.keys, filter.after, sql)
  narrowRows(asked, { ...filter, keyId: undefined })
  // Without an order: a planner that has to sort would rather scan all rows in the order of the primary key.
  return sql.all(`SELECT ${REPORT_COLUMNS} FROM usage ${asked.where()}`, asked.params)
}

function idsOf({ from, to }: Span, after: string | undefined): IdRange {
  const ids = idRange(from, to)
  return after !== undefined && after < ids.to ? { ...ids, to: after } : ids
}

// Step by step: what is found in a view is collected before it is read, and a key may have any number of rows.
async function newestOfKey(keyId: string, ids: IdRange, filter: UsageFilter, wanted: number, sql: Sql) {
  const found: Row[] = []
  for (let to = ids.to; found.length < wanted; ) {
    const next = await idAfterNewest(keyId, { from: ids.from, to }, KEY_ROWS_AT_ONCE, sql)
    const asked = conditions()
    addRowsOfKey(asked, keyId, { from: next === undefined ? ids.from : `${next}!`, to }, sql)
    narrowRows(asked, filter)
    found.push(...(await newest(asked, wanted - found.length, sql)))
    if (next === undefined) break
    to = `${next}!`
  }
  return found
}

// Each key as a separate search, without a common condition, which would be used for the search instead. Statements are cached by
// their text: the number of keys is one of two sizes, the last key repeated. By ids, which are in the index, and by the time
// itself: a busy minute next to the span has none of its rows.
function addKeySpans(asked: Conditions, keys: readonly KeySpan[], after: string | undefined, sql: Sql): void {
  const spans = Array.from({ length: keys.length > KEY_SPANS_FEW ? KEY_SPANS_MAX : KEY_SPANS_FEW }, (_, i) => keys[i])
  const values = spans.flatMap(span => {
    const key = span ?? (keys.at(-1) as KeySpan)
    const { from, to } = idsOf(key, after)
    return [key.keyId, from, to, key.from, key.to]
  })
  const one = `(${ofKey(sql)} AND created_at >= ? AND created_at < ?)`
  asked.add(`(${spans.map(() => one).join(' OR ')})`, ...values)
}

function newest(asked: Conditions, max: number, sql: Sql): Promise<readonly Row[]> {
  return sql.all(
    `SELECT ${REPORT_COLUMNS} FROM usage ${asked.where()} ORDER BY request_id DESC LIMIT ${asked.param(max)}`,
    asked.params,
  )
}

// The oldest row that a page may examine, if there are more after it: found in an index alone, without reading rows.
async function endOfLook(filter: UsageFilter, lookMax: number, sql: Sql): Promise<string | undefined> {
  const table = filter.keyId !== undefined && sql.keyRows === 'view' ? 'usage_of_key' : 'usage'
  const asked = conditions()
  asked.add('key_id = ?', filter.keyId)
  addIdRange(asked, filter.from, filter.to)
  asked.add('request_id < ?', filter.after)
  const rows = await sql.all(
    `SELECT request_id FROM ${table} ${asked.where()} ORDER BY request_id DESC LIMIT 2 OFFSET ${asked.param(lookMax - 1)}`,
    asked.params,
  )
  return rows.length === 2 ? text(rows[0]?.request_id) : undefined
}
