// The unit of work on SQLite caches open rows: each from its hold to its settlement, and no longer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/lib/clock.ts'
import { openRows } from '../../src/store/billing/open-rows.ts'
import { applyOp } from '../../src/store/billing/transitions.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { recordCache } from '../../src/store/sqlite/record-cache.ts'
import { sqliteSql } from '../../src/store/sqlite/sql.ts'
import { billingStatements } from '../../src/store/sqlite/statements.ts'
import { type OpenRecord, openUnitOfWork } from '../../src/store/sqlite/unit-of-work.ts'
import { bill, GATE_ENGINES, openFixture } from '../support/billing-stores.ts'

const [sqlite] = GATE_ENGINES

test('a row is cached while it is open, and removed with its settlement', async () => {
  await using fixture = await openFixture(sqlite!.make, 1000n)
  const sql = sqliteSql(fixture.url, systemClock)
  migrate(sql.db)
  const open = openRows<OpenRecord>()
  const run = billingStatements(sql)
  const parts = { run, owner: 'first', open, records: recordCache(run), uses: new Map<string, number>() }
  const unit = () => openUnitOfWork(parts, Date.now(), 0)
  const inOneGo = (op: Parameters<typeof applyOp>[0]) => {
    const at = unit()
    const result = applyOp(op, at)
    at.end()
    return result
  }

  inOneGo({ do: 'reserve', ask: fixture.ask('r1') })
  const remembered = open.recall('r1')?.requestId
  const settled = inOneGo({ do: 'settle', bill: bill('r1', { prompt: 1 }) })
  sql.close()

  assert.deepEqual([remembered, settled, open.recall('r1')], ['r1', 'settled', undefined])
})
