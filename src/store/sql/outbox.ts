// The outbox: events for webhooks, written in the transaction of what they report.
import { randomUUIDv7 } from 'node:crypto'
import type { OutboxEvent } from '../../domain/events.ts'
import type { Tx } from './sql.ts'
import { timePrefix } from './time-order.ts'

export const OUTBOX_COLUMNS = 'id, once, type, account_id, created_at, data'

// How many were raised in this process, also by transactions that were rolled back: who sees it change may have something to
// deliver.
let raised = 0

export const raisedCount = () => raised

export async function emit(tx: Tx, event: OutboxEvent): Promise<void> {
  await tx.run(`INSERT INTO outbox (${OUTBOX_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (once) DO NOTHING`, [
    eventIdAt(tx.now()),
    event.once,
    event.type,
    event.accountId,
    tx.now(),
    JSON.stringify(event.data),
  ])
}

const COUNT_MAX = 0xfff
// Transactions overlap, so their times do not quite come in order.
const OVERLAP_MS = 1000

let last = { at: 0, count: 0 }

// A UUIDv7 whose bits after the time count the events of a millisecond: the ids of one process sort in the order in which they
// were made, except that a clock that was set back is followed.
export function eventIdAt(at: number): string {
  raised += 1
  if (at > last.at || at < last.at - OVERLAP_MS) last = { at, count: 0 }
  else if (last.count < COUNT_MAX) last = { at: last.at, count: last.count + 1 }
  else last = { at: last.at + 1, count: 0 }
  return `evt_${timePrefix(last.at)}-7${last.count.toString(16).padStart(3, '0')}${randomUUIDv7().slice(18)}`
}
