// Compares the balances of accounts and keys with the sums of ledger and rows.
import type { Nano } from '../../domain/credits.ts'
import { SECRETS_IN_GRACE_MAX } from '../../domain/key.ts'
import { checkDay, type DayBook } from './days.ts'
import type { HourBook } from './hours.ts'
import { accountSums, keySums, type Sums } from './sums.ts'
import type { AuditCounts, Pass, PassRow } from './tally.ts'

export function accountPass(sums: Sums, counts: AuditCounts): Pass {
  const total = { owned: 0n, funded: 0n, spent: 0n }
  const seen = new Set<string>()
  return {
    statement: 'SELECT id, available, held, spent, owed FROM account',
    look(row) {
      const id = String(row.id)
      const [available, held, spent, owed] = [row.available, row.held, row.spent, row.owed] as [Nano, Nano, Nano, Nano]
      const { funded, charged, cost, held: holds } = accountSums(sums, id)
      const owned = available + held - owed
      seen.add(id)
      total.owned += owned
      total.spent += spent
      counts.checked('I2', 'I3', 'I4', 'I9')
      if (owned !== funded - charged) counts.broken('I2', `${id}: owns ${owned}, the ledger has ${funded - charged}`)
      if (spent !== cost) counts.broken('I2', `${id}: spent ${spent}, its rows cost ${cost}`)
      if ([available, held, spent, owed].some(amount => amount < 0n)) counts.broken('I3', `${id}: below zero`)
      else if (available > 0n && owed > 0n) counts.broken('I3', `${id}: has ${available} available and owes ${owed}`)
      if (held !== holds) counts.broken('I4', `${id}: holds ${held}, its open rows ${holds}`)
      if (held !== 0n) counts.broken('I9', `${id}: holds ${held}`)
    },
    end() {
      for (const [id, { funded, cost, held }] of sums.accounts) {
        total.funded += funded
        if (!seen.has(id) && (cost !== 0n || held !== 0n)) counts.broken('I2', `${id}: rows of a missing account`)
      }
      counts.checked('I1')
      const expected = total.funded - total.spent
      if (total.owned !== expected) counts.broken('I1', `accounts own ${total.owned}, funded − spent is ${expected}`)
    },
  }
}

export function keyPass(books: { sums: Sums; days: DayBook; hours: HourBook }, now: number, counts: AuditCounts): Pass {
  const { sums, days, hours } = books
  return {
    statement: `SELECT k.id, k.account_id, k.credit_limit, k.daily_limit, k.revoked_at, b.spent, b.held, b.day, b.day_count,
        (SELECT COUNT(*) FROM secret s WHERE s.key_id = k.id AND s.ended_at IS NULL
           AND (s.grace_expires_at IS NULL OR s.grace_expires_at > ${Math.floor(now)})) AS live,
        (SELECT COUNT(*) FROM secret s WHERE s.key_id = k.id AND s.ended_at IS NULL) AS not_ended
      FROM api_key k LEFT JOIN key_balance b ON b.key_id = k.id`,
    look(row) {
      const id = String(row.id)
      const sum = keySums(sums, id)
      counts.checked('I2', 'I8', 'I14', 'I15')
      if (row.spent !== sum.cost) counts.broken('I2', `${id}: spent ${row.spent}, its rows cost ${sum.cost}`)
      if (row.held !== sum.held) counts.broken('I2', `${id}: holds ${row.held}, its open rows ${sum.held}`)
      const past = sum.cost + sum.held - sum.overshoot
      const isKnown = !days.changes.has(id) && !sums.corrected.has(String(row.account_id))
      if (isOver(past, row.credit_limit) && isKnown) counts.broken('I8', `${id}: exceeds its limit at ${past}`)
      checkDay(row, days, hours, now, counts)
      if (Number(row.live) > SECRETS_IN_GRACE_MAX + 1) counts.broken('I15', `${id}: ${row.live} secrets live`)
      if (row.revoked_at !== null && row.not_ended !== 0n)
        counts.broken('I15', `${id}: revoked, but a secret is still valid`)
    },
  }
}

function isOver(value: PassRow[string] | undefined, limit: PassRow[string] | undefined): boolean {
  return typeof value === 'bigint' && typeof limit === 'bigint' && value > limit
}
