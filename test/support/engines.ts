// The engines that the contract suites run on, and the operator's repositories opened on one of them with a clock that
// only the test advances.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../src/lib/clock.ts'
import type { Actor } from '../../src/store/contract/operator.ts'
import { migratePostgres } from '../../src/store/postgres/migrate.ts'
import { openPostgresSql, POSTGRES_BOUNDS } from '../../src/store/postgres/sql.ts'
import { sqlRepositories } from '../../src/store/sql/repositories.ts'
import type { Sql } from '../../src/store/sql/sql.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { sqliteSql } from '../../src/store/sqlite/sql.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'
import { freshSchema, hasPostgres } from './postgres.ts'

export type Engine = { readonly engine: string; open(clock: Clock): Promise<OpenEngine> }
export type OpenEngine = { readonly sql: Sql; close(): Promise<void> }

export const ENGINES: readonly Engine[] = [
  { engine: 'sqlite', open: openSqlite },
  ...(hasPostgres() ? [{ engine: 'postgres', open: openPostgres }] : []),
]

// For a property test in which every run has its own database: on Postgres that takes most of its time.
export const runsOn = (engine: string, runs: number) => (engine === 'sqlite' ? runs : Math.ceil(runs / 5))

export const OPERATOR: Actor = { name: 'operator', address: '192.0.2.7' }

export type Repositories = Awaited<ReturnType<typeof openRepositories>>

export async function openRepositories(open: Engine['open'], clock: ManualClock = manualClock()) {
  const { sql, close } = await open(clock)
  return {
    sql,
    clock,
    ...sqlRepositories(sql),
    [Symbol.asyncDispose]: close,
  }
}

async function openSqlite(clock: Clock): Promise<OpenEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'))
  const sql = sqliteSql(join(folder, 'test.db'), clock)
  // These suites do not test durability, and a commit to disk each would make them slow.
  sql.db.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF')
  migrate(sql.db)
  return {
    sql: oneAtATime(sql),
    async close() {
      sql.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

// A hundred concurrent calls wait for a connection longer than a request would.
const PATIENT = { ...POSTGRES_BOUNDS, connectTimeoutMs: 30_000 }

async function openPostgres(clock: Clock): Promise<OpenEngine> {
  const schema = await freshSchema()
  const sql = await openPostgresSql({ url: schema.url, clock, databaseTime: clock.now, bounds: PATIENT })
  await sql.withClient(migratePostgres)
  return {
    sql,
    async close() {
      await sql.close()
      await schema[Symbol.asyncDispose]()
    },
  }
}

// In the product each call is a message to the store's thread, done before the next one is read. Here calls of one tick
// would otherwise run inside each other's transaction.
function oneAtATime(sql: Sql): Sql {
  let last: Promise<unknown> = Promise.resolve()
  function queued<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }
  return {
    ...sql,
    all: (text, params) => queued(() => sql.all(text, params)),
    get: (text, params) => queued(() => sql.get(text, params)),
    run: (text, params) => queued(() => sql.run(text, params)),
    transaction: (work, alone) => queued(() => sql.transaction(work, alone)),
  }
}
