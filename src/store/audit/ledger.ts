// The pass over the ledger: every charge and correction belongs to a row of the same account.
import type { Nano } from '../../domain/credits.ts'
import { timeOfId } from '../sql/time-order.ts'
import { ID_SLACK_MS } from '../sql/time-range.ts'
import { type HourBook, wasDropped } from './hours.ts'
import { accountSums, type Sums } from './sums.ts'
import type { AuditCounts, Pass } from './tally.ts'

export function ledgerPass(sums: Sums, book: HourBook, counts: AuditCounts): Pass {
  return {
    statement: `SELECT l.account_id, l.id, l.kind, l.amount, l.request_id, u.account_id AS row_account, u.state
      FROM ledger l LEFT JOIN usage u ON u.request_id = l.request_id`,
    look(entry) {
      const account = accountSums(sums, String(entry.account_id))
      const amount = entry.amount as Nano
      counts.checked('signs')
      if (!signFits(entry.kind, amount))
        counts.broken('signs', `${entry.account_id}: ${entry.kind} ${entry.id} of ${amount}`)
      if (entry.kind === 'topup' || entry.kind === 'adjustment') {
        account.funded += amount
        return
      }
      account.charged -= amount
      const requestId = String(entry.request_id)
      counts.checked('I7')
      if (entry.row_account === null && wasDropped(book, timeOfId(requestId), ID_SLACK_MS)) {
        if (entry.kind === 'correction') noteDropped(requestId, String(entry.account_id), amount, sums, counts)
        return
      }
      if (entry.row_account !== entry.account_id) counts.broken('I7', `${requestId}: no row of this account`)
      // Entries are unique by account and id, so a charge under its request's id is the only one.
      if (entry.kind === 'charge' && entry.id !== requestId)
        counts.broken('I7', `${requestId}: a charge with a different id`)
      if (entry.kind === 'correction') noteCorrection(requestId, amount, entry.state, sums, counts)
    },
  }
}

function noteCorrection(requestId: string, amount: Nano, state: unknown, sums: Sums, counts: AuditCounts): void {
  counts.checked('I5')
  if (state !== 'settled') counts.broken('I5', `${requestId}: corrected, but not settled`)
  addCorrection(requestId, amount, sums, counts)
}

function noteDropped(requestId: string, accountId: string, amount: Nano, sums: Sums, counts: AuditCounts): void {
  counts.checked('I5')
  sums.corrected.add(accountId)
  addCorrection(requestId, amount, sums, counts)
}

function addCorrection(requestId: string, amount: Nano, { corrections }: Sums, counts: AuditCounts): void {
  if (corrections.has(requestId)) counts.broken('I5', `${requestId}: corrected twice`)
  corrections.set(requestId, (corrections.get(requestId) ?? 0n) + amount)
}

// A correction may be positive or negative.
function signFits(kind: unknown, amount: Nano): boolean {
  if (kind === 'topup') return amount > 0n
  return kind === 'charge' || kind === 'adjustment' ? amount < 0n : amount !== 0n
}
