// The embedded store: SQLite in a worker thread behind the store's contract, with group commit on this side of it.
import type { Bearer } from '../domain/key.ts'
import { systemClock } from '../lib/clock.ts'
import { startThread } from '../lib/thread.ts'
import { type Store, StoreAway } from './contract.ts'
import type { NodeFacts, Nodes } from './contract-nodes.ts'
import type { Upkeep } from './contract-upkeep.ts'
import { COMMIT_BOUNDS, type CommitBounds, gateSide } from './gate-side.ts'
import { groupCommit } from './group-commit.ts'
import type { HotOp, HotResult } from './hot-rules.ts'
import { type FlatBatch, packOps, unpackResults } from './hot-wire.ts'
import { rollUp } from './roll-up.ts'
import { dropHours } from './sql/retention.ts'
import type { Rooms } from './sql/rooms.ts'
import type { Request, Response, WorkerSetup } from './sqlite-worker.ts'

export type SqliteOptions = {
  readonly path: string
  readonly owner: string
  // Told after every batch: how many operations shared it and how long it took, for the metrics.
  readonly onCommit?: (ops: number, ms: number) => void
  readonly bounds?: CommitBounds
  readonly node?: NodeFacts
}

export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const bounds = options.bounds ?? COMMIT_BOUNDS
  // Without its writer the process is of no use to anybody: it ends, and its next start recovers what was open.
  const writer = await openThread({ path: options.path, owner: options.owner, readOnly: false }, error => {
    throw error
  })
  let reader: Promise<Thread> | undefined
  const forgetReader = () => {
    reader = undefined
  }
  // One that died, or could not be opened, is replaced when the next report is asked for.
  const openReader = () =>
    openThread({ path: options.path, owner: options.owner, readOnly: true }, forgetReader).catch((error: Error) => {
      forgetReader()
      throw away(error)
    })
  const reports = () => (reader ??= openReader())

  const hot = groupCommit<HotOp, HotResult>(
    async ops => {
      const { value, ms } = await writer.ask({ ops: packOps(ops) })
      options.onCommit?.(ops.length, ms)
      return unpackResults(value as FlatBatch).map(result =>
        result.ok ? result : { ok: false, error: away(result.error) },
      )
    },
    bounds,
    () => new StoreAway('too many writes are waiting for the store'),
  )

  // Sums are read beside the writer, and rows deleted a few at a time: commits come in between.
  function sqliteUpkeep(): Upkeep {
    const read = room('hours', async message => (await reports()).ask(message))
    const write = room('hours', writer.ask)
    const retention = room('retention', writer.ask)
    return {
      rollUp: overForMs => rollUp(overForMs, { read, write }),
      makeRoom: async () => {},
      dropOld: retentionDays => dropHours(retentionDays, retention),
    }
  }

  const { flush, ...gates } = gateSide(hot.submit, bounds.behindMax)
  return {
    gates: {
      ...gates,
      bearer: async hash => (await writer.ask({ hash })).value as Bearer | undefined,
    },
    keys: room('keys', writer.ask),
    accounts: room('accounts', writer.ask),
    catalog: room('catalog', writer.ask),
    settings: room('settings', writer.ask),
    nodes: onlyNode(options),
    operators: room('operators', writer.ask),
    sessions: room('sessions', writer.ask),
    events: room('events', async message => (await reports()).ask(message)),
    usage: room('usage', async message => (await reports()).ask(message)),
    upkeep: sqliteUpkeep(),
    ping: async () => {
      await writer.ask({ room: 'settings', verb: 'get', args: ['ping'] })
    },
    async close() {
      flush()
      await hot.drained()
      if (reader !== undefined) await (await reader).ask({ close: true })
      // Last, so that it takes what is in the log over into the file.
      await writer.ask({ close: true })
    },
  }
}

// One process owns the file: it is all of the nodes, and has nothing to hear from others.
function onlyNode({ owner, node }: SqliteOptions): Nodes {
  return {
    async list() {
      const { name = owner, version = '', startedAt = 0, inFlight = () => 0 } = node ?? {}
      const now = systemClock.now()
      return [{ id: owner, name, version, startedAt, renewedAt: now, state: 'alive', self: true, inFlight: inFlight() }]
    },
    news: async () => ({ catalogRevision: 0, abortedKeys: [], nodesAlive: 1 }),
    clear: async () => 0,
    leave: async () => {},
    inTurn: work => work(),
  }
}

type ThreadReply = { readonly value: unknown; readonly ms: number }
type Waiter = { readonly resolve: (reply: ThreadReply) => void; readonly reject: (error: Error) => void }
type Thread = { ask(message: Request): Promise<ThreadReply> }

// Starts the thread and waits until it has opened (and migrated) the database; what goes wrong there is thrown here.
async function openThread(setup: WorkerSetup, onDeath: (error: Error) => void): Promise<Thread> {
  const worker = startThread('./sqlite-worker', import.meta.url, setup, { youngMb: 8 })
  // The thread answers in the order in which it was asked.
  const waiting: Waiter[] = []
  let dead: Error | undefined

  const opened = new Promise<ThreadReply>((resolve, reject) => waiting.push({ resolve, reject }))
  worker.on('message', (response: Response) => {
    const waiter = waiting.shift()
    if ('error' in response) waiter?.reject(new StoreAway(response.error))
    else waiter?.resolve(response)
  })
  let state: 'opening' | 'open' | 'closing' = 'opening'
  let cause = new Error("the store's thread has ended")
  worker.on('error', (reason: unknown) => {
    cause = reason instanceof Error ? reason : new Error(String(reason))
  })
  // Comes after an error, and where there was none.
  worker.on('exit', () => {
    dead = state === 'opening' ? cause : away(cause)
    for (const waiter of waiting.splice(0)) waiter.reject(dead)
    if (state === 'open') onDeath(cause)
  })
  await opened
  state = 'open'

  return {
    ask(message) {
      if (dead !== undefined) return Promise.reject(dead)
      if ('close' in message) state = 'closing'
      return new Promise((resolve, reject) => {
        waiting.push({ resolve, reject })
        worker.postMessage(message)
      })
    },
  }
}

function room<Name extends keyof Rooms>(name: Name, ask: Thread['ask']): Rooms[Name] {
  const verbs = new Proxy(
    {},
    {
      get: (_, verb) =>
        typeof verb === 'string' && verb !== 'then'
          ? async (...args: unknown[]) => (await ask({ room: name, verb, args })).value
          : undefined,
    },
  )
  return verbs as Rooms[Name]
}

function away(error: unknown): Error {
  return new StoreAway(error instanceof Error ? error.message : String(error))
}
