// UUIDv7 sorts by time because its first 48 bits are milliseconds: lists and range scans over ids rely on it.
import { randomUUIDv7 } from 'node:crypto'
import type { Conditions } from './conditions.ts'

const TIME_MAX = 2 ** 48 - 1

// The smallest text that an id of this millisecond can begin with; earlier ids sort before it.
export function timePrefix(at: number): string {
  const hex = Math.min(Math.max(Math.floor(at), 0), TIME_MAX)
    .toString(16)
    .padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}

// An id of the transaction's time and not of the machine's, so that simulated clocks order what they write.
export function idAt(at: number): string {
  return timePrefix(at) + randomUUIDv7().slice(13)
}

// The millisecond that an id begins with; undefined if it is not a UUIDv7.
export function timeOfId(id: string): number | undefined {
  const match = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(id)
  return match === null ? undefined : Number.parseInt(`${match[1]}${match[2]}`, 16)
}

// Usage rows of a span of time, by the primary key: ids begin with their time, and the exact time is compared as well.

// An id is created slightly before or after its row's created_at is read.
export const ID_SLACK_MS = 60_000

// From `from` on and before `to`.
export function addTimeRange(asked: Conditions, from: number | undefined, to: number | undefined): void {
  addIdRange(asked, from, to)
  asked.add('created_at >= ?', from)
  asked.add('created_at < ?', to)
}

// Ids from `from` on and before `to`.
export type IdRange = { readonly from: string; readonly to: string }

// Before and after every id.
export const ALL_IDS: IdRange = { from: '', to: '~' }

export function idRange(from: number | undefined, to: number | undefined): IdRange {
  return {
    from: from === undefined ? ALL_IDS.from : timePrefix(from - ID_SLACK_MS),
    to: to === undefined ? ALL_IDS.to : endOfIds(to),
  }
}

// Every row of that time, and some from just before and after it.
export function addIdRange(asked: Conditions, from: number | undefined, to: number | undefined): void {
  asked.add('request_id >= ?', from === undefined ? undefined : timePrefix(from - ID_SLACK_MS))
  asked.add('request_id < ?', to === undefined ? undefined : endOfIds(to))
}

// Ids of rows from before that time sort before it.
export function endOfIds(to: number): string {
  return timePrefix(to + ID_SLACK_MS)
}
