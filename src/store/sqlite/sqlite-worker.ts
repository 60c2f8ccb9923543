// The thread in which SQLite runs: it is synchronous, so a slow disk here delays only commits, not every open stream. The writer
// answers messages one after the other. Further read-only threads of the same kind serve lists and reports; there a long report
// lets others run between two of its statements.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import type { AuthenticatedKey } from '../../domain/key.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { type FailpointAction, failpoints } from '../../lib/failpoint.ts'
import { threadData } from '../../lib/thread.ts'
import { type FlatBatch, packResults, unpackOps } from '../billing/batch-codec.ts'
import { findAuthenticatedKey } from '../sql/key-rows.ts'
import { raisedCount } from '../sql/outbox.ts'
import { type Repositories, sqlRepositories } from '../sql/repositories.ts'
import type { Sql } from '../sql/sql.ts'
import { sqliteBilling } from './billing.ts'
import { createIfMissing, migrate } from './migrate.ts'
import { sqliteSql } from './sql.ts'
import { usageIndex } from './usage-index.ts'

export type WorkerSetup = {
  readonly path: string
  readonly owner: string
  readonly readOnly: boolean
  // A report that is not done after this long starts no further statement.
  readonly reportMsMax?: number
  // For tests.
  readonly failpoints?: Readonly<Record<string, FailpointAction>> | undefined
}
export type Message = { readonly id: number; readonly request: Request }
export type Request =
  | { readonly ops: FlatBatch }
  | { readonly hash: string }
  | { readonly repository: keyof Repositories; readonly method: string; readonly args: readonly unknown[] }
  | { readonly close: true }
// Without an id: not an answer.
export type Warning = { readonly warning: string }
// Events for webhooks may have been committed.
export type Raised = { readonly raised: true }
export type Response = { readonly id: number } & (
  | { readonly value: unknown; readonly ms: number }
  | { readonly error: string }
)

const setup = threadData<WorkerSetup>()
const port = parentPort
if (port === null) throw new Error('this file is a worker')

if (!setup.readOnly) createIfMissing(setup.path)
const sql = sqliteSql(setup.path, systemClock, { readOnly: setup.readOnly })
if (!setup.readOnly) {
  // First, since it refuses a foreign file, which must stay unchanged.
  migrate(sql.db)
  // FULL: an acknowledged commit survives a power cut.
  sql.db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 1000')
  // One process owns the file: leases of earlier processes are over.
  sql.db.exec('UPDATE webhook SET owner = NULL, leased_until = NULL WHERE owner IS NOT NULL')
}
sql.db.exec('PRAGMA cache_size = -2000; PRAGMA temp_store = MEMORY')

// How long a balance may be in the journal alone.
const WRITE_BACK_MS = 1000

const failpoint = failpoints(setup.failpoints ?? {})
const WARNED_EVERY_MS = 60_000
let warnedAt = Number.NEGATIVE_INFINITY

const billing = setup.readOnly
  ? undefined
  : sqliteBilling(sql, setup.owner, { onForeignWrite: warnOfWriter, failpoint })
const index = setup.readOnly ? undefined : usageIndex(sql, { failpoint })
const writingBack = billing && setInterval(billing.writeBackOrLater, WRITE_BACK_MS).unref()
const repositories = sqlRepositories(sql)
const readTurns = readerTurns(systemClock)
// A report has its own deadline.
const repositoriesFor = () => {
  if (!setup.readOnly) return repositories
  const deadline = systemClock.monotonic() + (setup.reportMsMax ?? Number.POSITIVE_INFINITY)
  return sqlRepositories(inTurns(sql, deadline, readTurns))
}

port.on('message', async ({ id, request }: Message) => {
  const started = systemClock.monotonic()
  const before = raisedCount()
  try {
    // Billing operations are answered at once; all others wait only for their own promises.
    const value = 'ops' in request ? commitOps(request.ops) : await answer(request)
    port.postMessage({ id, value, ms: systemClock.monotonic() - started } satisfies Response)
  } catch (error) {
    port.postMessage({
      id,
      error: error instanceof Error ? error.message : String(error),
    } satisfies Response)
  }
  if (raisedCount() !== before) port.postMessage({ raised: true } satisfies Raised)
  if ('close' in request) port.close()
})
port.postMessage({ id: 0, value: 'open', ms: 0 } satisfies Response)

// One that keeps writing would be noticed with every batch.
function warnOfWriter(): void {
  const now = systemClock.monotonic()
  if (now - warnedAt < WARNED_EVERY_MS) return
  warnedAt = now
  const warning = 'another process has changed the database; balances are read again'
  port?.postMessage({ warning } satisfies Warning)
}

function commitOps(ops: FlatBatch): FlatBatch {
  if (billing === undefined) return []
  try {
    return packResults(billing.commit(unpackOps(ops)))
  } finally {
    index?.added(billing.takeInserted())
  }
}

async function answer(request: Exclude<Request, { ops: FlatBatch }>): Promise<unknown> {
  if ('hash' in request) return findKey(request.hash)
  if ('close' in request) return close()
  const repository = repositoriesFor()[request.repository] as unknown as Record<
    string,
    (...args: readonly unknown[]) => Promise<unknown>
  >
  const method = repository[request.method]
  if (method === undefined) throw new Error(`no method ${request.repository}.${request.method}`)
  const call = () => method(...request.args)
  const isOfBalances = request.repository === 'keys' || request.repository === 'accounts'
  const value = await (billing !== undefined && isOfBalances ? billing.apart(call) : call())
  if (request.repository === 'hours') billing?.lookAtClaims()
  return value
}

// The count of the day as of now; the stored one may be a second old.
async function findKey(hash: string): Promise<AuthenticatedKey | undefined> {
  const found = await findAuthenticatedKey(hash, sql)
  const known = found && billing?.knownKey(found.key.id)
  return found && known ? { ...found, day: known.day, dayCount: known.dayCount } : found
}

async function close(): Promise<void> {
  clearInterval(writingBack)
  await index?.close()
  billing?.writeBack()
  sql.close()
}

// Turns between the reports of one read-only thread: SQLite is synchronous, so a report that has used the thread for a while lets
// others run before its next statement, and one past its deadline starts no further statement.

// Shorter than a person notices, longer than a turn of the event loop.
const TURN_MS = 5

type ReaderTurns = { next(deadline: number): Promise<void> }

function readerTurns(clock: Pick<Clock, 'monotonic'>): ReaderTurns {
  let turnBegan = clock.monotonic()
  return {
    async next(deadline) {
      if (clock.monotonic() - turnBegan > TURN_MS) {
        await nextTurn()
        turnBegan = clock.monotonic()
      }
      if (clock.monotonic() > deadline) throw new Error('the report took too long; narrow the time range or filter')
    },
  }
}

function inTurns(sql: Sql, deadline: number, turns: ReaderTurns): Sql {
  return {
    ...sql,
    async all(text, params) {
      await turns.next(deadline)
      return sql.all(text, params)
    },
    async get(text, params) {
      await turns.next(deadline)
      return sql.get(text, params)
    },
  }
}
