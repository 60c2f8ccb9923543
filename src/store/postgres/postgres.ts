// The store on Postgres, which many nodes may share: group commit on each node, admin changes over a separate pool, lists and
// reports over two more, so that neither a long list nor a long wait delays a commit.
import type { AuthenticatedKey } from '../../domain/key.ts'
import { batcher } from '../../lib/batcher.ts'
import type { Clock } from '../../lib/clock.ts'
import { billingClient, COMMIT_BOUNDS, type CommitBounds } from '../billing/billing-client.ts'
import type { BatchResult } from '../billing/group-commit.ts'
import type { BillingOp, BillingResult } from '../billing/transitions.ts'
import type { NodeFacts } from '../contract/nodes.ts'
import { type Store, StoreUnavailable } from '../contract/store.ts'
import { findAuthenticatedKeys } from '../sql/key-rows.ts'
import { raisedCount } from '../sql/outbox.ts'
import { accountsApart, keysApart, REPORT_BOUNDS, readApart, sqlRepositories, usageApart } from '../sql/repositories.ts'
import { postgresBilling } from './billing.ts'
import { postgresMaintenance } from './maintenance.ts'
import { migratePostgres, refuseReadOnly, unsafeSettings } from './migrate.ts'
import { postgresNodes } from './nodes.ts'
import { openPostgresSql, POSTGRES_BOUNDS } from './sql.ts'

export type PostgresOptions = {
  readonly url: string
  // This node; new with every start.
  readonly owner: string
  readonly clock: Clock
  // Called after every batch with its number of operations and duration, for the metrics.
  readonly onCommit?: (ops: number, ms: number) => void
  // Called when events for webhooks may have been committed.
  readonly onRaised?: (() => void) | undefined
  readonly bounds?: Partial<CommitBounds>
  // A node that has not swept for this long counts as dead; it sweeps every few seconds.
  readonly leaseMs?: number
  readonly node?: NodeFacts
  // Called with the settings with which the server may lose an acknowledged commit; an error thrown by it ends the opening.
  readonly onUnsafe?: (settings: readonly string[]) => void
}

// Per statement.
const LOOKUPS_MAX = 256

// The default for a node.
const LEASE_MS = 20_000

// One batch runs at a time; the second connection is for a batch whose first one broke.
const HOT = { ...POSTGRES_BOUNDS, connectionsMax: 2 }
const { msMax, statementMsMax } = REPORT_BOUNDS
const REPORTS = {
  ...POSTGRES_BOUNDS,
  connectionsMax: 2,
  statementTimeoutMs: msMax,
  answerTimeoutMs: msMax + statementMsMax,
}
// Pages and searches take bounded steps, so none needs as long as a sum.
const LISTS = { ...POSTGRES_BOUNDS, connectionsMax: 2 }

export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const { url, owner, clock, leaseMs = LEASE_MS, onCommit } = options
  const [hotSql, repositorySql, listSql, reportSql] = await Promise.all([
    openPostgresSql({ url, clock, bounds: HOT, isHot: true }),
    openPostgresSql({ url, clock }),
    openPostgresSql({ url, clock, bounds: LISTS }),
    openPostgresSql({ url, clock, bounds: REPORTS }),
  ])
  const end = () => Promise.all([hotSql.close(), repositorySql.close(), listSql.close(), reportSql.close()])
  await hotSql
    .withClient(async client => {
      const unsafe = await unsafeSettings(client)
      if (unsafe.length > 0) options.onUnsafe?.(unsafe)
      await migratePostgres(client)
    })
    .catch(async error => {
      await end()
      throw error
    })

  const facts = options.node ?? { name: owner, version: '', startedAt: clock.now(), inFlight: () => 0 }
  const lease = { owner, leaseMs, facts }
  const { commit } = postgresBilling(hotSql, lease)

  // Others may raise some meanwhile: then it is called once too often.
  async function thenTell<T>(work: () => Promise<T>): Promise<T> {
    const before = raisedCount()
    try {
      return await work()
    } finally {
      if (raisedCount() !== before) options.onRaised?.()
    }
  }

  async function commitOps(ops: readonly BillingOp[]): Promise<readonly BatchResult<BillingResult>[]> {
    const started = clock.monotonic()
    const results = await thenTell(() => commit(ops))
    onCommit?.(ops.length, clock.monotonic() - started)
    return results.map(result => (result.ok ? result : { ok: false, error: unavailable(result.error) }))
  }
  const { flush, drained, ...billing } = billingClient(commitOps, { ...COMMIT_BOUNDS, ...options.bounds })
  const repositories = sqlRepositories(repositorySql)
  const lists = sqlRepositories(listSql)
  const reports = sqlRepositories(reportSql)
  // A flood of unknown keys costs a few statements, and no valid key among them waits for long (docs/decisions/key-lookups.md).
  const caller = batcher<string, AuthenticatedKey>(hashes => findAuthenticatedKeys(hashes, repositorySql), LOOKUPS_MAX)
  const { withStartupLock: inTurn, ...nodes } = postgresNodes(repositorySql, lease)

  return {
    billing: { ...billing, findKey: hash => caller(hash).catch(throwAway) },
    keys: keysApart(orUnavailable(repositories.keys, thenTell), orUnavailable(lists.keys), orUnavailable(reports.keys)),
    accounts: accountsApart(
      orUnavailable(repositories.accounts, thenTell),
      orUnavailable(lists.accounts),
      orUnavailable(reports.accounts),
    ),
    finder: orUnavailable(lists.finder),
    catalog: readApart('catalog', orUnavailable(repositories.catalog), orUnavailable(lists.catalog)),
    settings: orUnavailable(repositories.settings),
    gauges: orUnavailable(reports.gauges),
    nodes: { ...orUnavailable(nodes), withStartupLock: inTurn },
    operators: readApart('operators', orUnavailable(repositories.operators), orUnavailable(lists.operators)),
    sessions: readApart('sessions', orUnavailable(repositories.sessions), orUnavailable(lists.sessions)),
    portal: readApart('portal', orUnavailable(repositories.portal), orUnavailable(lists.portal)),
    webhooks: readApart('webhooks', orUnavailable(repositories.webhooks, thenTell), orUnavailable(lists.webhooks)),
    webhookQueue: orUnavailable(repositories.webhookQueue, thenTell),
    alarms: orUnavailable(repositories.alarms, thenTell),
    events: orUnavailable(lists.events),
    usage: orUnavailable(usageApart(lists.usage, reports.usage)),
    maintenance: orUnavailable(postgresMaintenance(owner, repositorySql, reportSql)),
    ping: () => repositorySql.withClient(refuseReadOnly).catch(throwAway),
    async close() {
      flush()
      await drained()
      await nodes.leave().catch(() => undefined)
      await end()
    },
  }
}

type Methods = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>

// A database error is never the caller's fault.
function orUnavailable<Repository extends Methods>(
  repository: Repository,
  around: <T>(work: () => Promise<T>) => Promise<T> = work => work(),
): Repository {
  const methods = Object.entries(repository).map(([name, method]) => [
    name,
    (...args: never[]) => around(() => method(...args)).catch(throwAway),
  ])
  return Object.fromEntries(methods) as Repository
}

function throwAway(error: unknown): never {
  throw unavailable(error)
}

function unavailable(error: unknown): Error {
  return new StoreUnavailable(error instanceof Error ? error.message : String(error), { cause: error })
}
