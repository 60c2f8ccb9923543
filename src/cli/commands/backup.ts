// `turnpike backup FILE`: one consistent copy of the store, also while the gateway runs and writes.
import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { loadDataDir } from '../../config/config.ts'
import { syncFile, syncFolder } from '../../lib/sync-to-disk.ts'
import { DATABASE_FILE } from '../../store/sqlite/lock.ts'
import { type Command, Failed } from '../command.ts'
import { printFields, printJson } from '../output.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'backup FILE',
    about: 'Copies the store into FILE, which must not exist yet.',
    more: 'The copy holds hashes of secrets and sealed credentials; the key file of the data dir is not part of it.',
    takes: [1, 1],
    async run(input) {
      const source = join(loadDataDir(), DATABASE_FILE)
      const file = resolve(input.args[0] ?? '')
      if (!existsSync(source)) throw new Failed(`there is no database at ${source}`)
      if (existsSync(file)) throw new Failed(`${file} exists already`)
      copyDatabase(source, file)
      if (input.json) printJson({ ok: true, file })
      else printFields([['backup', file]])
      return 0
    },
  },
}

// VACUUM INTO reads in one transaction, which neither blocks writers nor is blocked by them, and gives one plain file without a
// log. The name appears only when all of it is on disk.
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
    throw new Failed(`the copy failed: ${(error as Error).message}`)
  }
}

// VACUUM INTO accepts an empty file as new; created here so that it is never readable for others, not even at first.
function createPrivate(path: string): void {
  closeSync(openSync(path, 'wx', 0o600))
  chmodSync(path, 0o600)
}
