// The contract of Sql on Postgres: one node migrates while the others wait, unfit servers are refused, transactions are
// retried after a deadlock, and a broken connection affects no other.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { systemClock } from '../../../src/lib/clock.ts'
import { migratePostgres } from '../../../src/store/postgres/migrate.ts'
import { LOCKS, openPostgresSql, POSTGRES_BOUNDS, type PostgresSql } from '../../../src/store/postgres/sql.ts'
import { int, type Row, text } from '../../../src/store/sql/sql.ts'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { sqliteSql } from '../../../src/store/sqlite/sql.ts'
import { STAYS } from '../../../src/store/transfer/plan.ts'
import { commitCutter } from '../../support/commit-cutter.ts'
import { freshSchema, hasPostgres } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const MIGRATIONS = new URL('../../../src/store/postgres/migrations-postgres/', import.meta.url)

test('each advisory lock has its own number', () => {
  const numbers = Object.values(LOCKS)

  assert.equal(new Set(numbers).size, numbers.length)
})

if (hasPostgres()) {
  test('four nodes that migrate at once produce the schema of a single migration', async () => {
    await using nodes = await openNodes(4)

    await Promise.all(nodes.all.map(node => node.withClient(migratePostgres)))

    const versions = await nodes.first.all('SELECT version FROM turnpike_schema')
    assert.deepEqual(
      versions.map(row => row.version),
      readdirSync(MIGRATIONS).map((_, i) => BigInt(i + 1)),
    )
  })

  test('both engines have the same tables with the same columns, apart from those that a transfer leaves out', async () => {
    await using nodes = await openNodes(1)
    await nodes.first.withClient(migratePostgres)
    const sqlite = sqliteSql(':memory:', systemClock)
    migrate(sqlite.db)

    const there = await nodes.first.all(
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
       WHERE table_schema = current_schema() AND table_name NOT IN ('turnpike_schema', 'node')
         AND (SELECT NOT relispartition AND relkind <> 'v' FROM pg_class WHERE oid = table_name::regclass)`,
    )
    const here = await sqlite.all(
      `SELECT m.name || '.' || c.name AS name FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'
         AND m.name NOT IN (${STAYS.map(table => `'${table}'`)})`,
    )

    const sorted = (rows: typeof here) => rows.map(row => text(row.name)).sort()
    assert.deepEqual(sorted(there), sorted(here))
    sqlite.close()
  })

  test('a read-only server is refused', async () => {
    await using nodes = await openNodes(1, { default_transaction_read_only: 'on' })

    await assert.rejects(nodes.first.withClient(migratePostgres), /the server is read-only/)
  })

  test('one of two deadlocked transactions is rolled back and retried', async () => {
    await using nodes = await openNodes(2, { deadlock_timeout: '10ms' })
    await nodes.first.run('CREATE TABLE pair (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)')
    await nodes.first.run('INSERT INTO pair VALUES (1, 0), (2, 0)')
    let runs = 0
    const meet = meetingOf(2)
    const crossing = (node: PostgresSql, order: readonly number[]) =>
      node.transaction(async tx => {
        runs += 1
        await tx.run('UPDATE pair SET n = n + 1 WHERE id = $1', [order[0]!])
        await meet()
        await tx.run('UPDATE pair SET n = n + 1 WHERE id = $1', [order[1]!])
      })

    await Promise.all([crossing(nodes.first, [1, 2]), crossing(nodes.all[1]!, [2, 1])])

    // The server may choose both, and they may deadlock again.
    assert.ok(runs >= 3, `ran ${runs} times`)
    assert.deepEqual(await nodes.first.all('SELECT DISTINCT n FROM pair'), [{ n: 2n }])
  })

  test('connections that the server ends fail their queries, and are replaced', async () => {
    await using nodes = await openNodes(2)
    const [broken, other] = nodes.all as [PostgresSql, PostgresSql]
    const mine = await Promise.all([1, 2].map(() => broken.get('SELECT pg_backend_pid() AS pid, pg_sleep(0.1)')))
    const asked = assert.rejects(broken.transaction(tx => tx.get('SELECT pg_sleep(4)')))
    await until('a query is running', async () => (await other.get(BUSY, [pidOf(mine[0]), pidOf(mine[1])]))?.n === 1n)

    for (const row of mine) await other.get('SELECT pg_terminate_backend($1)', [pidOf(row)])
    await asked

    // The notice that an idle connection has ended may arrive just after the query that was to use it.
    const two = () => broken.get('SELECT 1 + 1::bigint AS two').catch(() => undefined)
    await until('queries work again', async () => (await two())?.two === 2n)
  })

  test('every wait has a timeout: for a lock, a statement, an idle transaction and an unresponsive server', async t => {
    await using nodes = await openNodes(2, {}, SHORT)
    const [node, other] = nodes.all as [PostgresSql, PostgresSql]
    await other.run('CREATE TABLE thing (n BIGINT)')

    await t.test('a lock', async () => {
      await other.transaction(async tx => {
        await tx.run('LOCK TABLE thing')
        await assert.rejects(node.run('INSERT INTO thing VALUES (1)'), { code: '55P03' })
      })
    })
    await t.test('a statement', async () => {
      await assert.rejects(node.get('SELECT pg_sleep(5)'), { code: '57014' })
    })
    await t.test('an idle transaction loses its locks', async () => {
      const locked = Promise.withResolvers<void>()
      const idle = node.transaction(async tx => {
        await tx.run('LOCK TABLE thing')
        locked.resolve()
        await setTimeout(2 * SHORT.answerTimeoutMs)
        await tx.run('INSERT INTO thing VALUES (1)')
      })
      const failed = assert.rejects(idle)
      await locked.promise
      const insert = () => other.run('INSERT INTO thing VALUES (2)').catch(() => 0)
      await until('the lock is released', async () => (await insert()) === 1)
      await failed
      assert.deepEqual(await other.all('SELECT n FROM thing'), [{ n: 2n }])
    })
    await t.test('an unresponsive server', async () => {
      await using cutter = await commitCutter(nodes.url)
      const far = await openPostgresSql({ url: cutter.url, clock: systemClock, bounds: SHORT })
      await far.get('SELECT 1')
      cutter.hang(true)

      await assert.rejects(far.get('SELECT 1'), /Query read timeout/)
      await assert.rejects(far.get('SELECT 1'), /timeout/)
      cutter.hang(false)
      assert.ok(await far.get('SELECT 1'))
      await far.close()
    })
  })

  test('a connection to a server that has become read-only is closed, and the next server is used', async () => {
    await using nodes = await openNodes(1, {}, { ...POSTGRES_BOUNDS, connectionsMax: 1 })
    await nodes.first.run('CREATE TABLE thing (n BIGINT)')
    await nodes.first.run('SET default_transaction_read_only = on')
    const insert = () => nodes.first.transaction(tx => tx.run('INSERT INTO thing VALUES (1)'))

    await assert.rejects(insert(), { code: '25006' })
    assert.equal(await insert(), 1)
  })

  test("inside a transaction the clock is the database's and does not advance; outside it does", async () => {
    await using nodes = await openNodes(1)

    const times = await nodes.first.transaction(async tx => {
      const first = tx.now()
      const row = await tx.get('SELECT extract(epoch FROM now())::bigint AS now, pg_sleep(0.02) IS NULL AS slept')
      return { first, second: tx.now(), database: Number(row?.now) }
    })

    assert.equal(times.first, times.second)
    assert.ok(Math.abs(times.first / 1000 - times.database) <= 2)
    assert.ok(nodes.first.now() >= times.first + 20)
  })
}

// As short as a busy machine allows.
const SHORT = { ...POSTGRES_BOUNDS, lockTimeoutMs: 200, statementTimeoutMs: 500, answerTimeoutMs: 1000 }

async function openNodes(count: number, settings: Readonly<Record<string, string>> = {}, bounds = POSTGRES_BOUNDS) {
  const schema = await freshSchema()
  const url = new URL(schema.url)
  const options = Object.entries(settings).map(([name, value]) => ` -c ${name}=${value}`)
  url.searchParams.set('options', `${url.searchParams.get('options')}${options.join('')}`)
  const all = await Promise.all(
    Array.from({ length: count }, () => openPostgresSql({ url: url.href, clock: systemClock, bounds })),
  )
  return {
    url: url.href,
    all,
    first: all[0]!,
    async [Symbol.asyncDispose]() {
      for (const node of all) await node.close()
      await schema[Symbol.asyncDispose]()
    },
  }
}

// Resolves for all of them when this number has arrived, and at once for later ones.
function meetingOf(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let came = 0
  return () => {
    came += 1
    if (came >= count) resolve()
    return promise
  }
}

const BUSY = `SELECT COUNT(*) AS n FROM pg_stat_activity WHERE pid IN ($1, $2) AND query LIKE '%pg_sleep(4)%'`

function pidOf(row: Row | undefined): number {
  return int(row?.pid)
}
