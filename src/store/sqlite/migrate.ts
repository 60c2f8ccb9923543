// Migrates a SQLite database to the newest schema, one file of `migrations/` after the other, each in its own transaction.
import type { DatabaseSync } from 'node:sqlite'
import { migrationsIn, newerVersion, OURS } from '../migration-files.ts'

// A SQLite file that is not Turnpike's is refused, not migrated.
export const APPLICATION_ID = OURS
const FOLDER = new URL('./migrations/', import.meta.url)

class ForeignDatabase extends Error {}

export function migrate(db: DatabaseSync): void {
  const applicationId = pragma(db, 'application_id')
  const version = pragma(db, 'user_version')
  const migrations = migrationsIn(FOLDER)
  if (applicationId !== APPLICATION_ID && (applicationId !== 0 || hasTables(db))) {
    throw new ForeignDatabase('the database file belongs to another program')
  }
  if (version > migrations.length) {
    throw new ForeignDatabase(`the database is ${newerVersion(version, migrations.length)}`)
  }

  // A migration may rewrite a constraint, for which SQLite only offers editing its schema text.
  db.enableDefensive(false)
  for (const [index, text] of migrations.entries()) if (index >= version) bringIn(db, text, index + 1)
  db.enableDefensive(true)
}

function bringIn(db: DatabaseSync, text: string, version: number): void {
  db.exec('BEGIN EXCLUSIVE')
  try {
    db.exec(text)
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version}`)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

export function newestSchema(): number {
  return migrationsIn(FOLDER).length
}

function pragma(db: DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0)
}

function hasTables(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' LIMIT 1").get() !== undefined
}
