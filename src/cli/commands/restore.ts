// `turnpike restore FILE`: restores a backup into an empty data directory after checking its integrity.
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { loadDataDir } from '../../config/command-env.ts'
import { systemClock } from '../../lib/clock.ts'
import { syncFolder } from '../../lib/sync-to-disk.ts'
import { auditDatabase } from '../../store/audit/audit.ts'
import { DATABASE_FILE, LOCK_FILE, lockDataDir } from '../../store/sqlite/lock.ts'
import { type Command, Failed } from '../command.ts'
import { printFields, printJson } from '../output.ts'
import { confirm, YES_OPTION } from '../prompt.ts'
import { copyDatabase } from './backup.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'restore FILE [options]',
    about: 'Restores a backup into TURNPIKE_DATA_DIR, which must be empty. Checks the backup before changing anything.',
    examples: ['turnpike restore /backups/turnpike.db'],
    options: YES_OPTION,
    takes: [1, 1],
    async run(input) {
      const source = resolve(input.args[0] ?? '')
      const dir = loadDataDir()
      if (!existsSync(source)) throw new Failed(`file not found: ${source}`)
      const existing = existsSync(dir) ? readdirSync(dir).filter(name => name !== LOCK_FILE) : []
      if (existing.length > 0)
        throw new Failed(`${dir} is not empty (${existing.slice(0, 3).join(', ')}); nothing was changed`)
      await confirm(`Restore ${source} into ${dir}?`, input)
      const lock = lockDataDir(dir)
      if (lock === 'taken') throw new Failed(`a gateway is running in ${dir}`)
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
    checkIntegrity(copy)
    renameSync(copy, join(dir, DATABASE_FILE))
    syncFolder(dir)
  } finally {
    rmSync(copy, { force: true })
  }
}

function checkIntegrity(file: string): void {
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
    throw new Failed(
      `the backup violates billing invariants (${broken.join(', ')}); run "turnpike audit FILE" for details`,
    )
}
