// The embedded store: SQLite in a worker thread that implements the store's contract, with group commit on this side.
import { type AuthenticatedKey, DAY_MS } from '../../domain/key.ts'
import { systemClock } from '../../lib/clock.ts'
import { startThread } from '../../lib/thread.ts'
import { type FlatBatch, packOps, unpackResults } from '../billing/batch-codec.ts'
import { billingClient, COMMIT_BOUNDS, type CommitBounds } from '../billing/billing-client.ts'
import type { BatchResult } from '../billing/group-commit.ts'
import type { BillingOp, BillingResult } from '../billing/transitions.ts'
import type { NodeFacts, Nodes } from '../contract/nodes.ts'
import { type Maintenance, type Store, StoreUnavailable } from '../contract/store.ts'
import { rollUp } from '../roll-up.ts'
import {
  accountsApart,
  keysApart,
  REPORT_BOUNDS,
  type ReportBounds,
  type Repositories,
  readApart,
  usageApart,
} from '../sql/repositories.ts'
import { dropHours, retentionClock } from '../sql/retention.ts'
import type { Message, Raised, Request, Response, Warning, WorkerSetup } from './sqlite-worker.ts'

export type SqliteOptions = {
  readonly path: string
  readonly owner: string
  // Called after every batch with its number of operations and duration, for the metrics.
  readonly onCommit?: (ops: number, ms: number) => void
  // Called when events for webhooks may have been committed.
  readonly onRaised?: (() => void) | undefined
  // What an operator should know.
  readonly onWarning?: (warning: string) => void
  readonly bounds?: Partial<CommitBounds>
  readonly node?: NodeFacts
  readonly reports?: ReportBounds
  readonly failpoints?: WorkerSetup['failpoints']
}

export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const bounds = { ...COMMIT_BOUNDS, ...options.bounds }
  const { gateWaitMsMax } = bounds
  // Without its writer the process is useless: it exits, and its next start recovers open rows.
  const died = (error: Error) => {
    throw error
  }
  const setup = { path: options.path, owner: options.owner, readOnly: false, failpoints: options.failpoints }
  const writer = await openThread(setup, died, options)
  // Two read-only threads: a list or a lookup never waits for a sum over a month, and neither waits for the writer.
  const reading = { open: openReader, bounds: options.reports ?? REPORT_BOUNDS }
  const lists = sqliteReader(reading)
  const reports = sqliteReader(reading)

  function openReader(onDeath: () => void): Promise<Thread> {
    const { msMax } = reading.bounds
    return openThread({ path: options.path, owner: options.owner, readOnly: true, reportMsMax: msMax }, onDeath)
  }

  async function commitOps(ops: readonly BillingOp[]): Promise<readonly BatchResult<BillingResult>[]> {
    const { value, ms } = await writer.ask({ ops: packOps(ops) })
    options.onCommit?.(ops.length, ms)
    const results = unpackResults(value as FlatBatch)
    return results.map(result => (result.ok ? result : { ok: false, error: unavailable(result.error) }))
  }

  // Sums are read in parallel to the writer, and rows deleted a few at a time: commits run in between.
  function sqliteMaintenance(): Maintenance {
    const read = repository('hours', reports.ask)
    const write = repository('hours', writer.ask)
    const retention = repository('retention', writer.ask)
    const clock = retentionClock({ ...systemClock, settings: repository('settings', writer.ask), retention })
    return {
      rollUp: overForMs => rollUp(overForMs, { read, write }),
      ensurePartitions: async () => {},
      applyRetention: async retentionDays => dropHours((await clock.believed()) - retentionDays * DAY_MS, retention),
      believedNow: clock.believed,
      dropWindows: retention.dropWindows,
    }
  }

  const { flush, drained, ...billing } = billingClient(commitOps, bounds)
  return {
    billing: {
      ...billing,
      findKey: async hash => (await within(gateWaitMsMax, writer.ask({ hash }))).value as AuthenticatedKey | undefined,
    },
    keys: keysApart(repository('keys', writer.ask), repository('keys', lists.ask), repository('keys', reports.ask)),
    accounts: accountsApart(
      repository('accounts', writer.ask),
      repository('accounts', lists.ask),
      repository('accounts', reports.ask),
    ),
    finder: repository('finder', lists.ask),
    catalog: readApart('catalog', repository('catalog', writer.ask), repository('catalog', lists.ask)),
    settings: repository('settings', writer.ask),
    gauges: repository('gauges', reports.ask),
    nodes: onlyNode(options),
    operators: readApart('operators', repository('operators', writer.ask), repository('operators', lists.ask)),
    sessions: readApart('sessions', repository('sessions', writer.ask), repository('sessions', lists.ask)),
    portal: readApart('portal', repository('portal', writer.ask), repository('portal', lists.ask)),
    webhooks: readApart('webhooks', repository('webhooks', writer.ask), repository('webhooks', lists.ask)),
    webhookQueue: repository('webhookQueue', writer.ask),
    alarms: repository('alarms', writer.ask),
    events: repository('events', lists.ask),
    usage: usageApart(repository('usage', lists.ask), repository('usage', reports.ask)),
    maintenance: sqliteMaintenance(),
    ping: async () => {
      await within(gateWaitMsMax, writer.ask({ repository: 'settings', method: 'get', args: ['ping'] }))
    },
    async close() {
      flush()
      await drained()
      await Promise.all([lists.close(), reports.close()])
      // Last, so that it merges the log into the file.
      await writer.ask({ close: true })
    },
  }
}

// One process owns the file: it is the only node and has no changes of others to read.
function onlyNode({ owner, node }: SqliteOptions): Nodes {
  return {
    async list() {
      const { name = owner, version = '', startedAt = 0, inFlight = () => 0 } = node ?? {}
      const now = systemClock.now()
      return [{ id: owner, name, version, startedAt, renewedAt: now, state: 'alive', self: true, inFlight: inFlight() }]
    },
    changes: async () => ({ catalogRevision: 0, abortedKeys: [], nodesAlive: 1 }),
    clear: async () => 0,
    leave: async () => {},
    withStartupLock: work => work(),
  }
}

// Waiters get an error after this time, whatever the thread does with the request.
function within<T>(ms: number, answered: Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const late = setTimeout(() => reject(new StoreUnavailable('the database did not respond in time')), ms)
  answered.then(resolve, reject).finally(() => clearTimeout(late))
  return promise
}

function repository<Name extends keyof Repositories>(name: Name, ask: Thread['ask']): Repositories[Name] {
  const methods = new Proxy(
    {},
    {
      get: (_, method) =>
        typeof method === 'string' && method !== 'then'
          ? async (...args: unknown[]) => (await ask({ repository: name, method, args })).value
          : undefined,
    },
  )
  return methods as Repositories[Name]
}

function unavailable(error: unknown): Error {
  return new StoreUnavailable(error instanceof Error ? error.message : String(error))
}

// A read-only thread of the embedded store: opened with the first report, replaced when it exits, with a bounded queue.
// node:sqlite cannot interrupt a statement, so a thread that is silent beyond the time limit is abandoned, and the next report
// gets a new one.
type ReaderNeeds = {
  open(onDeath: () => void): Promise<Thread>
  readonly bounds: ReportBounds
}

type SqliteReader = { ask(message: Request): Promise<ThreadReply>; close(): Promise<void> }

function sqliteReader({ open, bounds }: ReaderNeeds): SqliteReader {
  let current: Promise<Thread> | undefined
  let waiting = 0

  function thread(): Promise<Thread> {
    if (current !== undefined) return current
    const forget = () => {
      if (current === opened) current = undefined
    }
    const opened = open(forget).catch((error: Error) => {
      forget()
      throw new StoreUnavailable(error.message)
    })
    current = opened
    return opened
  }

  async function ask(message: Request): Promise<ThreadReply> {
    if (waiting >= bounds.waitingMax) throw new StoreUnavailable('too many queued reports')
    waiting += 1
    const opened = thread()
    let timer: NodeJS.Timeout | undefined
    try {
      const asked = await opened
      timer = setTimeout(() => giveUp(asked, opened), bounds.msMax + bounds.statementMsMax)
      return await asked.ask(message)
    } finally {
      waiting -= 1
      clearTimeout(timer)
    }
  }

  function giveUp(asked: Thread, opened: Promise<Thread>): void {
    if (current === opened) current = undefined
    asked.kill()
  }

  return {
    ask,
    async close() {
      // One that could not be opened, or has exited, has nothing to close.
      await current?.then(thread => thread.ask({ close: true })).catch(() => undefined)
    },
  }
}

// A thread of the embedded store: called by messages, each answered once; all waiters are notified when it ends.
type ThreadReply = { readonly value: unknown; readonly ms: number }
type Waiter = { readonly resolve: (reply: ThreadReply) => void; readonly reject: (error: Error) => void }
type Thread = {
  ask(message: Request): Promise<ThreadReply>
  // Ends it immediately; waiters get the error that the store is unavailable.
  kill(): void
}

// Starts the thread and waits until it has opened (and migrated) the database; its errors are thrown here.
async function openThread(
  setup: WorkerSetup,
  onDeath: (error: Error) => void,
  { onWarning, onRaised }: Pick<SqliteOptions, 'onWarning' | 'onRaised'> = {},
): Promise<Thread> {
  const worker = startThread('./sqlite-worker', import.meta.url, setup, { youngMb: 8 })
  // A reader answers in order of completion; 0 is the thread's own opening.
  const waiting = new Map<number, Waiter>()
  let lastId = 0
  let dead: Error | undefined

  const opened = new Promise<ThreadReply>((resolve, reject) => waiting.set(0, { resolve, reject }))
  worker.on('message', (response: Response | Warning | Raised) => {
    if ('warning' in response) return onWarning?.(response.warning)
    if ('raised' in response) return onRaised?.()
    const waiter = waiting.get(response.id)
    waiting.delete(response.id)
    if ('error' in response) waiter?.reject(new StoreUnavailable(response.error))
    else waiter?.resolve(response)
  })
  let state: 'opening' | 'open' | 'closing' = 'opening'
  let cause = new Error('the database thread exited')
  worker.on('error', (reason: unknown) => {
    cause = reason instanceof Error ? reason : new Error(String(reason))
  })
  // Emitted after an error, and also without one.
  worker.on('exit', () => {
    dead = state === 'opening' ? cause : new StoreUnavailable(cause.message)
    for (const waiter of waiting.values()) waiter.reject(dead)
    waiting.clear()
    if (state === 'open') onDeath(cause)
  })
  await opened
  state = 'open'

  return {
    ask(message) {
      if (dead !== undefined) return Promise.reject(dead)
      if ('close' in message) state = 'closing'
      return new Promise((resolve, reject) => {
        lastId += 1
        waiting.set(lastId, { resolve, reject })
        worker.postMessage({ id: lastId, request: message } satisfies Message)
      })
    },
    kill() {
      state = 'closing'
      dead = new StoreUnavailable('the database thread was terminated')
      for (const waiter of waiting.values()) waiter.reject(dead)
      waiting.clear()
      void worker.terminate()
    },
  }
}
