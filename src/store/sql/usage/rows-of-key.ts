// How a statement finds the usage rows of a key or an account without reading all others.
import type { UsageSpan } from '../../contract/operator.ts'
import { type Conditions, conditions } from '../conditions.ts'
import { int, type Tx, text } from '../sql.ts'
import { addIdRange, type IdRange, idRange } from '../time-order.ts'

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

type Owned = Pick<UsageSpan, 'from' | 'to' | 'keyId' | 'accountId'>

// Only the rows of this key, or of the keys of this account.
export function addRowsOfOwner(asked: Conditions, { from, to, keyId, accountId }: Owned, sql: Tx): void {
  const ids = idRange(from, to)
  const keys = 'key_id IN (SELECT id FROM api_key WHERE account_id = ?)'
  if (keyId !== undefined) addRowsOfKey(asked, keyId, ids, sql)
  else if (sql.keyRows === 'column') asked.add(keys, accountId)
  else
    asked.add(
      `request_id IN (SELECT request_id FROM usage_of_key WHERE ${keys} AND request_id >= ? AND request_id < ?)`,
      ...[accountId, ids.from, ids.to],
    )
}

// Whether a span has more than `max` rows of its owner, whatever else is asked of them. Reads no more than these.
export async function hasMoreRows(span: Owned, max: number, sql: Tx): Promise<boolean> {
  const isOwned = span.keyId !== undefined || span.accountId !== undefined
  const asked = conditions()
  addIdRange(asked, span.from, span.to)
  asked.add('key_id = ?', span.keyId)
  if (span.keyId === undefined) asked.add('key_id IN (SELECT id FROM api_key WHERE account_id = ?)', span.accountId)
  const table = isOwned && sql.keyRows === 'view' ? 'usage_of_key' : 'usage'
  const rows = `SELECT request_id FROM ${table} ${asked.where()} LIMIT ${asked.param(max + 1)}`
  const row = await sql.get(`SELECT COUNT(*) AS found FROM (${rows}) r`, asked.params)
  return int(row?.found) > max
}
