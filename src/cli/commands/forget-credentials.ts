// `turnpike forget-credentials`: deletes stored provider credentials that cannot be decrypted because the encryption key is lost,
// so that the gateway can start again.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { loadDatabaseUrl, loadDataDir } from '../../config/command-env.ts'
import { systemClock } from '../../lib/clock.ts'
import { forgetInFile, forgetOnPostgres, GatewaysRun } from '../../store/forget-credentials.ts'
import { DATABASE_FILE, lockDataDir } from '../../store/sqlite/lock.ts'
import { BadUsage, type Command, Failed } from '../command.ts'
import { printFields, printJson } from '../output.ts'
import { confirm, isInteractive } from '../prompt.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'forget-credentials --yes',
    about: 'Deletes all stored provider credentials. Use it if the encryption key is lost.',
    examples: ['turnpike forget-credentials --yes'],
    options: { yes: { short: 'y', about: 'confirm; deleted credentials cannot be recovered' } },
    more: 'Uses the database at DATABASE_URL, otherwise TURNPIKE_DATA_DIR. Stop the gateway first, and add the credentials again afterwards.',
    async run(input) {
      if (!input.flag('yes') && !isInteractive()) throw new BadUsage('this cannot be undone; pass --yes to confirm')
      await confirm('Delete all stored provider credentials? This cannot be undone.', input)
      const url = loadDatabaseUrl()
      const forgotten = url === undefined ? await forgetHere(loadDataDir()) : await forgetShared(url)
      if (input.json) printJson({ ok: true, forgotten })
      else printFields([['forgotten', forgotten]])
      return 0
    },
  },
}

async function forgetHere(dir: string): Promise<number> {
  const file = join(dir, DATABASE_FILE)
  if (!existsSync(file)) throw new Failed(`database not found: ${file}`)
  const lock = lockDataDir(dir)
  if (lock === 'taken') throw new Failed(`a gateway is running in ${dir}`)
  try {
    return await forgetInFile(file, systemClock)
  } finally {
    lock.release()
  }
}

async function forgetShared(url: string): Promise<number> {
  try {
    return await forgetOnPostgres(url, systemClock)
  } catch (error) {
    throw error instanceof GatewaysRun ? new Failed(error.message) : error
  }
}
