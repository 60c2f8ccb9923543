// The outbox of both engines: events are written with what they report, and those with the same `once` are one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OutboxEvent } from '../../../src/domain/events.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { openRows } from '../../../src/store/billing/open-rows.ts'
import { openPostgresSql } from '../../../src/store/postgres/sql.ts'
import { openPostgresUnitOfWork, type RowOwner } from '../../../src/store/postgres/unit-of-work.ts'
import { emit, eventIdAt } from '../../../src/store/sql/outbox.ts'
import type { Row } from '../../../src/store/sql/sql.ts'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { recordCache } from '../../../src/store/sqlite/record-cache.ts'
import { sqliteSql } from '../../../src/store/sqlite/sql.ts'
import { billingStatements } from '../../../src/store/sqlite/statements.ts'
import { type OpenRecord, openUnitOfWork } from '../../../src/store/sqlite/unit-of-work.ts'
import { GATE_ENGINES, openFixture } from '../../support/billing-stores.ts'
import { ENGINES, openRepositories } from '../../support/engines.ts'

const ROWS = 'SELECT id, once, type, account_id, data, fanned_out FROM outbox WHERE type = $1 ORDER BY id'

for (const { engine, open } of ENGINES) {
  test(`${engine}: events of a transaction sort as they were raised, and share its fate`, async () => {
    await using fixture = await openRepositories(open)
    const { sql } = fixture

    await sql.transaction(async tx => {
      for (const once of ['a', 'b', null, 'a', null]) await emit(tx, low(once))
    })
    await assert.rejects(
      sql.transaction(async tx => {
        await emit(tx, low('c'))
        throw new Error('rolled back')
      }),
    )
    await sql.transaction(tx => emit(tx, low('b')))

    const rows = await sql.all(ROWS, ['balance.low'])
    assert.deepEqual(
      rows.map(row => row.once),
      ['a', 'b', null, null],
    )
    assert.deepEqual(written(rows[0]), { type: 'balance.low', account: 'acct', data: low(null).data, out: 0 })
  })
}

for (const { engine, make } of GATE_ENGINES) {
  test(`${engine}: a billing batch writes its events once`, async () => {
    await using fixture = await openFixture(make, 1000n)
    const raise = engine === 'sqlite' ? raiseOnSqlite : raiseOnPostgres

    await raise(fixture.url, ['once', 'once', null])
    const rows = await raise(fixture.url, ['once', null])

    assert.deepEqual(
      rows.map(row => row.once),
      ['once', null, null],
    )
    assert.deepEqual(written(rows[0]), { type: 'balance.low', account: 'acct', data: low(null).data, out: 0 })
  })
}

test('ids of events sort as they were made, also more than 4,096 in a millisecond and while times overlap', () => {
  const at = Date.now()
  const ids = Array.from({ length: 10_000 }, (_, i) => eventIdAt(at - (i % 3)))

  assert.deepEqual(ids.toSorted(), ids)
  assert.equal(new Set(ids).size, ids.length)
  assert.ok(eventIdAt(at - 3_600_000) < ids[0]!, 'a clock that was set back by an hour is followed')
})

function low(once: string | null): OutboxEvent {
  const data = { account_id: 'acct', account_name: 'nul \u0000 and "quotes"', available: '1', threshold: '2' }
  return { type: 'balance.low', accountId: 'acct', once, data }
}

function written(row: Row | undefined) {
  const { type, account_id: account, data, fanned_out: out } = row!
  return { type, account, data: JSON.parse(String(data)), out: Number(out) }
}

async function raiseOnSqlite(path: string, onces: readonly (string | null)[]): Promise<readonly Row[]> {
  const sql = sqliteSql(path, systemClock)
  migrate(sql.db)
  const run = billingStatements(sql)
  const records = recordCache(run)
  const unit = openUnitOfWork(
    { run, owner: 'first', open: openRows<OpenRecord>(), records, uses: new Map() },
    Date.now(),
    0,
  )
  for (const once of onces) unit.emit(low(once))
  unit.end()
  const rows = await sql.all(ROWS, ['balance.low'])
  sql.close()
  return rows
}

async function raiseOnPostgres(url: string, onces: readonly (string | null)[]): Promise<readonly Row[]> {
  const sql = await openPostgresSql({ url, clock: systemClock })
  const facts = { name: 'test', version: '', startedAt: 0, inFlight: () => 0 }
  const deps = { lease: { owner: 'test', leaseMs: 0, facts }, batch: 1, owners: openRows<RowOwner>() }
  await sql.withClient(async client => {
    const unit = await openPostgresUnitOfWork(client, [], deps)
    for (const once of onces) unit.emit(low(once))
    await unit.writeBack()
  })
  const rows = await sql.all(ROWS, ['balance.low'])
  await sql.close()
  return rows
}
