// Maintenance on Postgres: one node at a time, under a session lock; a node that finds it taken skips the run.
import { DAY_MS } from '../../domain/key.ts'
import { HOUR_MS, hourOf } from '../../domain/usage.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Maintenance } from '../contract/store.ts'
import { rollUp } from '../roll-up.ts'
import { isUndecided, retentionClock, sqlRetention } from '../sql/retention.ts'
import { sqlSettings } from '../sql/settings.ts'
import { int, type Sql, type Tx, text } from '../sql/sql.ts'
import { ID_SLACK_MS, timePrefix } from '../sql/time-order.ts'
import { sqlHours } from '../sql/usage/hours.ts'
import { DATABASE_TIME, isLockTimeout, lockOf, type PostgresSql } from './sql.ts'

// A node not seen for this long, and of a version that does not version hours, will not write any more.
const SILENT_MS = 60_000

export function postgresMaintenance(owner: string, sql: PostgresSql, reports: PostgresSql): Maintenance {
  const retention = sqlRetention(sql)
  const clock = retentionClock({
    settings: sqlSettings(sql),
    retention,
    now: sql.now,
    monotonic: systemClock.monotonic,
  })
  const hours = { read: sqlHours(reports), write: sqlHours(sql) }

  async function alone<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
    return sql.withClient(async client => {
      const { rows } = await client.query(`SELECT pg_try_advisory_lock(${lockOf('maintenance')})::int AS mine`)
      if (Number(rows[0]?.mine) !== 1) return otherwise
      try {
        return await work()
      } catch (error) {
        // Requests come first: a lock that is not available now is tried another time.
        if (isLockTimeout(error)) return otherwise
        throw error
      } finally {
        await client.query(`SELECT pg_advisory_unlock(${lockOf('maintenance')})`)
      }
    })
  }

  // Every live node must be of a version that increments the versions of claimed hours.
  async function allMark(): Promise<boolean> {
    await sql.run('UPDATE node SET marks_hours = true WHERE owner = $1 AND NOT marks_hours', [owner])
    const others = await sql.get(
      `SELECT COUNT(*) AS n FROM node WHERE NOT marks_hours AND renewed_at > ${DATABASE_TIME} - ${SILENT_MS}`,
    )
    return int(others?.n) === 0
  }

  return {
    async rollUp(overForMs) {
      const nothing = { rolled: 0, more: false }
      if (!(await allMark())) return nothing
      return alone(() => rollUp(overForMs, hours), nothing)
    },
    ensurePartitions: () => alone(() => makePartitions(sql), undefined),
    async applyRetention(retentionDays) {
      const drop = async () => dropPartition(sql, (await clock.believed()) - retentionDays * DAY_MS)
      const dropped = await alone(drop, 0)
      return { dropped, more: dropped > 0 }
    },
    believedNow: clock.believed,
    dropWindows: now => alone(() => retention.dropWindows(now), false),
  }
}

// Monthly partitions of usage rows on Postgres, by the timestamp prefix of request ids. Partitions of the coming months are
// created ahead; old ones are dropped whole, once every hour in them is rolled up. See docs/decisions/usage-reports.md.
const MONTHS_AHEAD = 2

// This month's and the next ones'. Rows that arrive before their partition exists go to `usage_rest` and are moved when it is
// created.
export async function makePartitions(sql: Sql): Promise<void> {
  const made = await partitions(sql)
  // Of the oldest one: a month that a clock far ahead has created says nothing about those before it.
  const end = made[0]?.end
  const names = new Set(made.map(({ name }) => name))
  for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead++) {
    const [from, to] = [monthStart(sql.now(), ahead), monthStart(sql.now(), ahead + 1)]
    if ((end !== undefined && timePrefix(from) < end) || names.has(nameOf(from))) continue
    await sql.transaction(tx => makePartition(tx, from, to), 'partitions')
  }
}

// Created as a separate table and then attached, without blocking readers or writers of the other partitions.
async function makePartition(tx: Tx, from: number, to: number): Promise<void> {
  const name = nameOf(from)
  if ((await tx.get('SELECT to_regclass($1)::text AS found', [name]))?.found !== null) return
  const [first, end] = [timePrefix(from), timePrefix(to)]
  await tx.run(`CREATE TABLE ${name} (LIKE usage INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)`)
  await tx.run(
    `WITH strays AS (DELETE FROM usage_rest WHERE request_id >= $1 AND request_id < $2 RETURNING *)
     INSERT INTO ${name} SELECT * FROM strays`,
    [first, end],
  )
  await tx.run(`ALTER TABLE usage ATTACH PARTITION ${name} FOR VALUES FROM ('${first}') TO ('${end}')`)
}

// Drops the oldest partition, if all of it is before that time. Returns how many hours it contained.
export async function dropPartition(sql: Sql, before: number): Promise<number> {
  return sql.transaction(async tx => {
    const oldest = (await partitions(tx))[0]
    // Its last ids may belong to rows of the next hour: that one is deleted with it.
    const end = oldest === undefined ? undefined : hourOf(startOf(oldest.end)) + 1
    if (oldest === undefined || end === undefined || end * HOUR_MS > before) return 0
    if (!(await mayGo(tx, end))) return 0
    await tx.run('DELETE FROM usage WHERE request_id >= $1 AND request_id < $2 AND created_at < $3', [
      oldest.end,
      timePrefix(end * HOUR_MS + ID_SLACK_MS),
      end * HOUR_MS,
    ])
    await tx.run(`DROP TABLE ${oldest.name}`)
    await tx.run('DELETE FROM usage_hour_unknown WHERE hour < $1', [end])
    return tx.run('UPDATE usage_rolled SET dropped = 2 WHERE hour < $1 AND dropped < 2', [end])
  }, 'partitions')
}

// Every hour before that one is rolled up, and nothing about its rows is undecided.
async function mayGo(tx: Tx, end: number): Promise<boolean> {
  const hours = await tx.get(
    `SELECT MIN(hour) AS first, COALESCE(SUM(CASE WHEN mark <> rolled_mark THEN 1 ELSE 0 END), 0) AS pending
     FROM usage_rolled WHERE hour < $1 AND dropped < 2`,
    [end],
  )
  const claimed = await tx.get('SELECT MAX(hour) AS last FROM usage_rolled')
  if (int(hours?.pending) !== 0) return false
  // Without a claim there may be rows that are not rolled up; where there never were rows, there is nothing to wait for.
  if (int(claimed?.last) < end - 1) return (await tx.get('SELECT 1 AS one FROM usage LIMIT 1')) === undefined
  return hours?.first == null || !(await isUndecided(tx, int(hours.first), end))
}

type Partition = { readonly name: string; readonly end: string }

// By their ends, oldest first, without the default partition.
async function partitions(tx: Pick<Tx, 'all'>): Promise<readonly Partition[]> {
  const rows = await tx.all(
    `SELECT c.relname::text AS name, substring(pg_get_expr(c.relpartbound, c.oid) FROM $$TO \\('([^']+)'\\)$$) AS ends
     FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'usage'::regclass AND pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT' ORDER BY 2`,
  )
  return rows.map(row => ({ name: text(row.name), end: text(row.ends) }))
}

function nameOf(monthStart: number): string {
  return `usage_${new Date(monthStart).toISOString().slice(0, 7).replace('-', '_')}`
}

function monthStart(now: number, ahead: number): number {
  const at = new Date(now)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + ahead)
}

function startOf(bound: string): number {
  return Number.parseInt(bound.replace('-', ''), 16)
}
