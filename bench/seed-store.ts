// Fills a store with seeded usage so that the audit passes: accounts and keys, their top-ups, every row with its charge, and the
// resulting balances.
import { createHash } from 'node:crypto'
import { monthOf } from '../src/domain/budget.ts'
import type { Nano } from '../src/domain/credits.ts'
import { DAY_MS, dayOf } from '../src/domain/key.ts'
import { turnMonth } from '../src/store/billing/balances.ts'
import { sqlRepositories } from '../src/store/sql/repositories.ts'
import type { Param, Sql, Tx } from '../src/store/sql/sql.ts'
import { idAt } from '../src/store/sql/time-order.ts'
import {
  SEED_ACCOUNTS,
  SEED_COLUMNS,
  SEED_KEYS,
  SEED_PRICE_VERSION,
  SEED_PRICES,
  type SeedPlan,
  type SeedRow,
  seedRows,
} from './seed-rows.ts'

const ACTOR = { name: 'seed', address: 'local' }
// Statements are cached by their text: a few sizes, not one for every number of rows.
const SIZES = [32, 1]
const ROWS_IN_ONE_COMMIT = 10_000
const FUNDS: Nano = 1_000_000_000_000n
const LOW_BALANCES: ReadonlyMap<number, Nano> = new Map([
  [3, 250_000_000n],
  [5, 750_000_000n],
])

export async function seedStore(sql: Sql, plan: SeedPlan, onProgress: (rows: number) => void): Promise<void> {
  await makeAccounts(sql)
  const spent = new Map<string, Spent>()
  const days = new Map<string, Day>()
  let written = 0
  for (const commit of batches(seedRows(plan), ROWS_IN_ONE_COMMIT)) {
    await sql.transaction(async tx => {
      await writeRows(tx, commit)
    })
    for (const { account_id, key_id, cost, ...row } of commit) {
      countDay(days, key_id, row)
      for (const id of [account_id, key_id]) spend(spent, id, cost, row.created_at)
    }
    written += commit.length
    onProgress(written)
  }
  await sql.transaction(tx => settleUp(tx, spent, days, plan.until - plan.days * DAY_MS))
}

async function makeAccounts(sql: Sql): Promise<void> {
  const { accounts, keys } = sqlRepositories(sql)
  if ((await accounts.get(SEED_ACCOUNTS[0] as string)) !== undefined) throw new Error('this database is already seeded')
  for (const [i, id] of SEED_ACCOUNTS.entries()) await accounts.create({ id, name: `Customer ${i + 1}` }, ACTOR)
  for (const { model, price } of SEED_PRICES) {
    await sql.run('INSERT INTO price (model_id, version, price, created_at) VALUES ($1, $2, $3, $4)', [
      ...[model, SEED_PRICE_VERSION, price, 0],
    ])
  }
  for (const { id, accountId } of SEED_KEYS) {
    const secret = { hash: createHash('sha256').update(id).digest('hex'), prefix: 'svc_live_', last4: 'seed' }
    const controls = { name: id.replace('key_', ''), scopes: ['chat.completions'] as const, ipAllowlist: [] }
    const limits = { rpmLimit: 300, dailyLimit: null, creditLimit: null, maxConcurrent: 100, expiresAt: null }
    await keys.create({ id, accountId, secret, ...controls, ...limits }, ACTOR)
  }
}

// Rows come in the order of their time, so a key's counter has its last day.
type Day = { readonly day: number; readonly count: number }

function countDay(days: Map<string, Day>, keyId: string, row: Pick<SeedRow, 'created_at' | 'error_code'>): void {
  if (row.error_code === 'insufficient_credits') return
  const day = dayOf(row.created_at)
  const before = days.get(keyId)
  days.set(keyId, { day, count: before?.day === day ? before.count + 1 : 1 })
}

type Spent = { spent: Nano; month: number; monthBase: Nano }

function spend(spent: Map<string, Spent>, id: string, cost: Nano, at: number): void {
  const of = spent.get(id) ?? { ...NOTHING }
  turnMonth(of, monthOf(at), cost)
  of.spent += cost
  spent.set(id, of)
}

const NOTHING: Spent = { spent: 0n, month: 0, monthBase: 0n }

async function writeRows(tx: Tx, rows: readonly SeedRow[]): Promise<void> {
  await insert(
    tx,
    `usage (${SEED_COLUMNS.join(', ')})`,
    rows.map(row => SEED_COLUMNS.map(name => row[name])),
  )
}

// Before its first request every account was topped up by what it would spend and 1,000 credits, except for two that are nearly
// out of credits.
async function settleUp(
  tx: Tx,
  spent: ReadonlyMap<string, Spent>,
  days: ReadonlyMap<string, Day>,
  from: number,
): Promise<void> {
  for (const [i, id] of SEED_ACCOUNTS.entries()) {
    const { spent: cost, month, monthBase } = spent.get(id) ?? NOTHING
    const left = LOW_BALANCES.get(i) ?? FUNDS
    const topup = [id, idAt(from), 'topup', cost + left, from]
    await insert(tx, 'ledger (account_id, id, kind, amount, created_at)', [topup])
    await tx.run('UPDATE account SET available = $1, spent = $2, month = $3, month_base = $4 WHERE id = $5', [
      ...[left, cost, month, monthBase, id],
    ])
  }
  for (const { id } of SEED_KEYS) {
    const { day, count } = days.get(id) ?? { day: 0, count: 0 }
    const { spent: cost, month, monthBase } = spent.get(id) ?? NOTHING
    await tx.run(
      `UPDATE key_balance SET spent = $1, month = $2, month_base = $3, day = $4, day_count = $5 WHERE key_id = $6`,
      [cost, month, monthBase, day, count, id],
    )
  }
}

async function insert(tx: Tx, into: string, rows: readonly (readonly Param[])[]): Promise<void> {
  for (let i = 0; i < rows.length; ) {
    const size = SIZES.find(each => each <= rows.length - i) ?? 1
    const chunk = rows.slice(i, i + size)
    let next = 0
    const values = chunk.map(row => `(${row.map(() => `$${++next}`).join(', ')})`)
    await tx.run(`INSERT INTO ${into} VALUES ${values.join(', ')}`, chunk.flat())
    i += size
  }
}

function* batches<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let batch: T[] = []
  for (const item of items) {
    batch.push(item)
    if (batch.length === size) {
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}
