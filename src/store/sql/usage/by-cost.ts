// Usage rows in the order of their cost, for which there is no index: every row of the span and its owner is read and sorted.
import { readUsageRow } from '../../billing/usage-binders.ts'
import { namesOf, REPORTED } from '../../billing/usage-columns.ts'
import type { CostFault, Page, RowSpan, SortedPage } from '../../contract/operator.ts'
import { conditions } from '../conditions.ts'
import { placeOf, readPlace } from '../search.ts'
import { numbered, type Param, page, type Row, type Sql, text } from '../sql.ts'
import { addIdRange } from '../time-order.ts'
import { narrowRows } from './reach.ts'
import { addRowsOfOwner, hasMoreRows } from './rows-of-key.ts'

// The page after a row has what costs less, or as much and is older.
export async function idsByCost(
  filter: Page & RowSpan,
  rowsMax: number,
  sql: Sql,
): Promise<SortedPage<string> | CostFault> {
  if (await hasMoreRows(filter, rowsMax, sql)) return 'too_many'
  const asked = conditions()
  addIdRange(asked, filter.from, filter.to)
  addRowsOfOwner(asked, filter, sql)
  narrowRows(asked, filter)
  if (filter.after !== undefined) {
    const [id = '', place] = filter.after.split('~')
    const cost = place === undefined ? await currentCost(id, sql) : readPlace(place, 'number')
    if (cost === undefined) return 'unknown_after'
    asked.add('(cost, request_id) < (?, ?)', cost, id)
  }
  const rows = await sql.all(
    `SELECT request_id, cost FROM usage ${asked.where()} ORDER BY cost DESC, request_id DESC LIMIT ${asked.param(filter.limit + 1)}`,
    asked.params,
  )
  const { data, hasMore } = page(rows, filter.limit, row => row)
  const last = data.at(-1)
  const next = hasMore && last !== undefined ? placeOf(text(last.request_id), String(last.cost)) : null
  return { data: data.map(row => text(row.request_id)), hasMore, next }
}

// Of a row that is named by its id alone; undefined if it is gone.
async function currentCost(id: string, sql: Sql): Promise<Param | undefined> {
  return (await sql.get('SELECT cost FROM usage WHERE request_id = $1', [id]))?.cost
}

export async function rowsByIds(ids: readonly string[], sql: Sql) {
  if (ids.length === 0) return []
  const columns = namesOf(REPORTED)
  const rows = await sql.all(`SELECT ${columns} FROM usage WHERE request_id IN (${numbered(ids)})`, ids)
  const found = new Map<string, Row>(rows.map(row => [text(row.request_id), row]))
  return ids.flatMap(id => {
    const row = found.get(id)
    return row === undefined ? [] : [readUsageRow(row)]
  })
}
