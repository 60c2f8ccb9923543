// Proves the books: reads a SQLite database, beside a running gateway if need be, and counts where an invariant is
// broken. It reads only, in one transaction, so that what it sees is one moment; rows are streamed, never gathered.
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { auditAccounts, auditKeys } from './audit-balances.ts'
import { auditLedger, auditRows, newSums } from './audit-rows.ts'
import { type Finding, openTally, type Tally } from './audit-tally.ts'
import { APPLICATION_ID } from './migrate.ts'

export type AuditOptions = {
  // No request is in flight, so nothing may be held and no row may be open.
  readonly idle: boolean
  readonly now: number
}

export type AuditReport = { readonly ok: boolean; readonly findings: readonly Finding[] }

// Not a database of ours, or one that cannot be read.
class NotAuditable extends Error {
  override readonly name = 'NotAuditable'
}

export function auditDatabase(path: string, options: AuditOptions): AuditReport {
  if (!existsSync(path)) throw new NotAuditable(`there is no database at ${path}`)
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  try {
    db.exec('BEGIN')
    refuseForeign(db, path)
    const tally = openTally(options.idle ? [] : ['I9'])
    const sums = newSums()
    auditFile(db, tally)
    auditLedger(db, sums, tally)
    auditRows(db, sums, tally)
    auditAccounts(db, sums, tally)
    auditKeys(db, sums, options.now, tally)
    const findings = tally.findings()
    return { ok: findings.every(finding => finding.broken === 0), findings }
  } finally {
    db.close()
  }
}

function refuseForeign(db: DatabaseSync, path: string): void {
  let applicationId: unknown
  try {
    applicationId = db.prepare('PRAGMA application_id').get()?.application_id
  } catch (error) {
    throw new NotAuditable(`${path} cannot be read: ${(error as Error).message}`)
  }
  if (applicationId !== APPLICATION_ID) throw new NotAuditable(`${path} is not a database of Turnpike`)
}

function auditFile(db: DatabaseSync, tally: Tally): void {
  tally.checked('file')
  for (const row of db.prepare('PRAGMA quick_check').iterate()) {
    if (row.quick_check !== 'ok') tally.broken('file', String(row.quick_check))
  }
  for (const row of db.prepare('PRAGMA foreign_key_check').iterate()) {
    tally.broken('file', `a row of ${row.table} refers to a row of ${row.parent} that is not there`)
  }
}
