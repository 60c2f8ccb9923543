// Accounts with one key each, as many as wanted, written into a store before a gateway starts on it: the admin API would need
// minutes for them. The load generator knows their secrets by number.

import { createHash, randomUUIDv7 } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Nano } from '../src/domain/credits.ts'
import type { Repositories } from '../src/store/sql/repositories.ts'
import type { Sql } from '../src/store/sql/sql.ts'

// The folder of an embedded database, or the address of a Postgres.
export type StorePlace = { readonly folder: string } | { readonly url: string }

const ACTOR = { name: 'bench', address: 'local' }
const PREFIX = 'svc_live_'
const SECRET_CHARS = 43
const FUNDS: Nano = 1_000_000_000_000n
const TENANTS_IN_ONE_COMMIT = 5_000
// Postgres gets their statements in one go, without waiting for each answer.
const TENANTS_AT_ONCE = 100
const NO_TIMEOUT_MS = 600_000

// All have the same length.
export function tenantSecret(tenant: number): string {
  return PREFIX + String(tenant).padStart(SECRET_CHARS, '0')
}

// By the code of the checkout that will run on it, whose schema may be another. With fewer accounts than tenants, the keys of the
// last tenants belong to the first account.
export async function seedTenants(root: string, place: StorePlace, tenants: number, accounts = tenants): Promise<void> {
  if ('folder' in place) await seedSqlite(root, place.folder, { tenants, accounts })
  else await seedPostgres(root, place.url, { tenants, accounts })
}

type Counts = { readonly tenants: number; readonly accounts: number }

async function seedSqlite(root: string, folder: string, counts: Counts): Promise<void> {
  const { DATABASE_FILE } = await load<typeof import('../src/store/sqlite/lock.ts')>(root, 'sqlite/lock')
  const { openSqlite } = await load<typeof import('../src/store/sqlite/sqlite.ts')>(root, 'sqlite/sqlite')
  const { sqliteSql } = await load<typeof import('../src/store/sqlite/sql.ts')>(root, 'sqlite/sql')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, DATABASE_FILE)
  const migrated = await openSqlite({ path, owner: 'bench' })
  await migrated.close()
  const sql = sqliteSql(path, await clockOf(root))
  sql.db.exec('PRAGMA synchronous = OFF')
  await createTenants(root, sql, counts)
  sql.close()
}

// Vacuumed and analysed at once: otherwise the server would do it during the rounds.
async function seedPostgres(root: string, url: string, counts: Counts): Promise<void> {
  const { openPostgres } = await load<typeof import('../src/store/postgres/postgres.ts')>(root, 'postgres/postgres')
  const { openPostgresSql, POSTGRES_BOUNDS } = await load<typeof import('../src/store/postgres/sql.ts')>(
    root,
    'postgres/sql',
  )
  const clock = await clockOf(root)
  const migrated = await openPostgres({ url, owner: 'bench', clock })
  await migrated.close()
  const bounds = { ...POSTGRES_BOUNDS, statementTimeoutMs: NO_TIMEOUT_MS, answerTimeoutMs: NO_TIMEOUT_MS }
  const sql = await openPostgresSql({ url, clock, bounds, isHot: true })
  await createTenants(root, sql, counts)
  await sql.run('VACUUM ANALYZE')
  await sql.close()
}

async function createTenants(root: string, sql: Sql, { tenants, accounts }: Counts): Promise<void> {
  const { sqlRepositories } = await load<typeof import('../src/store/sql/repositories.ts')>(root, 'sql/repositories')
  const ids = Array.from({ length: accounts }, () => newId('acct'))
  for (let first = 0; first < tenants; first += TENANTS_IN_ONE_COMMIT) {
    const end = Math.min(first + TENANTS_IN_ONE_COMMIT, tenants)
    await sql.transaction(async tx => {
      // What would be a transaction of its own becomes a part of this one.
      const repositories = sqlRepositories({ ...tx, transaction: work => work(tx) })
      for (let tenant = first; tenant < end; tenant += TENANTS_AT_ONCE) {
        const several = Array.from({ length: Math.min(TENANTS_AT_ONCE, end - tenant) }, (_, i) => tenant + i)
        await Promise.all(
          several.map(async each => {
            const accountId = ids[each]
            if (accountId !== undefined) await createAccount(repositories, accountId, each)
            await createKey(repositories, accountId ?? ids[0] ?? '', each)
          }),
        )
      }
    })
  }
}

async function createAccount({ accounts }: Repositories, accountId: string, tenant: number): Promise<void> {
  await accounts.create({ id: accountId, name: `tenant ${tenant}` }, ACTOR)
  const credits = { id: randomUUIDv7(), accountId, amount: FUNDS, note: null, idempotencyKey: 'bench' }
  await accounts.addCredits(credits, ACTOR)
}

async function createKey({ keys }: Repositories, accountId: string, tenant: number): Promise<void> {
  const name = `tenant ${tenant}`
  const secret = tenantSecret(tenant)
  const hash = createHash('sha256').update(secret).digest('hex')
  const stored = { hash, prefix: PREFIX, last4: secret.slice(-4) }
  const scopes = ['chat.completions', 'embeddings'] as const
  const limits = { rpmLimit: 10_000_000, dailyLimit: null, creditLimit: null, maxConcurrent: 10_000, expiresAt: null }
  await keys.create({ id: newId('key'), accountId, name, scopes, ipAllowlist: [], ...limits, secret: stored }, ACTOR)
}

function newId(kind: string): string {
  return `${kind}_${randomUUIDv7().replaceAll('-', '')}`
}

async function clockOf(root: string) {
  const { systemClock } = await load<typeof import('../src/lib/clock.ts')>(root, '../lib/clock')
  return systemClock
}

// A module of another checkout's store.
async function load<Module>(root: string, name: string): Promise<Module> {
  return (await import(join(root, 'src', 'store', `${name}.ts`))) as Module
}
