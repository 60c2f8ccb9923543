// Stores on one database file, each as a process of its own would open it, with an account and a key to spend from.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { join } from 'node:path'
import { priceSnapshot } from '../../src/domain/catalog.ts'
import { costOf, NO_TOKENS, type Tokens } from '../../src/domain/credits.ts'
import { auditDatabase } from '../../src/store/audit.ts'
import type { Checkpoint, GateAsk, Settlement, Store } from '../../src/store/contract.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import { temporaryFolder } from './folder.ts'

const ACTOR = { name: 'test', address: 'local' }
// Pico-credits a token: a thousandth of a nano-credit, so that one token of either kind costs 1 or 2 nano-credits.
const PRICES = { prompt: 1000n, completion: 2000n, cacheRead: 1000n, cacheWrite: 1000n, request: 0n }
const PRICE = priceSnapshot(PRICES)

export type House = AsyncDisposable & {
  // How many operations each batch of the first store held.
  readonly batches: readonly number[]
  readonly store: Store
  // Another process on the same file.
  another(): Promise<Store>
  balance(): Promise<{ available: bigint; held: bigint; spent: bigint; owed: bigint }>
  ledger(): Promise<readonly string[]>
  ask(requestId: string, change?: Partial<GateAsk>): GateAsk
}

export async function openHouse(available: bigint): Promise<House> {
  const folder = await temporaryFolder()
  const path = join(folder.path, 'turnpike.db')
  const batches: number[] = []
  const stores = [await openSqlite({ path, owner: 'first', onCommit: ops => batches.push(ops) })]
  const store = stores[0] as Store
  await store.accounts.create({ id: 'acct', name: 'test' }, ACTOR)
  if (available > 0n) {
    const credits = { id: randomUUIDv7(), accountId: 'acct', amount: available, note: null, idempotencyKey: 'once' }
    await store.accounts.addCredits(credits, ACTOR)
  }
  const key = await store.keys.create(newKey(), ACTOR)
  assert.ok(key !== 'no_account')

  return {
    batches,
    store,
    async another() {
      const next = await openSqlite({ path, owner: randomUUIDv7() })
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
    ask: (requestId, change = {}) => ({
      facts: facts(requestId),
      keyVersion: key.version,
      graceExpiresAt: null,
      evenIfSuspended: false,
      modelRequested: 'm',
      stream: false,
      entry: {
        kind: 'hold',
        base: 0n,
        outputPrice: PRICES.completion,
        outputTokens: 50,
        outputTokensMin: null,
        priceVersion: 'v1',
        price: PRICE,
      },
      ...change,
    }),
    async [Symbol.asyncDispose]() {
      for (const each of stores) await each.close()
      const report = auditDatabase(path, { idle: true, now: Date.now() })
      await folder[Symbol.asyncDispose]()
      assert.ok(report.ok, JSON.stringify(report))
    },
  }
}

export function bill(requestId: string, tokens: Partial<Tokens>, change: Partial<Settlement> = {}): Settlement {
  const counted = { ...NO_TOKENS, ...tokens }
  return {
    requestId,
    outcome: 'completed',
    httpStatus: 200,
    errorCode: null,
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

function newKey() {
  return {
    id: 'key',
    accountId: 'acct',
    name: 'test',
    scopes: ['chat.completions'] as const,
    ipAllowlist: [],
    rpmLimit: 300,
    dailyLimit: null,
    creditLimit: null,
    maxConcurrent: 100,
    expiresAt: null,
    secret: { hash: 'a'.repeat(64), prefix: 'svc_live_', last4: 'abcd' },
  }
}

function facts(requestId: string): GateAsk['facts'] {
  return {
    requestId,
    clientRequestId: null,
    accountId: 'acct',
    keyId: 'key',
    secretLast4: 'abcd',
    endpoint: 'chat.completions',
    clientIp: '127.0.0.1',
    createdAt: Date.now(),
  }
}
