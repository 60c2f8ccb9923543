// Which nodes live, by the database's clock: each sweep renews its node's lease. Another node's rows are taken only by
// one that has itself renewed without a gap for a whole lease while the other was silent; else an outage of the database
// would make every node sweep every other.
import type { PoolClient } from 'pg'
import type { NodeFacts } from './contract-nodes.ts'
import { DATABASE_TIME } from './postgres-sql.ts'
import { int, type Row, text } from './sql/sql.ts'

export type Lease = { readonly owner: string; readonly leaseMs: number; readonly facts: NodeFacts }

// Of one sweep, so that a backlog never makes one long transaction; the next sweep takes the rest.
const ROWS_MAX = 2000

// Renews, and answers the request ids of open rows that nobody stands behind.
export async function findAbandoned(client: PoolClient, live: readonly string[], lease: Lease): Promise<string[]> {
  const { owner, leaseMs, facts } = lease
  const saysOfItself = [facts.name, facts.version, facts.startedAt, facts.inFlight()]
  const renewed = (await client.query<Row>(RENEW, [owner, leaseMs, ...saysOfItself])).rows[0]
  const silentSince = int(renewed?.now) - leaseMs
  const mayTakeOthers = int(renewed?.since) <= silentSince
  const { rows } = await client.query<Row>(ABANDONED, [owner, live, mayTakeOthers, silentSince])
  return rows.map(row => text(row.request_id))
}

// For a node that has settled its last row: whatever is open of it now has nobody behind it, and others need not wait.
export const END_LEASE = 'DELETE FROM node WHERE owner = $1'

const RENEW = `INSERT INTO node (owner, since, renewed_at, name, version, started_at, in_flight)
    VALUES ($1, ${DATABASE_TIME}, ${DATABASE_TIME}, $3, $4, $5, $6)
  ON CONFLICT (owner) DO UPDATE SET renewed_at = excluded.renewed_at, in_flight = excluded.in_flight,
    since = CASE WHEN node.renewed_at < excluded.renewed_at - $2::bigint THEN excluded.since ELSE node.since END
  RETURNING since, renewed_at AS now`

// A node renews before its first request, so that an owner without a lease is one whose lease was cleared away.
const ABANDONED = `SELECT u.request_id FROM usage u LEFT JOIN node n ON n.owner = u.owner
  WHERE u.state = 'open' AND CASE WHEN u.owner = $1 THEN u.request_id <> ALL ($2)
    ELSE $3 AND COALESCE(n.renewed_at, 0) <= $4 END
  ORDER BY u.request_id LIMIT ${ROWS_MAX}`
