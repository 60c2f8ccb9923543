// The passes of an audit in order: the ledger, the usage rows, then accounts and keys.
import type { Nano } from '../../domain/credits.ts'
import { SECRETS_IN_GRACE_MAX } from '../../domain/key.ts'
import type { Sql } from '../sql/sql.ts'
import { ID_SLACK_MS, timeOfId } from '../sql/time-order.ts'
import {
  type AuditCounts,
  accountSums,
  type Finding,
  keySums,
  newSums,
  type Pass,
  type PassRow,
  type Sums,
} from './counts.ts'
import { checkDay, type DayBook, dayPass, limitChangesPass, newDayBook } from './days.ts'
import { type HourBook, hourPasses, newHourBook, wasDropped } from './hours.ts'
import { newPriceBook, pricePass, rowPass } from './rows.ts'
import { budgetPass, newWindowBook, windowPasses } from './windows.ts'

export type AuditOptions = {
  // No request is in flight, so nothing may be held and no row may be open.
  readonly idle: boolean
  readonly now: number
  // Called now and then with the number of rows checked, of about how many.
  readonly onProgress?: OnProgress
}

export type AuditReport = { readonly ok: boolean; readonly findings: readonly Finding[] }

// Not a Turnpike database, or one that cannot be read.
export class NotAuditable extends Error {
  override readonly name = 'NotAuditable'
}

// The first one with everything that is checked, on either engine.
const SCHEMA_MIN = 23

export function refuseOlder(schema: number): void {
  if (schema >= SCHEMA_MIN) return
  throw new NotAuditable(
    `the database was created by an older version of Turnpike (schema ${schema}, supported from ${SCHEMA_MIN}); start this version once to migrate it`,
  )
}

export function auditPasses(now: number, counts: AuditCounts, sql: Pick<Sql, 'jsonPairs'>): readonly Pass[] {
  const sums = newSums()
  const days = newDayBook()
  const hours = newHourBook()
  const prices = newPriceBook()
  const windows = newWindowBook()
  return [
    ...windowPasses(windows),
    ...hourPasses(hours, sums, windows, sql),
    pricePass(prices),
    ledgerPass(sums, hours, counts),
    rowPass({ sums, hours, prices, windows }, counts),
    budgetPass(windows, counts),
    accountPass(sums, counts),
    limitChangesPass(days),
    dayPass(days, now, counts),
    keyPass({ sums, days, hours }, now, counts),
  ]
}

export function reportOf(counts: AuditCounts): AuditReport {
  const findings = counts.findings()
  return { ok: findings.every(finding => finding.broken === 0), findings }
}

// The pass over the ledger: every correction belongs to a row of the same account. Charges are the rows themselves; an older
// version also wrote them here.
function ledgerPass(sums: Sums, book: HourBook, counts: AuditCounts): Pass {
  return {
    statement: `SELECT l.account_id, l.id, l.kind, l.amount, l.request_id, u.account_id AS row_account, u.state
      FROM ledger l LEFT JOIN usage u ON u.request_id = l.request_id WHERE l.kind <> 'charge'`,
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
      const requestId = String(entry.request_id)
      counts.checked('I7')
      if (entry.row_account === null && wasDropped(book, timeOfId(requestId), ID_SLACK_MS)) {
        noteDropped(requestId, String(entry.account_id), amount, sums, counts)
        return
      }
      if (entry.row_account !== entry.account_id) counts.broken('I7', `${requestId}: no row of this account`)
      // Entries are unique by account and id, so a correction under its request's id is the only one.
      if (entry.id !== `${requestId}-correction`) counts.broken('I7', `${requestId}: a correction with a different id`)
      noteCorrection(requestId, amount, entry.state, sums, counts)
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
  return kind === 'adjustment' ? amount < 0n : amount !== 0n
}

// Compares the balances of accounts and keys with the sums of ledger and rows.
function accountPass(sums: Sums, counts: AuditCounts): Pass {
  const total = { owned: 0n, funded: 0n, spent: 0n }
  const seen = new Set<string>()
  return {
    statement: 'SELECT id, available, held, spent, owed FROM account_now',
    look(row) {
      const id = String(row.id)
      const [available, held, spent, owed] = [row.available, row.held, row.spent, row.owed] as [Nano, Nano, Nano, Nano]
      const { funded, cost, held: holds } = accountSums(sums, id)
      const owned = available + held - owed
      seen.add(id)
      total.owned += owned
      total.spent += spent
      counts.checked('I2', 'I3', 'I4', 'I9', 'I13')
      if (owned !== funded - cost)
        counts.broken('I2', `${id}: owns ${owned}, its ledger and rows make ${funded - cost}`)
      if (spent !== cost) counts.broken('I13', `${id}: spent ${spent}, its rows cost ${cost}`)
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

function keyPass(books: { sums: Sums; days: DayBook; hours: HourBook }, now: number, counts: AuditCounts): Pass {
  const { sums, days, hours } = books
  return {
    statement: `SELECT k.id, k.account_id, k.credit_limit, k.daily_limit, k.revoked_at, b.spent, b.held, b.day, b.day_count,
        (SELECT COUNT(*) FROM secret s WHERE s.key_id = k.id AND s.ended_at IS NULL
           AND (s.grace_expires_at IS NULL OR s.grace_expires_at > ${Math.floor(now)})) AS live,
        (SELECT COUNT(*) FROM secret s WHERE s.key_id = k.id AND s.ended_at IS NULL) AS not_ended
      FROM api_key k LEFT JOIN key_balance_now b ON b.key_id = k.id`,
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

// Reports the progress of an audit: how many rows it has checked, of about how many.
type OnProgress = (rows: number, total: number) => void

// Nearly all of the rows to check; counting them is cheap compared with checking them.
export const ROWS_IN_ALL = 'SELECT (SELECT COUNT(*) FROM ledger) + (SELECT COUNT(*) FROM usage) AS total'

const EVERY_ROWS = 1000

export function watched(passes: readonly Pass[], total: unknown, onProgress: OnProgress): readonly Pass[] {
  let rows = 0
  return passes.map(pass => ({
    ...pass,
    look(row) {
      pass.look(row)
      if (++rows % EVERY_ROWS === 0) onProgress(rows, Number(total))
    },
  }))
}
