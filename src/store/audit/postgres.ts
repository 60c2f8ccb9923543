// Audits a Postgres database like `audit` does SQLite: read only, in one snapshot, rows by cursor.
import type { PoolClient } from 'pg'
import { systemClock } from '../../lib/clock.ts'
import { SCHEMA_TABLE } from '../postgres/migrate.ts'
import { openPostgresSql, POSTGRES_BOUNDS } from '../postgres/sql.ts'
import type { Sql } from '../sql/sql.ts'
import { type AuditCounts, auditCounts, type Pass, type PassRow } from './counts.ts'
import {
  type AuditOptions,
  type AuditReport,
  auditPasses,
  NotAuditable,
  ROWS_IN_ALL,
  refuseOlder,
  reportOf,
  watched,
} from './passes.ts'

const ROWS_AT_ONCE = 2000
// Even the first rows of a long join may take long.
const BOUNDS = { ...POSTGRES_BOUNDS, connectionsMax: 1, statementTimeoutMs: 600_000, answerTimeoutMs: 610_000 }

export async function auditPostgres(url: string, options: AuditOptions): Promise<AuditReport> {
  const sql = await openPostgresSql({ url, clock: systemClock, bounds: BOUNDS })
  try {
    return await sql.withClient(async client => {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      await refuseForeign(client)
      // Checks of the database file are left to Postgres itself.
      const counts = auditCounts(options.idle ? ['file'] : ['file', 'I9'])
      for (const pass of await passesOf(client, sql, counts, options)) await run(pass, client)
      await client.query('COMMIT')
      return reportOf(counts)
    })
  } finally {
    await sql.close()
  }
}

async function passesOf(
  client: PoolClient,
  sql: Pick<Sql, 'jsonPairs'>,
  counts: AuditCounts,
  options: AuditOptions,
): Promise<readonly Pass[]> {
  const passes = auditPasses(options.now, counts, sql)
  if (options.onProgress === undefined) return passes
  const { rows } = await client.query<PassRow>(ROWS_IN_ALL)
  return watched(passes, rows[0]?.total, options.onProgress)
}

async function run({ statement, look, end }: Pass, client: PoolClient): Promise<void> {
  await client.query(`DECLARE pass NO SCROLL CURSOR FOR ${statement}`)
  for (;;) {
    const { rows } = await client.query<PassRow>(`FETCH ${ROWS_AT_ONCE} FROM pass`)
    for (const row of rows) look(row)
    if (rows.length < ROWS_AT_ONCE) break
  }
  await client.query('CLOSE pass')
  end?.()
}

async function refuseForeign(client: PoolClient): Promise<void> {
  const { rows } = await client.query<PassRow>(`SELECT to_regclass('${SCHEMA_TABLE}')::text AS found`)
  if (rows[0]?.found === null) throw new NotAuditable('not a Turnpike database')
  const { rows: schemas } = await client.query<PassRow>(`SELECT MAX(version) AS newest FROM ${SCHEMA_TABLE}`)
  refuseOlder(Number(schemas[0]?.newest))
}
