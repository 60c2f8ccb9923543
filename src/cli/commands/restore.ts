// `turnpike restore FILE`: copies a backup into an empty data directory, after checking that it is complete and passes the audit.
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { loadDataDir } from '../../config/config.ts'
import { systemClock } from '../../lib/clock.ts'
import { syncFolder } from '../../lib/sync-to-disk.ts'
import { auditDatabase } from '../../store/audit/audit.ts'
import { DATABASE_FILE, LOCK_FILE, lockDataDir } from '../../store/sqlite/lock.ts'
import { type Command, Failed } from '../command.ts'
import { printFields, printJson } from '../output.ts'
import { copyDatabase } from './backup.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'restore FILE',
    about: 'Puts a backup into TURNPIKE_DATA_DIR, which must be empty. Nothing is changed unless the backup is sound.',
    takes: [1, 1],
    async run(input) {
      const source = resolve(input.args[0] ?? '')
      const dir = loadDataDir()
      if (!existsSync(source)) throw new Failed(`there is no file ${source}`)
      const strangers = existsSync(dir) ? readdirSync(dir).filter(name => name !== LOCK_FILE) : []
      if (strangers.length > 0)
        throw new Failed(`${dir} is not empty (${strangers.slice(0, 3).join(', ')}); nothing was changed`)
      const lock = lockDataDir(dir)
      if (lock === 'taken') throw new Failed(`a gateway is running on ${dir}`)
      try {
        restore(source, dir)
      } finally {
        lock.release()
      }
      const file = join(dir, DATABASE_FILE)
      if (input.json) printJson({ ok: true, file })
      else printFields([['restored', file]])
      return 0
    },
  },
}

function restore(source: string, dir: string): void {
  const copy = join(dir, 'restoring.db')
  try {
    copyDatabase(source, copy)
    prove(copy)
    renameSync(copy, join(dir, DATABASE_FILE))
    syncFolder(dir)
  } finally {
    rmSync(copy, { force: true })
  }
}

function prove(file: string): void {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const flaw = db.prepare('PRAGMA integrity_check(1)').get()?.integrity_check
    if (flaw !== 'ok') throw new Failed(`the backup is damaged: ${flaw}`)
  } finally {
    db.close()
  }
  const report = auditDatabase(file, { idle: false, now: systemClock.now() })
  const broken = report.findings.filter(finding => finding.broken > 0).map(finding => finding.invariant)
  if (broken.length > 0)
    throw new Failed(`the books of the backup are broken (${broken.join(', ')}; see turnpike audit FILE)`)
}
