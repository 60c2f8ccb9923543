// Maintenance on Postgres: one node at a time, under a session lock; a node that finds it taken skips the run.
import { DAY_MS } from '../../domain/key.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Maintenance } from '../contract/maintenance.ts'
import { retentionClock } from '../retention-clock.ts'
import { rollUp } from '../roll-up.ts'
import { sqlRetention } from '../sql/retention.ts'
import { sqlSettings } from '../sql/settings.ts'
import { int } from '../sql/sql.ts'
import { sqlHours } from '../sql/usage/hours.ts'
import { isLockTimeout } from './errors.ts'
import { dropPartition, makePartitions } from './partitions.ts'
import { DATABASE_TIME, lockOf, type PostgresSql } from './sql.ts'

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
  }
}
