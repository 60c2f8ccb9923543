// What a node on Postgres relies on when the outcome of a commit is unknown and after a pause: a number that only its
// own batch can have written, a lease that every reservation renews, and rows that must be unchanged since they were
// read.

import assert from 'node:assert/strict'
import test from 'node:test'
import pg from 'pg'
import { Refusal } from '../../../src/domain/refusal.ts'
import { refusedFields } from '../../../src/domain/refused-row.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { StoreUnavailable } from '../../../src/store/contract/store.ts'
import { openPostgres } from '../../../src/store/postgres/postgres.ts'
import { bill, checkpoint, GATE_ENGINES, openFixture } from '../../support/billing-stores.ts'
import { commitCutter } from '../../support/commit-cutter.ts'
import { until } from '../../support/until.ts'

const postgres = GATE_ENGINES.find(({ engine }) => engine === 'postgres')

if (postgres !== undefined) {
  const { make } = postgres

  test("a row that another node has closed does not prove a node's own commit", async () => {
    await using fixture = await openFixture(make, 1000n)
    await using cutter = await commitCutter(fixture.url)
    const other = await fixture.another()
    const node = await openPostgres({ url: cutter.url, owner: 'cut', clock: systemClock, leaseMs: 0 })
    const back = Promise.withResolvers<void>()
    await other.billing.reserve(fixture.ask('abandoned'))
    await node.billing.reserve(fixture.ask('r1'))

    cutter.holdNew(back.promise)
    const cut = cutter.cutNext('before')
    const answers = Promise.all([node.billing.sweep(['r1']), node.billing.settle(bill('r1', { prompt: 10 }))])
    await cut
    await until('the other node has taken the row', async () => (await other.billing.sweep([])) > 0)
    back.resolve()

    assert.deepEqual(await answers, [0, 'corrected'])
    assert.deepEqual(await fixture.ledger(), ['correction -10'])
    assert.deepEqual(await fixture.balance(), { available: 990n, held: 0n, spent: 10n, owed: 0n })
    await node.close()
  })

  for (const where of ['before', 'after'] as const) {
    test(`operations without a row are also applied once when the connection breaks ${where} a commit`, async () => {
      await using fixture = await openFixture(make, 1000n)
      await using cutter = await commitCutter(fixture.url)
      const node = await openPostgres({ url: cutter.url, owner: 'cut', clock: systemClock })
      await node.billing.reserve(fixture.ask('r1'))

      const cut = cutter.cutNext(where)
      node.billing.checkpoint(checkpoint('r1', { prompt: 7 }))
      const { facts } = fixture.ask('refused')
      node.billing.logRefusal({ facts, ...refusedFields(new Refusal('rate_limit_exceeded')) })
      await cut

      await until('it is written', async () => (await fixture.store.usage.get('refused'))?.httpStatus === 429)
      assert.equal(await fixture.store.billing.sweep([]), 1)
      assert.deepEqual(await fixture.ledger(), ['charge -7'])
      await node.close()
    })
  }

  test('a node that resumes after its lease renews it with its next reservation, and no other node takes its rows', async () => {
    await using fixture = await openFixture(make, 1000n)
    const leased = (owner: string) => openPostgres({ url: fixture.url, owner, clock: systemClock, leaseMs: 2000 })
    const [paused, watching] = await Promise.all([leased('paused'), leased('watching')])
    for (const node of [paused, watching]) await node.billing.sweep([])
    const silent = async () => (await watching.nodes.list()).find(({ id }) => id === 'paused')?.state === 'silent'
    await until('its lease has expired', async () => {
      await watching.billing.sweep([])
      return silent()
    })

    await paused.billing.reserve(fixture.ask('r1'))
    const swept = await watching.billing.sweep([])

    assert.equal(swept, 0)
    assert.equal((await fixture.store.usage.get('r1'))?.state, 'open')
    assert.equal(await silent(), false)
    await paused.billing.settle(bill('r1', {}))
    for (const node of [paused, watching]) await node.close()
  })

  test('a row that has changed since it was read is not closed, and its batch books nothing', async () => {
    await using fixture = await openFixture(make, 1000n)
    const { billing } = fixture.store
    await billing.reserve(fixture.ask('r1'))
    const intruder = new pg.Client({ connectionString: fixture.url })
    await intruder.connect()
    await using _ = { [Symbol.asyncDispose]: () => intruder.end() }

    await intruder.query(`BEGIN; UPDATE usage SET state = 'recovered' WHERE request_id = 'r1'`)
    const settling = billing.settle(bill('r1', { prompt: 10 }))
    const settled = assert.rejects(settling, StoreUnavailable)
    await until('the settlement waits for the row', async () => {
      const { rows } = await intruder.query(
        'SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))',
      )
      return rows.length > 0
    })
    await intruder.query('COMMIT')
    await settled

    assert.deepEqual(await fixture.balance(), { available: 900n, held: 100n, spent: 0n, owed: 0n })
    assert.deepEqual(await fixture.ledger(), [])
    await intruder.query(`UPDATE usage SET state = 'open'`)
    assert.equal(await billing.settle(bill('r1', { prompt: 10 })), 'settled')
  })
}
