// How a statement finds the usage rows of a key without reading all others.
import type { Conditions } from '../conditions.ts'
import { type Tx, text } from '../sql.ts'
import type { IdRange } from '../time-order.ts'

// For the values keyId, from, to.
export function ofKey({ keyRows }: Pick<Tx, 'keyRows'>): string {
  const range = 'key_id = ? AND request_id >= ? AND request_id < ?'
  return keyRows === 'column' ? range : `request_id IN (SELECT request_id FROM usage_of_key WHERE ${range})`
}

// Only the rows of this key. Where an index answers `key_id = ?`, nothing has to be added to that.
export function addRowsOfKey(asked: Conditions, keyId: string | undefined, { from, to }: IdRange, sql: Tx): void {
  if (keyId !== undefined && sql.keyRows === 'view') asked.add(ofKey(sql), keyId, from, to)
}

// The id of the row after the `count` newest ones of the range; undefined if there are no more.
export async function idAfterNewest(
  keyId: string,
  { from, to }: IdRange,
  count: number,
  sql: Tx,
): Promise<string | undefined> {
  const table = sql.keyRows === 'view' ? 'usage_of_key' : 'usage'
  const row = await sql.get(
    `SELECT request_id FROM ${table} WHERE key_id = $1 AND request_id >= $2 AND request_id < $3
     ORDER BY request_id DESC LIMIT 1 OFFSET $4`,
    [keyId, from, to, count],
  )
  return row === undefined ? undefined : text(row.request_id)
}
