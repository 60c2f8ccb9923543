// Stores on one database of any engine, each as a separate process would open it, with an account and a key to spend
// from.

import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { priceSnapshot } from '../../src/domain/catalog.ts'
import { costOf, NO_TOKENS, type Tokens } from '../../src/domain/credits.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { auditDatabase } from '../../src/store/audit/audit.ts'
import type { AuditReport } from '../../src/store/audit/passes.ts'
import { auditPostgres } from '../../src/store/audit/postgres.ts'
import type { Checkpoint, ReservationRequest, Settlement, Store } from '../../src/store/contract/store.ts'
import { NO_ERROR } from '../../src/store/contract/store.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'
import { temporaryFolder } from './folder.ts'
import { freshSchema, hasPostgres } from './postgres.ts'

const ACTOR = { name: 'test', address: 'local' }
// Pico-credits per token: a thousandth of a nano-credit, so that one token of either kind costs 1 or 2 nano-credits.
export const PRICES = { prompt: 1000n, completion: 2000n, cacheRead: 1000n, cacheWrite: 1000n, request: 0n }
export const PRICE = priceSnapshot(PRICES)

// A row that costs nothing.
export const UNBILLED = { kind: 'unbilled', outcome: 'completed', httpStatus: 200, ...NO_ERROR } as const

type OnCommit = (ops: number) => void
// A database, and how the processes that share it open it.
type Database = {
  // Its location: a file, or a URL.
  readonly url: string
  open(owner: string, onCommit?: OnCommit): Promise<Store>
  audit(): Promise<AuditReport>
  tamper(statement: string): Promise<void>
  all(statement: string): Promise<readonly Record<string, unknown>[]>
  end(): PromiseLike<void>
}
export type GateEngine = { readonly engine: string; make(): Promise<Database> }

export const GATE_ENGINES: readonly GateEngine[] = [
  { engine: 'sqlite', make: sqliteDatabase },
  ...(hasPostgres() ? [{ engine: 'postgres', make: postgresDatabase }] : []),
]

type EventFacts = Readonly<Record<string, unknown>> & { readonly subject?: { readonly object: string } }

export type Fixture = AsyncDisposable & {
  // The number of operations in each batch of the first store.
  readonly batches: readonly number[]
  readonly store: Store
  readonly url: string
  // Another process on the same database.
  another(): Promise<Store>
  balance(): Promise<{ available: bigint; held: bigint; spent: bigint; owed: bigint }>
  ledger(): Promise<readonly string[]>
  // The events of webhooks, oldest first.
  outbox(): Promise<readonly { readonly type: string; readonly data: EventFacts }[]>
  // Changes the database without the store's knowledge.
  tamper(statement: string): Promise<void>
  // Damages the database permanently; returns the invariants that the audit then finds broken.
  plant(statement: string): Promise<readonly string[]>
  ask(requestId: string, change?: Partial<ReservationRequest>): ReservationRequest
  // If the test sets the times of rows, a key's daily count cannot match its rows: it is counted again before the audit.
  clearDaysAtEnd(): void
}

export async function openFixture(make: GateEngine['make'], available: bigint): Promise<Fixture> {
  const database = await make()
  const batches: number[] = []
  let isDamaged = false
  let clearsDays = false
  const stores = [await database.open('first', ops => batches.push(ops))]
  const store = stores[0] as Store
  await store.accounts.create({ id: 'acct', name: 'test' }, ACTOR)
  if (available > 0n) {
    const credits = { id: randomUUIDv7(), accountId: 'acct', amount: available, note: null, idempotencyKey: 'once' }
    await store.accounts.addCredits(credits, ACTOR)
  }
  const key = await store.keys.create(newKey(), ACTOR)
  assert.ok(key !== 'no_account')
  await database.tamper(`INSERT INTO price (model_id, version, price, created_at) VALUES ('m', 'v1', '${PRICE}', 1)`)

  // A change of keys finds balances in their tables, not in a journal.
  const flush = async () => void (await Promise.all(stores.map(each => each.keys.markEnds())))

  return {
    batches,
    store,
    url: database.url,
    async tamper(statement) {
      await flush()
      await database.tamper(statement)
    },
    async plant(statement) {
      isDamaged = true
      await flush()
      await database.tamper(statement)
      const { findings } = await database.audit()
      return findings.filter(({ broken }) => broken > 0).map(({ invariant }) => invariant)
    },
    async another() {
      const next = await database.open(randomUUIDv7())
      stores.push(next)
      return next
    },
    async balance() {
      const { available, held, spent, owed } = (await store.accounts.get('acct'))!.balance
      return { available, held, spent, owed }
    },
    // Oldest first, without the top-up.
    async ledger() {
      const { data } = (await store.accounts.ledger('acct', { limit: 100 }))!
      const booked = data.filter(entry => entry.kind !== 'topup').map(entry => `${entry.kind} ${entry.amount}`)
      return booked.reverse()
    },
    async outbox() {
      const rows = await database.all('SELECT type, data FROM outbox ORDER BY id')
      return rows.map(({ type, data }) => ({ type: String(type), data: JSON.parse(String(data)) as EventFacts }))
    },
    ask: (requestId, change = {}) => ({
      facts: facts(requestId),
      keyVersion: key.version,
      graceExpiresAt: null,
      evenIfSuspended: false,
      isRefusalCounted: false,
      modelRequested: 'm',
      stream: false,
      entry: {
        kind: 'hold',
        base: 0n,
        baseAtBest: null,
        outputPrice: PRICES.completion,
        outputTokens: 50,
        outputTokensMin: null,
        priceVersion: 'v1',
        price: PRICE,
      },
      ...change,
    }),
    clearDaysAtEnd() {
      clearsDays = true
    },
    async [Symbol.asyncDispose]() {
      for (const each of stores) await each.close()
      if (clearsDays) await database.tamper(COUNT_DAYS)
      const report = await database.audit()
      await database.end()
      assert.equal(report.ok, !isDamaged, JSON.stringify(report))
    },
  }
}

const COUNT_DAYS = `UPDATE key_balance SET day_count = (SELECT COUNT(*) FROM usage u WHERE u.key_id = key_balance.key_id
  AND u.created_at / 86400000 = key_balance.day AND u.outcome <> 'refused')`

async function sqliteDatabase(): Promise<Database> {
  const folder = await temporaryFolder()
  const path = join(folder.path, 'turnpike.db')
  return {
    url: path,
    open: (owner, onCommit = () => {}) => openSqlite({ path, owner, onCommit }),
    audit: async () => auditDatabase(path, { idle: true, now: Date.now() }),
    async tamper(statement) {
      using db = new DatabaseSync(path, { timeout: 5000 })
      db.exec(statement)
    },
    async all(statement) {
      using db = new DatabaseSync(path, { timeout: 5000 })
      return db.prepare(statement).all()
    },
    end: () => folder[Symbol.asyncDispose](),
  }
}

// Without leases: each of these processes considers every other one dead, as on one file.
async function postgresDatabase(): Promise<Database> {
  const schema = await freshSchema()
  const { url } = schema
  return {
    url,
    open: (owner, onCommit = () => {}) => openPostgres({ url, owner, onCommit, clock: systemClock, leaseMs: 0 }),
    audit: () => auditPostgres(url, { idle: true, now: Date.now() }),
    async tamper(statement) {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query(statement).finally(() => client.end())
    },
    async all(statement) {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      return (await client.query(statement).finally(() => client.end())).rows
    },
    end: () => schema[Symbol.asyncDispose](),
  }
}

export function bill(requestId: string, tokens: Partial<Tokens>, change: Partial<Settlement> = {}): Settlement {
  const counted = { ...NO_TOKENS, ...tokens }
  return {
    requestId,
    outcome: 'completed',
    httpStatus: 200,
    ...NO_ERROR,
    finishReason: 'stop',
    modelServed: 'm',
    provider: 'up',
    attempts: null,
    routing: null,
    tokens: counted,
    usageSource: 'upstream',
    cost: costOf(counted, PRICES),
    upstreamCost: null,
    priceVersion: 'v1',
    price: PRICE,
    firstByteAt: null,
    finishedAt: Date.now(),
    upstreamId: null,
    ...change,
  }
}

export function checkpoint(requestId: string, tokens: Partial<Tokens>): Checkpoint {
  const counted = { ...NO_TOKENS, ...tokens }
  const cost = costOf(counted, PRICES)
  return {
    requestId,
    dispatchedAt: Date.now(),
    provider: 'up',
    model: 'm',
    tokens: counted,
    cost,
    priceVersion: null,
    price: null,
  }
}

export function newKey(id = 'key') {
  return {
    id,
    accountId: 'acct',
    name: 'test',
    scopes: ['chat.completions'] as const,
    ipAllowlist: [],
    rpmLimit: 300,
    dailyLimit: null,
    creditLimit: null,
    maxConcurrent: 100,
    expiresAt: null,
    // It blocks nothing and raises no event; the audit proves its windows after everything that a test does.
    budgets: [{ amount: 10n ** 15n, window: 'week', action: 'alert', thresholds: [] }] as const,
    secret: { hash: id.padEnd(64, 'a'), prefix: 'svc_live_', last4: 'abcd' },
  }
}

function facts(requestId: string): ReservationRequest['facts'] {
  return {
    requestId,
    clientRequestId: null,
    accountId: 'acct',
    keyId: 'key',
    secretLast4: 'abcd',
    endpoint: 'chat.completions',
    clientIp: '127.0.0.1',
    createdAt: Date.now(),
    tags: null,
  }
}

// Of the first reservation of each batch, without repetitions.
export function kindsOf(results: readonly (readonly unknown[])[]): readonly unknown[] {
  return [...new Set(results.map(([result]) => (result as { value: { kind: string } }).value.kind))]
}
