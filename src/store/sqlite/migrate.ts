// Migrates a SQLite database to the newest schema, one file of `migrations/` after the other, each in its own transaction.
import { renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { syncFolder } from '../../lib/sync-to-disk.ts'
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

// Creates a new SQLite database under its name only when it is complete. A first start that is killed midway leaves none, so an
// existing empty file, or a log without its database, is damage and never treated as new.
export function createIfMissing(path: string): void {
  const size = sizeOf(path)
  // SQLite itself treats an empty file as a new database, and deletes a log without one.
  if (size === 0) {
    throw new Error('the file is empty (0 bytes); restore it from a backup, or delete it to start over')
  }
  if (size === undefined && sizeOf(`${path}-wal`)) {
    throw new Error('the file is missing, but its WAL (-wal) exists; restore it from a backup')
  }
  if (size === undefined) create(path)
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size
}

function create(path: string): void {
  const part = `${path}.new`
  for (const end of ['', '-journal', '-wal', '-shm']) rmSync(part + end, { force: true })
  const db = new DatabaseSync(part)
  try {
    migrate(db)
    // Stored in the file; changing it later would need exclusive access.
    db.exec('PRAGMA journal_mode = WAL')
  } finally {
    db.close()
  }
  renameSync(part, path)
  syncFolder(dirname(path))
}
