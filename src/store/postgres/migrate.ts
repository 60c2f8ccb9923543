// Migrates a Postgres database to the newest schema, one file of `migrations-postgres/` after the other. An advisory lock lets
// one node do it while the others wait, and all of it is one transaction: a start that is killed midway leaves nothing.
import type { PoolClient } from 'pg'
import { migrationsIn, newerVersion } from '../migration-files.ts'
import { lockOf } from './sql.ts'

const FOLDER = new URL('./migrations-postgres/', import.meta.url)
const SERVER_VERSION_MIN = 150_000
// Another node may be running a long migration; a start can wait longer than a request.
const WAIT_MS = 120_000

// What a transfer from another database leaves here: its source, and whether it is finished.
export const MOVE_TABLE = 'turnpike_move'

// The schema versions that a database has been migrated to.
export const SCHEMA_TABLE = 'turnpike_schema'

class UnfitDatabase extends Error {}

// `moving` is the transfer that calls this itself; nothing else can start on an unfinished one.
export async function migratePostgres(client: PoolClient, moving?: string): Promise<void> {
  await refuseUnfit(client)
  // What is read under the lock must not be older than the lock, whatever the server's default is.
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
  try {
    await lockMigrations(client)
    if (moving === undefined) await refuseHalfTransferred(client)
    await bringUp(client, moving !== undefined)
    await client.query('COMMIT')
  } catch (error) {
    // A lost connection has rolled back by itself; the original error matters.
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

// Until the end of the transaction.
export async function lockMigrations(client: PoolClient): Promise<void> {
  await client.query(`SET LOCAL lock_timeout = ${WAIT_MS}; SET LOCAL statement_timeout = ${WAIT_MS}`)
  await ask(client, `SELECT pg_advisory_xact_lock(${lockOf('migrations')})`)
}

async function refuseHalfTransferred(client: PoolClient): Promise<void> {
  const [table] = await ask(client, `SELECT to_regclass('${MOVE_TABLE}')::text AS found`)
  if (table?.found === null) return
  const halves = await ask(client, `SELECT source FROM ${MOVE_TABLE} WHERE state <> 'done'`)
  if (halves.length > 0) {
    throw new UnfitDatabase('a migration into it is unfinished; run the same "turnpike migrate" again')
  }
}

async function refuseUnfit(client: PoolClient): Promise<void> {
  const [server] = await ask(
    client,
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding`,
  )
  if (Number(server?.version) < SERVER_VERSION_MIN) throw new UnfitDatabase('Postgres 15 or newer is required')
  await refuseReadOnly(client)
  if (server?.encoding !== 'UTF8')
    throw new UnfitDatabase(`the database encoding is ${server?.encoding}; it must be UTF8`)
}

// A server that has become read-only reports it with the code of a refused write (25006), so the connection is discarded: the
// next one may reach its successor.
export async function refuseReadOnly(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ writable: number }>(
    `SELECT (current_setting('transaction_read_only') = 'off' AND NOT pg_is_in_recovery())::int AS writable`,
  )
  if (Number(rows[0]?.writable) === 1) return
  const error = new UnfitDatabase('the server is read-only')
  throw Object.assign(error, { code: '25006', severity: 'ERROR' })
}

// Settings of the server, role or database with which an acknowledged commit may be lost.
export async function unsafeSettings(client: PoolClient): Promise<readonly string[]> {
  const rows = await ask(
    client,
    `SELECT name FROM unnest(ARRAY['synchronous_commit', 'fsync']) AS name WHERE current_setting(name) = 'off'`,
  )
  return rows.map(row => String(row.name))
}

async function bringUp(client: PoolClient, isTransfer: boolean): Promise<void> {
  await client.query(`CREATE TABLE IF NOT EXISTS ${SCHEMA_TABLE} (version BIGINT PRIMARY KEY, migrated_at TIMESTAMPTZ)`)
  const [newest] = await ask(client, `SELECT COALESCE(MAX(version), 0) AS version FROM ${SCHEMA_TABLE}`)
  const version = Number(newest?.version)
  const migrations = migrationsIn(FOLDER)
  if (version > migrations.length) return refuseNewer(client, version, migrations.length, isTransfer)
  for (const [index, text] of migrations.entries()) {
    if (index < version) continue
    await ask(client, text)
    await ask(client, `INSERT INTO ${SCHEMA_TABLE} (version, migrated_at) VALUES (${index + 1}, now())`)
  }
  // Only now: the first migrations are older than the column.
  for (const [index, text] of migrations.entries()) {
    if (index < version) continue
    await ask(client, `UPDATE ${SCHEMA_TABLE} SET serves_from = ${servesFrom(text)} WHERE version = ${index + 1}`)
  }
}

// The oldest schema whose code may keep serving, and start again, after this migration.
export function servesFrom(migration: string): number {
  const [, oldest] = /^-- serves: (\d+)$/m.exec(migration) ?? []
  if (oldest === undefined) throw new Error('a migration does not say from which schema on code may serve on it')
  return Number(oldest)
}

// A node of an older version may restart during a rolling update, unless a newer migration says that it is too old. A transfer
// writes every column, and must know them all.
async function refuseNewer(client: PoolClient, version: number, known: number, isTransfer: boolean): Promise<void> {
  const [since] = await ask(
    client,
    `SELECT MAX(COALESCE(serves_from, version)) AS oldest FROM ${SCHEMA_TABLE} WHERE version > ${known}`,
  )
  if (!isTransfer && Number(since?.oldest) <= known) return
  throw new UnfitDatabase(`the database is ${newerVersion(version, known)}`)
}

// A migration may take long, so the driver's own query timeout does not apply.
async function ask(client: PoolClient, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return (await client.query<Record<string, unknown>>({ text, query_timeout: WAIT_MS } as { text: string })).rows
}
