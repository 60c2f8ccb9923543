// Deletes every stored provider credential, for an operator whose key no longer decrypts them. Only while no gateway runs: a
// running one would continue with what it has decrypted, and find nothing at its next start.
import type { Clock } from '../lib/clock.ts'
import type { Actor } from './contract/operator.ts'
import { DATABASE_TIME, openPostgresSql } from './postgres/sql.ts'
import { stepRevision } from './sql/catalog/rows.ts'
import { appendEvent } from './sql/events.ts'
import { int, type Sql } from './sql/sql.ts'
import { sqliteSql } from './sqlite/sql.ts'

const ACTOR: Actor = { name: 'command line', address: 'local' }

export class GatewaysRun extends Error {}

// The caller has locked the folder of the file.
export async function forgetInFile(file: string, clock: Clock): Promise<number> {
  const sql = sqliteSql(file, clock)
  try {
    return await forget(sql)
  } finally {
    sql.close()
  }
}

export async function forgetOnPostgres(url: string, clock: Clock): Promise<number> {
  const sql = await openPostgresSql({ url, clock })
  try {
    const nodes = int((await sql.get(LIVE_NODES))?.nodes)
    if (nodes > 0)
      throw new GatewaysRun(`${nodes} ${nodes === 1 ? 'gateway is' : 'gateways are'} running on this database`)
    return await forget(sql)
  } finally {
    await sql.close()
  }
}

// Longer than any lease; a node that exits cleanly deletes its row.
const LIVE_NODES = `SELECT count(*) AS nodes FROM node WHERE renewed_at > ${DATABASE_TIME} - 30000`

function forget(sql: Sql): Promise<number> {
  return sql.transaction(async tx => {
    const credentialsForgotten = await tx.run('DELETE FROM credential')
    await appendEvent(tx, ACTOR, 'credentials.forget', 'catalog', { credentialsForgotten })
    await stepRevision(tx)
    return credentialsForgotten
  }, 'catalog')
}
