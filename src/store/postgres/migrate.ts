// Brings a Postgres database to the newest schema, one file of `migrations-postgres/` after the other. An advisory lock
// lets one node do it while the others wait, and all of it is one transaction: a start that is killed midway leaves none.
import type { PoolClient } from 'pg'
import { migrationsIn, newerVersion } from '../migration-files.ts'
import { lockOf } from './sql.ts'

const FOLDER = new URL('./migrations-postgres/', import.meta.url)
const SERVER_VERSION_MIN = 150_000
// Another node may be busy with a long one; a start can wait longer than a request.
const WAIT_MS = 120_000

// What a move from another database leaves here: from which source, and whether it is done.
export const MOVE_TABLE = 'turnpike_move'

// Which versions of the schema a database has been brought to.
export const SCHEMA_TABLE = 'turnpike_schema'

class UnfitDatabase extends Error {}

// `moving` is the move that does this itself; half of one is no database that anybody else could start on.
export async function migratePostgres(client: PoolClient, moving?: string): Promise<void> {
  await refuseUnfit(client)
  // What is read once the lock is had must not be older than the lock, whatever the server's default is.
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
  try {
    await lockMigrations(client)
    if (moving === undefined) await refuseHalfMoved(client)
    await bringUp(client, moving !== undefined)
    await client.query('COMMIT')
  } catch (error) {
    // A connection that is gone has rolled back by itself; what matters is why.
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

// Until the end of the transaction.
export async function lockMigrations(client: PoolClient): Promise<void> {
  await client.query(`SET LOCAL lock_timeout = ${WAIT_MS}; SET LOCAL statement_timeout = ${WAIT_MS}`)
  await ask(client, `SELECT pg_advisory_xact_lock(${lockOf('migrations')})`)
}

async function refuseHalfMoved(client: PoolClient): Promise<void> {
  const [table] = await ask(client, `SELECT to_regclass('${MOVE_TABLE}')::text AS found`)
  if (table?.found === null) return
  const halves = await ask(client, `SELECT source FROM ${MOVE_TABLE} WHERE state <> 'done'`)
  if (halves.length > 0) {
    throw new UnfitDatabase('a move into it is not finished: run the same "turnpike migrate" again')
  }
}

async function refuseUnfit(client: PoolClient): Promise<void> {
  const [server] = await ask(
    client,
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding`,
  )
  if (Number(server?.version) < SERVER_VERSION_MIN) throw new UnfitDatabase('Postgres 15 or newer is needed')
  await refuseReadOnly(client)
  if (server?.encoding !== 'UTF8') throw new UnfitDatabase(`the database is in ${server?.encoding}; it must be in UTF8`)
}

// One that has become read-only says so by the code of a refused write (25006), so that the connection to it is not kept:
// the next one may lead to whoever has taken its place.
export async function refuseReadOnly(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ writable: number }>(
    `SELECT (current_setting('transaction_read_only') = 'off' AND NOT pg_is_in_recovery())::int AS writable`,
  )
  if (Number(rows[0]?.writable) === 1) return
  const error = new UnfitDatabase('the server is read-only: nothing could be booked there')
  throw Object.assign(error, { code: '25006', severity: 'ERROR' })
}

// Settings of the server, or of this role or database, under which a commit that was answered may be lost.
export async function unsafeSettings(client: PoolClient): Promise<readonly string[]> {
  const rows = await ask(
    client,
    `SELECT name FROM unnest(ARRAY['synchronous_commit', 'fsync']) AS name WHERE current_setting(name) = 'off'`,
  )
  return rows.map(row => String(row.name))
}

async function bringUp(client: PoolClient, isMove: boolean): Promise<void> {
  await client.query(`CREATE TABLE IF NOT EXISTS ${SCHEMA_TABLE} (version BIGINT PRIMARY KEY, migrated_at TIMESTAMPTZ)`)
  const [newest] = await ask(client, `SELECT COALESCE(MAX(version), 0) AS version FROM ${SCHEMA_TABLE}`)
  const version = Number(newest?.version)
  const migrations = migrationsIn(FOLDER)
  if (version > migrations.length) return refuseNewer(client, version, migrations.length, isMove)
  for (const [index, text] of migrations.entries()) {
    if (index < version) continue
    await ask(client, text)
    await ask(client, `INSERT INTO ${SCHEMA_TABLE} (version, migrated_at) VALUES (${index + 1}, now())`)
  }
  // Only now: the first of them are older than the column.
  for (const [index, text] of migrations.entries()) {
    if (index < version) continue
    await ask(client, `UPDATE ${SCHEMA_TABLE} SET serves_from = ${servesFrom(text)} WHERE version = ${index + 1}`)
  }
}

// The oldest schema whose code may go on, and start again, on what this migration leaves.
export function servesFrom(migration: string): number {
  const [, oldest] = /^-- serves: (\d+)$/m.exec(migration) ?? []
  if (oldest === undefined) throw new Error('a migration does not say from which schema on code may serve on it')
  return Number(oldest)
}

// A node of an older version may restart amid a rolling update, unless what was migrated since says that it is too old. A
// move writes every column, and must know them all.
async function refuseNewer(client: PoolClient, version: number, known: number, isMove: boolean): Promise<void> {
  const [since] = await ask(
    client,
    `SELECT MAX(COALESCE(serves_from, version)) AS oldest FROM ${SCHEMA_TABLE} WHERE version > ${known}`,
  )
  if (!isMove && Number(since?.oldest) <= known) return
  throw new UnfitDatabase(`the database is ${newerVersion(version, known)}`)
}

// A migration may take its time, so that the driver's own bound on answers does not hold here.
async function ask(client: PoolClient, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return (await client.query<Record<string, unknown>>({ text, query_timeout: WAIT_MS } as { text: string })).rows
}
