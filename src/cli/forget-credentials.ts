// `turnpike forget-credentials`: the way out when the encryption key is lost. Provider credentials that nobody can open any
// more are deleted, so that the gateway starts again; everything else stays.
import { randomUUIDv7 } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { loadDataDir } from '../config.ts'
import { systemClock } from '../lib/clock.ts'
import { DATABASE_FILE, lockDataDir } from '../store/lock.ts'
import { BadUsage, type Command, Failed } from './command.ts'
import { printFields, printJson } from './table.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'forget-credentials --yes',
    about: 'Deletes every stored provider credential, for when the key that sealed them is lost.',
    options: { yes: { about: 'really do it; they cannot be brought back' } },
    more: 'Works on TURNPIKE_DATA_DIR while no gateway runs. Enter the credentials again afterwards.',
    async run(input) {
      const dir = loadDataDir()
      const file = join(dir, DATABASE_FILE)
      if (!input.flag('yes')) throw new BadUsage('this cannot be undone: say --yes')
      if (!existsSync(file)) throw new Failed(`there is no database at ${file}`)
      const lock = lockDataDir(dir)
      if (lock === 'taken') throw new Failed(`a gateway is running on ${dir}`)
      try {
        const forgotten = forget(file)
        if (input.json) printJson({ ok: true, forgotten })
        else printFields([['forgotten', forgotten]])
      } finally {
        lock.release()
      }
      return 0
    },
  },
}

function forget(file: string): number {
  const db = new DatabaseSync(file, { timeout: 5000 })
  try {
    db.exec('BEGIN IMMEDIATE')
    const { changes } = db.prepare('DELETE FROM credential').run()
    db.prepare(
      "INSERT INTO event (id, at, actor, address, action, subject, detail) VALUES (?, ?, 'command line', 'local', 'credentials.forget', 'catalog', ?)",
    ).run(randomUUIDv7(), systemClock.now(), JSON.stringify({ credentialsForgotten: Number(changes) }))
    db.exec('COMMIT')
    return Number(changes)
  } finally {
    db.close()
  }
}
