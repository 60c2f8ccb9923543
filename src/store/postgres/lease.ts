// Node leases by the database's clock: each sweep and each batch that writes renews its node's lease. A node takes over another's
// rows only if it has itself renewed without a gap for a whole lease while the other was silent; otherwise a database outage
// would make every node sweep every other. See docs/decisions/postgres-billing.md.
import type { PoolClient } from 'pg'
import type { NodeFacts } from '../contract/nodes.ts'
import { int, type Row, text } from '../sql/sql.ts'
import { DATABASE_TIME } from './sql.ts'

export type Lease = { readonly owner: string; readonly leaseMs: number; readonly facts: NodeFacts }

// Per sweep, so that a backlog never makes one long transaction; the next sweep takes the rest.
const ROWS_MAX = 2000

// Renews, and returns the request ids of open rows without a live request.
export async function findAbandoned(client: PoolClient, live: readonly string[], lease: Lease): Promise<string[]> {
  const { owner, leaseMs } = lease
  const renew = `${renewing('json_to_recordset($1::json)', leaseMs)} RETURNING since, renewed_at AS now`
  const renewed = (await client.query<Row>(renew, [JSON.stringify([nodeValues(lease, NO_BATCH)])])).rows[0]
  const silentSince = int(renewed?.now) - leaseMs
  const mayTakeOthers = int(renewed?.since) <= silentSince
  const { rows } = await client.query<Row>(ABANDONED, [owner, live, mayTakeOthers, silentSince])
  return rows.map(row => text(row.request_id))
}

// For a node that has settled its last row: anything still open has no request, and others need not wait.
export const END_LEASE = 'DELETE FROM node WHERE owner = $1'

// What a node writes into its own row: its lease, and the number of the batch.
export function nodeValues({ owner, facts }: Lease, batch: number) {
  const { name, version, startedAt } = facts
  return { owner, batch, name, version, started_at: startedAt, in_flight: facts.inFlight() }
}

const NO_BATCH = 0
const NODE = 'owner text, batch bigint, name text, version text, started_at bigint, in_flight bigint'

// Written by every batch that writes, in its own transaction: a node that sees an admitted row also sees its lease.
// Otherwise a node that comes back after its lease would admit rows that others take at once.
export function renewing(list: string, leaseMs: number): string {
  return `INSERT INTO node (owner, batch, name, version, started_at, in_flight, since, renewed_at)
    SELECT r.*, ${DATABASE_TIME}, ${DATABASE_TIME} FROM ${list} AS r (${NODE})
    ON CONFLICT (owner) DO UPDATE SET renewed_at = excluded.renewed_at, in_flight = excluded.in_flight,
      batch = CASE WHEN excluded.batch = ${NO_BATCH} THEN node.batch ELSE excluded.batch END,
      since = CASE WHEN node.renewed_at < excluded.renewed_at - ${Math.ceil(leaseMs)} THEN excluded.since
        ELSE node.since END`
}

// The last batch that this node has committed; waits for one that has not ended yet.
export async function lastBatch(client: PoolClient, { owner }: Lease): Promise<number> {
  const { rows } = await client.query<Row>('SELECT batch FROM node WHERE owner = $1 FOR NO KEY UPDATE', [owner])
  return int(rows[0]?.batch ?? 0n)
}

// A node renews before its first request, so an owner without a lease is one whose lease was deleted.
const ABANDONED = `SELECT u.request_id FROM usage u LEFT JOIN node n ON n.owner = u.owner
  WHERE u.state = 'open' AND CASE WHEN u.owner = $1 THEN u.request_id <> ALL ($2)
    ELSE $3 AND COALESCE(n.renewed_at, 0) <= $4 END
  ORDER BY u.request_id LIMIT ${ROWS_MAX}`
