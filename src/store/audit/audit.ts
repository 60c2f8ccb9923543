// Audits a SQLite database, also while a gateway runs, and counts violations of invariants. It only reads, in one transaction, so
// that it sees one consistent state; rows are streamed, and for each rolled-up hour only its expected sums and at most a thousand
// names are kept.
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { LOST_ENTRIES } from '../sqlite/journal.ts'
import { APPLICATION_ID } from '../sqlite/migrate.ts'
import { SQLITE_DIALECT } from '../sqlite/sql.ts'
import { type AuditCounts, auditCounts, type Pass, type PassRow } from './counts.ts'
import {
  type AuditOptions,
  type AuditReport,
  auditPasses,
  NotAuditable,
  ROWS_IN_ALL,
  refuseOlder,
  reportOf,
  watched,
} from './passes.ts'

export function auditDatabase(path: string, options: AuditOptions): AuditReport {
  if (!existsSync(path)) throw new NotAuditable(`database not found: ${path}`)
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  try {
    db.exec('BEGIN')
    refuseForeign(db, path)
    const counts = auditCounts(options.idle ? [] : ['I9'])
    auditFile(db, counts)
    for (const pass of passesOf(db, counts, options)) run(pass, db)
    return reportOf(counts)
  } finally {
    db.close()
  }
}

function passesOf(db: DatabaseSync, counts: AuditCounts, { now, onProgress }: AuditOptions): readonly Pass[] {
  const passes = auditPasses(now, counts, SQLITE_DIALECT)
  return onProgress === undefined ? passes : watched(passes, db.prepare(ROWS_IN_ALL).get()?.total, onProgress)
}

function run({ statement, look, end }: Pass, db: DatabaseSync): void {
  const rows = db.prepare(statement)
  rows.setReadBigInts(true)
  for (const row of rows.iterate()) look(row as PassRow)
  end?.()
}

function refuseForeign(db: DatabaseSync, path: string): void {
  let applicationId: unknown
  try {
    applicationId = db.prepare('PRAGMA application_id').get()?.application_id
  } catch (error) {
    throw new NotAuditable(`cannot read ${path}: ${(error as Error).message}`)
  }
  if (applicationId !== APPLICATION_ID) throw new NotAuditable(`${path} is not a Turnpike database`)
  const { user_version: schema } = db.prepare('PRAGMA user_version').get() ?? {}
  refuseOlder(Number(schema))
}

function auditFile(db: DatabaseSync, counts: AuditCounts): void {
  counts.checked('file')
  for (const row of db.prepare('PRAGMA quick_check').iterate()) {
    if (row.quick_check !== 'ok') counts.broken('file', String(row.quick_check))
  }
  for (const row of db.prepare('PRAGMA foreign_key_check').iterate()) {
    counts.broken('file', `a row of ${row.table} refers to a missing row of ${row.parent}`)
  }
  for (const row of db.prepare(LOST_ENTRIES).iterate()) {
    counts.broken('file', `entry ${row.seq} of the balance journal names an unknown account or key`)
  }
  for (const row of db.prepare(NOT_INDEXED).iterate()) {
    counts.broken('file', `${row.request_id}: not in the index by key`)
  }
  const { rows, indexed } = db.prepare(INDEXED).get() ?? {}
  if (rows !== indexed) counts.broken('file', `${rows} usage rows, ${indexed} in the index by key`)
}

// A row that is being moved is in both parts of the index.
const INDEXED = `SELECT (SELECT COUNT(*) FROM usage) AS rows,
  (SELECT COUNT(*) FROM usage_recent) + (SELECT COUNT(*) FROM usage_by_key) - (SELECT COUNT(*) FROM usage_recent r
    JOIN usage_by_key i ON i.key_id = r.key_id AND i.request_id = r.request_id) AS indexed`
const NOT_INDEXED = `SELECT request_id FROM usage u
  WHERE NOT EXISTS (SELECT 1 FROM usage_recent r WHERE r.request_id = u.request_id AND r.key_id = u.key_id)
    AND NOT EXISTS (SELECT 1 FROM usage_by_key i WHERE i.key_id = u.key_id AND i.request_id = u.request_id)`
