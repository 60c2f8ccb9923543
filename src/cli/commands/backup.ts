// `turnpike backup FILE`: a consistent copy of the SQLite database, also while the gateway is running.
import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { loadDataDir } from '../../config/command-env.ts'
import { syncFile, syncFolder } from '../../lib/sync-to-disk.ts'
import { DATABASE_FILE } from '../../store/sqlite/lock.ts'
import { type Command, Failed } from '../command.ts'
import { printFields, printJson } from '../output.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'backup FILE',
    about: 'Copies the SQLite database to FILE, which must not exist. Safe while the gateway is running.',
    examples: ['turnpike backup /backups/turnpike.db'],
    more: 'The copy contains hashed secrets and encrypted credentials. It does not contain the encryption key; back up encryption.key separately.',
    takes: [1, 1],
    async run(input) {
      const source = join(loadDataDir(), DATABASE_FILE)
      const file = resolve(input.args[0] ?? '')
      if (!existsSync(source)) throw new Failed(`database not found: ${source}`)
      if (existsSync(file)) throw new Failed(`${file} already exists`)
      copyDatabase(source, file)
      if (input.json) printJson({ ok: true, file })
      else printFields([['backup', file]])
      return 0
    },
  },
}

// VACUUM INTO reads in one transaction without blocking writers, and writes a single file without a WAL. The file gets its
// name only when it is complete and on disk.
export function copyDatabase(source: string, file: string): void {
  const part = `${file}.part`
  rmSync(part, { force: true })
  try {
    createPrivate(part)
    const db = new DatabaseSync(source, { readOnly: true, timeout: 5000 })
    try {
      db.prepare('VACUUM INTO ?').run(part)
    } finally {
      db.close()
    }
    syncFile(part)
    renameSync(part, file)
    syncFolder(dirname(file))
  } catch (error) {
    rmSync(part, { force: true })
    throw new Failed(`backup failed: ${(error as Error).message}`)
  }
}

// VACUUM INTO accepts an empty file; creating it here ensures that it is never readable by others.
function createPrivate(path: string): void {
  closeSync(openSync(path, 'wx', 0o600))
  chmodSync(path, 0o600)
}
