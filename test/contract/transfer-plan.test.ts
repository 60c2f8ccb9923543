// A transfer from SQLite to Postgres is complete: each table and column of one schema maps to the other, and everything
// Postgres has in addition is listed here by name.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { systemClock } from '../../src/lib/clock.ts'
import { migratePostgres } from '../../src/store/postgres/migrate.ts'
import { openPostgresSql } from '../../src/store/postgres/sql.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { planTransfer, STAYS, sourceShape, targetShape } from '../../src/store/transfer/plan.ts'
import { freshSchema, hasPostgres } from '../support/postgres.ts'

// Tables and columns of Postgres only, each with the reason why a transfer may leave it at its initial value.
const POSTGRES_ONLY: Readonly<Record<string, string>> = {
  node: 'which nodes are alive there',
  turnpike_schema: 'which migrations were made there',
}

if (hasPostgres()) {
  test('every table and column of SQLite is transferred, and Postgres has no other', async t => {
    await using fixture = await bothSchemas()
    const { db, shape, plan } = fixture
    const moved = plan.flatMap(table => table.columns.map(column => `${table.name}.${column.name}`))

    await t.test('nothing of the source is left out', () => {
      const here = Object.entries(sourceShape(db))
        .filter(([table]) => !STAYS.includes(table))
        .flatMap(([table, columns]) => columns.map(column => `${table}.${column.name}`))
      assert.deepEqual(moved.toSorted(), here.toSorted())
      assert.ok(moved.includes('usage.routing') && moved.includes('credential.sealed'))
    })

    await t.test('nothing of the target is left empty without a reason', () => {
      const there = Object.entries(shape).flatMap(([table, columns]) =>
        Object.hasOwn(POSTGRES_ONLY, table) ? [] : columns.map(column => `${table}.${column.name}`),
      )
      assert.deepEqual(
        there.filter(name => !moved.includes(name) && !Object.hasOwn(POSTGRES_ONLY, name)),
        [],
      )
    })

    await t.test('parents come before their children, and tables that the long ones reference come first', () => {
      const order = plan.map(table => table.name)
      for (const [parent, child] of [
        ['account', 'api_key'],
        ['api_key', 'secret'],
        ['provider', 'credential'],
      ] as const) {
        assert.ok(order.indexOf(parent) < order.indexOf(child), `${parent}, ${child}`)
      }
      assert.deepEqual(
        plan.filter(table => table.first).map(table => table.name),
        ['account'],
      )
      assert.deepEqual(
        plan
          .filter(table => table.role === 'ahead')
          .map(table => table.name)
          .toSorted(),
        ['event', 'ledger', 'usage'],
      )
    })
  })

  test('an unmapped column refuses the transfer by its name', async () => {
    await using fixture = await bothSchemas()
    fixture.db.exec('ALTER TABLE account ADD COLUMN nickname TEXT')

    await assert.rejects(
      fixture.again(),
      /account\.nickname \(TEXT\) does not exist in the target; nothing was migrated/,
    )
  })
}

async function bothSchemas() {
  const db = new DatabaseSync(':memory:')
  migrate(db)
  const schema = await freshSchema()
  const sql = await openPostgresSql({ url: schema.url, clock: systemClock })
  await sql.withClient(migratePostgres)
  const again = () => sql.withClient(client => planTransfer(db, client))
  return {
    db,
    again,
    plan: await again(),
    shape: await sql.withClient(targetShape),
    async [Symbol.asyncDispose]() {
      db.close()
      await sql.close()
      await schema[Symbol.asyncDispose]()
    },
  }
}
