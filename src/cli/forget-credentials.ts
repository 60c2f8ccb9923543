// `turnpike forget-credentials`: the way out when the encryption key is lost. Provider credentials that nobody can open any
// more are deleted, so that the gateway starts again; everything else stays.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { loadDatabaseUrl, loadDataDir } from '../config.ts'
import { systemClock } from '../lib/clock.ts'
import { DATABASE_FILE, lockDataDir } from '../store/lock.ts'
import { openPostgresSql } from '../store/postgres-sql.ts'
import { forgetCredentials } from '../store/sql/forget-credentials.ts'
import { sqliteSql } from '../store/sqlite-sql.ts'
import { BadUsage, type Command, Failed } from './command.ts'
import { printFields, printJson } from './table.ts'

const ACTOR = { name: 'command line', address: 'local' }

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
  const sql = sqliteSql(file, systemClock)
  try {
    return await forgetCredentials(sql, ACTOR)
  } finally {
    sql.close()
    lock.release()
  }
}

// Nodes that run would go on with what they have opened already, and find nothing at their next start.
async function forgetShared(url: string): Promise<number> {
  const sql = await openPostgresSql({ url, clock: systemClock })
  try {
    const { rows } = await sql.withClient(client => client.query<{ nodes: bigint }>(LIVE_NODES))
    const nodes = Number(rows[0]?.nodes)
    if (nodes > 0) throw new Failed(`${nodes} ${nodes === 1 ? 'gateway runs' : 'gateways run'} on this database`)
    return await forgetCredentials(sql, ACTOR)
  } finally {
    await sql.close()
  }
}

const LIVE_NODES = `SELECT count(*) AS nodes FROM node
  WHERE renewed_at > floor(extract(epoch FROM clock_timestamp()) * 1000) - 20000`
