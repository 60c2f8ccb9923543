// The nodes that share a Postgres database: the list of their leases, and one small, frequent query for all changes by the
// others. See docs/decisions/cluster.md.
import { DAY_MS } from '../../domain/key.ts'
import type { NodeEntry, Nodes } from '../contract/nodes.ts'
import { CATALOG_REVISION } from '../sql/catalog/rows.ts'
import { ABORT_STREAMS } from '../sql/keys.ts'
import { int, type Row, text } from '../sql/sql.ts'
import { timePrefix } from '../sql/time-order.ts'
import { END_LEASE, type Lease } from './lease.ts'
import { DATABASE_TIME, lockOf, type PostgresSql } from './sql.ts'

const LISTED_MAX = 1000
// An event has the time at which its transaction began and becomes visible when it has ended: events younger than the longest
// transaction are read again.
const OVERLAP_MS = 30_000
// A first start waits for that of another node, which may wait for a reader of its output.
const TURN_WAIT_MS = 60_000

export function postgresNodes(sql: PostgresSql, lease: Lease): Nodes {
  const { owner, leaseMs, facts } = lease
  let heardAt: number | undefined

  function read(row: Row): NodeEntry {
    const self = text(row.owner) === owner
    return {
      id: text(row.owner),
      name: text(row.name),
      version: text(row.version),
      startedAt: int(row.started_at),
      renewedAt: int(row.renewed_at),
      state: int(row.silent_ms) < leaseMs ? 'alive' : 'silent',
      self,
      inFlight: self ? facts.inFlight() : int(row.in_flight),
    }
  }

  return {
    async list() {
      const rows = await sql.all(LIST)
      return rows.map(read)
    },
    async changes() {
      const since = timePrefix((heardAt ?? sql.now()) - OVERLAP_MS)
      const row = await sql.get(NEWS, [since, leaseMs])
      heardAt = int(row?.now)
      return {
        catalogRevision: int(row?.revision),
        abortedKeys: text(row?.aborted).split(',').filter(Boolean),
        nodesAlive: Math.max(1, int(row?.alive)),
      }
    },
    clear: () => sql.run(CLEAR, [owner, DAY_MS]),
    leave: async () => void (await sql.run(END_LEASE, [owner])),
    withStartupLock: work =>
      sql.withClient(async client => {
        await client.query(BEGIN_TURN)
        await client.query({ text: TAKE_TURN, query_timeout: TURN_WAIT_MS } as { text: string })
        try {
          return await work()
        } finally {
          await client.query('ROLLBACK')
        }
      }),
  }
}

const LIST = `SELECT owner, name, version, started_at, renewed_at, in_flight, ${DATABASE_TIME} - renewed_at AS silent_ms
  FROM node ORDER BY started_at, owner LIMIT ${LISTED_MAX}`

const NEWS = `SELECT ${DATABASE_TIME} AS now,
  (SELECT value FROM setting WHERE name = '${CATALOG_REVISION}') AS revision,
  (SELECT COUNT(*) FROM node WHERE renewed_at > ${DATABASE_TIME} - $2::bigint) AS alive,
  (SELECT string_agg(DISTINCT subject, ',') FROM event WHERE id > $1 AND action = '${ABORT_STREAMS}') AS aborted`

const CLEAR = `DELETE FROM node n WHERE owner <> $1 AND renewed_at < ${DATABASE_TIME} - $2::bigint
  AND NOT EXISTS (SELECT 1 FROM usage u WHERE u.owner = n.owner AND u.state = 'open')`

// Held by a transaction and not by the session, so that a connection pooler cannot lose it.
const BEGIN_TURN = `BEGIN; SET LOCAL lock_timeout = ${TURN_WAIT_MS}; SET LOCAL statement_timeout = ${TURN_WAIT_MS};
  SET LOCAL idle_in_transaction_session_timeout = ${2 * TURN_WAIT_MS}`
const TAKE_TURN = `SELECT pg_advisory_xact_lock(${lockOf('turn')})`
