// One process per data directory: an exclusive lock that the operating system releases whenever the process ends, also by kill
// -9. It is a separate file and not the database, so that `audit` and `backup` can read while the gateway runs.
import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export const DATABASE_FILE = 'turnpike.db'
export const LOCK_FILE = 'turnpike.lock'

export type DataDirLock = { release(): void }

// An unreferenced connection is closed by the garbage collector, and its lock with it.
const held = new Set<DatabaseSync>()

// SQLite's BUSY, the one error that means another process has it; any other is thrown.
const BUSY = 5

export function lockDataDir(dir: string): DataDirLock | 'taken' {
  makeFolder(dir)
  const db = new DatabaseSync(join(dir, LOCK_FILE), { timeout: 0 })
  try {
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if ((error as { errcode?: number }).errcode === BUSY) return 'taken'
    throw error
  }
  held.add(db)
  return {
    release() {
      if (held.delete(db)) db.close()
    },
  }
}

// Folder by folder: Node's own `recursive` never returns where a folder exists but none can be created in it, as in /proc.
function makeFolder(dir: string): void {
  if (existsSync(dir)) return
  if (dirname(dir) !== dir) makeFolder(dirname(dir))
  try {
    mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
