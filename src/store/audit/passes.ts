// The passes of an audit in order: the ledger, the usage rows, then accounts and keys.
import { accountPass, keyPass } from './balances.ts'
import { dayPass, limitChangesPass, newDayBook } from './days.ts'
import { hourPasses, newHourBook } from './hours.ts'
import { ledgerPass } from './ledger.ts'
import { newPriceBook, pricePass } from './prices.ts'
import type { OnProgress } from './progress.ts'
import { rowPass } from './rows.ts'
import { newSums } from './sums.ts'
import type { AuditCounts, Finding, Pass } from './tally.ts'

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

export function refuseOlder(schema: number, oldest: number): void {
  if (schema >= oldest) return
  throw new NotAuditable(
    `the database was created by an older version of Turnpike (schema ${schema}, supported from ${oldest}); start this version once to migrate it`,
  )
}

export function auditPasses(now: number, counts: AuditCounts): readonly Pass[] {
  const sums = newSums()
  const days = newDayBook()
  const hours = newHourBook()
  const prices = newPriceBook()
  return [
    ...hourPasses(hours, sums),
    pricePass(prices),
    ledgerPass(sums, hours, counts),
    rowPass({ sums, hours, prices }, counts),
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
