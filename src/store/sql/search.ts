// Searches without an index: newest first and in steps, each of which examines a bounded number of rows, so that none is long and
// other reports run in between; or in another order, which examines all rows and is a report.
import type { Sorting } from '../contract/operator.ts'
import { type Conditions, conditions } from './conditions.ts'
import { type Param, type Row, type Tx, text } from './sql.ts'

// Rows examined by one statement.
const SEARCHED_AT_ONCE_MAX = 5_000

export type Search = {
  readonly columns: string
  // The table, with its alias if the columns use one.
  readonly table: string
  readonly id: string
  readonly after: string | undefined
  // Conditions answered by an index on these columns and the id; they narrow which rows are examined.
  indexed(asked: Conditions): void
  // Conditions that are compared row by row.
  compared(asked: Conditions): void
}

// At most `wanted` rows.
export async function searchNewest(search: Search, wanted: number, tx: Pick<Tx, 'all'>): Promise<readonly Row[]> {
  const { columns, table, id } = search
  const found: Row[] = []
  // By time the id alone is the place.
  for (let before = search.after?.split('~')[0]; ; ) {
    const end = await endOfStep(search, before, tx)
    const asked = conditions()
    search.indexed(asked)
    asked.add(`${id} < ?`, before)
    asked.add(`${id} >= ?`, end)
    search.compared(asked)
    const limit = asked.param(wanted - found.length)
    const statement = `SELECT ${columns} FROM ${table} ${asked.where()} ORDER BY ${id} DESC LIMIT ${limit}`
    found.push(...(await tx.all(statement, asked.params)))
    if (end === undefined || found.length >= wanted) return found
    before = end
  }
}

// The oldest row of this step, found in an index alone; undefined: the step reaches to the end.
async function endOfStep(search: Search, before: string | undefined, tx: Pick<Tx, 'all'>): Promise<string | undefined> {
  const { table, id } = search
  const asked = conditions()
  search.indexed(asked)
  asked.add(`${id} < ?`, before)
  const last = asked.param(SEARCHED_AT_ONCE_MAX - 1)
  const statement = `SELECT ${id} AS id FROM ${table} ${asked.where()} ORDER BY ${id} DESC LIMIT 1 OFFSET ${last}`
  const [row] = await tx.all(statement, asked.params)
  return row === undefined ? undefined : text(row.id)
}

// An expression that is never null.
export type SortedBy = { readonly by: string; readonly type: 'text' | 'number' }
type Sorted = { readonly rows: readonly Row[]; placeAfter(row: Row | undefined): string | null }

// In the order of the expression, then of the id. At most `wanted` rows. A page begins at the place after a row even if the row has
// another value by then.
export async function searchSorted(
  search: Search,
  { by, type, isDescending }: SortedBy & Pick<Sorting<string>, 'isDescending'>,
  wanted: number,
  tx: Pick<Tx, 'all' | 'get'>,
): Promise<Sorted> {
  const { columns, table, id, after } = search
  const placeAfter = (row: Row | undefined) => (row === undefined ? null : placeOf(text(row.id), text(row.sorted_by)))
  const asked = conditions()
  search.indexed(asked)
  search.compared(asked)
  if (after !== undefined) {
    const [lastId = '', place] = after.split('~')
    const last = place === undefined ? await currentValue(lastId) : readPlace(place, type)
    if (last === undefined) return { rows: [], placeAfter }
    asked.add(`(${by}, ${id}) ${isDescending ? '<' : '>'} (?, ?)`, last, lastId)
  }
  const direction = isDescending ? 'DESC' : 'ASC'
  const order = `ORDER BY ${by} ${direction}, ${id} ${direction}`
  const statement = `SELECT ${columns}, ${by} AS sorted_by FROM ${table} ${asked.where()} ${order} LIMIT ${asked.param(wanted)}`
  return { rows: await tx.all(statement, asked.params), placeAfter }

  // Of a row that is named by its id alone: the one that it has now.
  async function currentValue(lastId: string): Promise<Param | undefined> {
    return (await tx.get(`SELECT ${by} AS sorted_by FROM ${table} WHERE ${id} = $1`, [lastId]))?.sorted_by
  }
}

// The `after` of a page that begins after a row: its id with the value that it was sorted by.
export function placeOf(id: string, value: string): string {
  return `${id}~${Buffer.from(value).toString('base64url')}`
}

// A caller may have changed it.
export function readPlace(place: string, type: SortedBy['type']): Param | undefined {
  const value = Buffer.from(place, 'base64url').toString()
  if (type === 'text') return value.isWellFormed() && !value.includes('\0') ? value : undefined
  const number = /^-?\d{1,19}$/.test(value) ? BigInt(value) : undefined
  return number === undefined || BigInt.asIntN(64, number) !== number ? undefined : number
}
