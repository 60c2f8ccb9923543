// Usage rows of a span of time, by the primary key: ids begin with their time, and the exact time is compared as well.
import type { Conditions } from './conditions.ts'
import { timePrefix } from './time-order.ts'

// An id is created slightly before or after its row's created_at is read.
export const ID_SLACK_MS = 60_000

// From `from` on and before `to`.
export function addTimeRange(asked: Conditions, from: number | undefined, to: number | undefined): void {
  addIdRange(asked, from, to)
  asked.add('created_at >= ?', from)
  asked.add('created_at < ?', to)
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
