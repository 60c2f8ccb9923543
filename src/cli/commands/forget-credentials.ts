// `turnpike forget-credentials`: for a lost encryption key. Provider credentials that can no longer be decrypted are deleted, so
// that the gateway starts again; everything else stays.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { loadDatabaseUrl, loadDataDir } from '../../config/config.ts'
import { systemClock } from '../../lib/clock.ts'
import { forgetInFile, forgetOnPostgres, GatewaysRun } from '../../store/forget-credentials.ts'
import { DATABASE_FILE, lockDataDir } from '../../store/sqlite/lock.ts'
import { BadUsage, type Command, Failed } from '../command.ts'
import { printFields, printJson } from '../output.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'forget-credentials --yes',
    about: 'Deletes every stored provider credential, for when the key that sealed them is lost.',
    options: { yes: { about: 'really do it; they cannot be brought back' } },
    more: 'Works on what DATABASE_URL names, or else on TURNPIKE_DATA_DIR, while no gateway runs there. Enter the\ncredentials again afterwards.',
    async run(input) {
      if (!input.flag('yes')) throw new BadUsage('this cannot be undone: say --yes')
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
  if (!existsSync(file)) throw new Failed(`there is no database at ${file}`)
  const lock = lockDataDir(dir)
  if (lock === 'taken') throw new Failed(`a gateway is running on ${dir}`)
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
