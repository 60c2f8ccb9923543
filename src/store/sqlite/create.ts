// Creates a new SQLite database under its name only when it is complete. A first start that is killed midway leaves none, so an
// existing empty file, or a log without its database, is damage and never treated as new.
import { renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { syncFolder } from '../../lib/sync-to-disk.ts'
import { migrate } from './migrate.ts'

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
