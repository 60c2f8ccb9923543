// The contract of stored sums: they equal those of the rows, whatever is written, changed or swept when, on any number
// of nodes at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import pg from 'pg'
import { HOUR_MS } from '../../../src/domain/usage.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { SUMMARY_GROUPS } from '../../../src/store/contract/operator.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { openPostgresSql, SHARE_HOURS } from '../../../src/store/postgres/sql.ts'
import { bill, checkpoint, type Fixture, GATE_ENGINES, openFixture } from '../../support/billing-stores.ts'
import { runsOn } from '../../support/engines.ts'
import { allRows, askAt, byGroup, noteAt, rollUpAll, SOME_HOUR, sumUp } from '../../support/usage-hours.ts'

const RICH = 1_000_000_000n

for (const { engine, make } of GATE_ENGINES) {
  test(`${engine}: a completed hour is rolled up once, and reports are the same before and after`, async () => {
    await using fixture = await openFixture(make, RICH)
    await settleAt(fixture, SOME_HOUR * HOUR_MS + 5)
    await settleAt(fixture, (SOME_HOUR + 30) * HOUR_MS)
    const before = await fixture.store.usage.summary({}, 'hour')

    const rolled = await rollUpAll(fixture.store)
    const again = await rollUpAll(fixture.store)

    assert.ok(rolled >= 2)
    assert.equal(again, 0)
    assert.deepEqual(await fixture.store.usage.summary({}, 'hour'), before)
    await assertSums(fixture.store)
  })

  test(`${engine}: a late refusal, a settlement and a correction are in the sums of their hour`, async () => {
    await using fixture = await openFixture(make, RICH)
    const at = SOME_HOUR * HOUR_MS
    await settleAt(fixture, at)
    await settleAt(fixture, at + 2 * HOUR_MS)
    await rollUpAll(fixture.store)

    await noteAt(fixture, at + 7)
    const open = askAt(fixture, at + 8)
    await fixture.store.billing.reserve(open)
    await assertSums(fixture.store)
    await rollUpAll(fixture.store)
    await assertSums(fixture.store)
    fixture.store.billing.checkpoint(checkpoint(open.facts.requestId, { prompt: 5, completion: 2 }))
    await fixture.store.billing.sweep([])
    await assertSums(fixture.store)
    await rollUpAll(fixture.store)
    await fixture.store.billing.settle(bill(open.facts.requestId, { prompt: 5, completion: 20 }))

    await assertSums(fixture.store)
    assert.ok((await rollUpAll(fixture.store)) > 0)
    await assertSums(fixture.store)
  })

  test(`${engine}: a row that counts several refusals adds all of them to its list, its hour and its day`, async () => {
    await using fixture = await openFixture(make, RICH)
    const at = SOME_HOUR * HOUR_MS
    const total = async () => (await fixture.store.usage.summary({ endpoint: 'all' }, 'account'))[0]
    const seen = async () => {
      const { totals } = await fixture.store.usage.overview({ from: at, to: at + HOUR_MS, step: 'hour' })
      return [(await total())?.requests, (await total())?.errors, totals.requests, totals.errors]
    }
    await settleAt(fixture, at)
    await noteAt(fixture, at + 7, 250)
    await noteAt(fixture, at + 8)
    assert.deepEqual(await seen(), [252, 251, 252, 251])

    await rollUpAll(fixture.store)
    assert.deepEqual(await seen(), [252, 251, 252, 251])
    await noteAt(fixture, at + 9, 1000)
    assert.deepEqual(await seen(), [1252, 1251, 1252, 1251])
    await settleAt(fixture, at + 50 * HOUR_MS)
    await rollUpAll(fixture.store)

    assert.deepEqual([(await total())?.requests, (await total())?.errors], [1253, 1251])
    await assertSums(fixture.store)
    assert.deepEqual(
      (await allRows(fixture.store)).map(row => row.requests).sort((a, b) => a - b),
      [1, 1, 1, 250, 1000],
    )
  })

  test(`${engine}: a row of an hour before all others is in the sums`, async () => {
    await using fixture = await openFixture(make, RICH)
    await settleAt(fixture, SOME_HOUR * HOUR_MS)
    await rollUpAll(fixture.store)

    await settleAt(fixture, (SOME_HOUR - 100) * HOUR_MS)

    await assertSums(fixture.store)
    await rollUpAll(fixture.store)
    await assertSums(fixture.store)
  })

  test(`${engine}: an hour is not rolled up before its delay has passed or while one of its rows is open`, async () => {
    await using fixture = await openFixture(make, RICH)
    const open = askAt(fixture, (SOME_HOUR + 0.5) * HOUR_MS)
    await fixture.store.billing.reserve(open)

    assert.equal(await rollUpAll(fixture.store), 0)
    await fixture.store.billing.settle(bill(open.facts.requestId, { prompt: 1 }))
    assert.equal(await rollUpAll(fixture.store, Date.now() - SOME_HOUR * HOUR_MS), 0)
    assert.ok((await rollUpAll(fixture.store)) > 0)
  })

  test(`${engine}: two nodes that roll up at once during late writes leave correct sums`, async () => {
    await using fixture = await openFixture(make, RICH)
    const second = engine === 'sqlite' ? fixture.store : await fixture.another()
    for (let i = 0; i < 40; i++) await settleAt(fixture, (SOME_HOUR + i) * HOUR_MS + i)

    const late = async () => {
      for (let i = 0; i < 60; i++) await settleAt(fixture, (SOME_HOUR + (i % 40)) * HOUR_MS + 1000 + i)
    }
    await Promise.all([rollUpAll(fixture.store), rollUpAll(second), late()])
    await assertSums(fixture.store)
    await Promise.all([rollUpAll(fixture.store), rollUpAll(second)])

    await assertSums(fixture.store)
  })

  if (engine === 'postgres') {
    test('postgres: no hour is rolled up while a live node does not advance marks', async () => {
      await using fixture = await openFixture(make, RICH)
      await using old = await connected(fixture.url)
      await settleAt(fixture, SOME_HOUR * HOUR_MS)
      await old.query(`INSERT INTO node (owner, since, renewed_at)
        SELECT 'old', now_ms, now_ms FROM (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms) t`)

      assert.equal(await rollUpAll(fixture.store), 0)
      await assertSums(fixture.store)
      await old.query(`UPDATE node SET renewed_at = renewed_at - 3600000 WHERE owner = 'old'`)
      assert.ok((await rollUpAll(fixture.store)) > 0)
    })

    test('postgres: a reservation waits while hours are claimed, and its row is in the sums of the previous hour', async () => {
      await using fixture = await openFixture(make, RICH)
      const sql = await openPostgresSql({ url: fixture.url, clock: systemClock })
      const late = askAt(fixture, SOME_HOUR * HOUR_MS + 5)
      let isGated = false

      const { gated } = await sql.transaction(async tx => {
        const gated = fixture.store.billing.reserve(late).finally(() => {
          isGated = true
        })
        await setTimeout(200)
        assert.equal(isGated, false)
        await tx.run('INSERT INTO usage_rolled (hour, mark, rolled_mark) VALUES ($1, 0, 0)', [SOME_HOUR])
        return { gated }
      }, 'hours')
      await gated
      await fixture.store.billing.settle(bill(late.facts.requestId, { prompt: 1 }))
      await sql.close()

      await assertSums(fixture.store)
      assert.ok((await rollUpAll(fixture.store)) > 0)
      await assertSums(fixture.store)
    })

    test('postgres: hours are not claimed while a batch of reservations is in progress', async () => {
      await using fixture = await openFixture(make, RICH)
      await using other = await connected(fixture.url)
      await settleAt(fixture, SOME_HOUR * HOUR_MS)
      const late = askAt(fixture, SOME_HOUR * HOUR_MS + 5)
      await other.query('BEGIN; LOCK TABLE usage IN SHARE MODE')
      const gated = fixture.store.billing.reserve(late)
      await setTimeout(200)

      assert.equal((await fixture.store.maintenance.rollUp(0)).rolled, 0)
      await other.query('COMMIT')
      await gated
      await fixture.store.billing.settle(bill(late.facts.requestId, { prompt: 1 }))

      assert.ok((await rollUpAll(fixture.store)) > 0)
      await assertSums(fixture.store)
    })

    test('postgres: claiming an hour waits for earlier batches, so that their rows are in the sums', async () => {
      await using fixture = await openFixture(make, RICH)
      await using batch = await connected(fixture.url)
      await settleAt(fixture, SOME_HOUR * HOUR_MS)
      await batch.query(`BEGIN; ${SHARE_HOURS}`)

      assert.equal((await fixture.store.maintenance.rollUp(0)).rolled, 0)
      await batch.query('COMMIT')

      assert.ok((await rollUpAll(fixture.store)) > 0)
      await assertSums(fixture.store)
    })

    test('postgres: without an hour to claim, pending sums are made while a batch is in progress', async () => {
      await using fixture = await openFixture(make, RICH)
      await using batch = await connected(fixture.url)
      await settleAt(fixture, SOME_HOUR * HOUR_MS)
      await rollUpAll(fixture.store)
      await noteAt(fixture, SOME_HOUR * HOUR_MS + 7)
      await batch.query(`BEGIN; ${SHARE_HOURS}`)

      const { rolled } = await fixture.store.maintenance.rollUp(HOUR_MS)
      await batch.query('COMMIT')

      assert.ok(rolled > 0)
      await assertSums(fixture.store)
    })
  }

  test(`${engine}: after any sequence of operations the sums equal those of the rows`, async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('chat' as const), hour: fc.nat(50), tokens: fc.nat(30) }),
      fc.record({ do: fc.constant('open' as const), hour: fc.nat(50), tokens: fc.nat(30) }),
      fc.record({ do: fc.constant('settle' as const), hour: fc.constant(0), tokens: fc.nat(30) }),
      fc.record({ do: fc.constant('note' as const), hour: fc.nat(50), tokens: fc.nat(300) }),
      fc.record({
        do: fc.constantFrom('sweep', 'roll', 'roll', 'roll'),
        hour: fc.nat(50),
        tokens: fc.constant(0),
      }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25, size: 'max' }), fc.nat(60), fc.nat(60), async (steps, a, b) => {
        await using fixture = await openFixture(make, RICH)
        const opened: string[] = []
        // With hours claimed from the first step on, every row is late.
        await settleAt(fixture, (SOME_HOUR - 1) * HOUR_MS)
        await rollUpAll(fixture.store)
        for (const { do: what, hour, tokens } of steps) {
          const at = (SOME_HOUR + hour) * HOUR_MS + opened.length
          if (what === 'chat') await settleAt(fixture, at, tokens)
          if (what === 'note') await noteAt(fixture, at, tokens + 1)
          if (what === 'roll') await rollUpAll(fixture.store)
          if (what === 'sweep') await fixture.store.billing.sweep([])
          if (what === 'settle')
            await fixture.store.billing.settle(bill(opened.pop() ?? 'none', { completion: tokens }))
          if (what === 'open') {
            const ask = askAt(fixture, at)
            opened.push(ask.facts.requestId)
            await fixture.store.billing.reserve(ask)
          }
        }
        const [from, to] = [Math.min(a, b), Math.max(a, b)].map(hour => SOME_HOUR * HOUR_MS + hour * 0.8 * HOUR_MS)
        await assertSums(fixture.store, from, to)
        await assertSums(fixture.store)
        await fixture.store.billing.sweep([])
      }),
      { numRuns: runsOn(engine, 10) },
    )
  })
}

async function connected(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return { query: (text: string) => client.query(text), [Symbol.asyncDispose]: () => client.end() }
}

async function settleAt(fixture: Fixture, at: number, tokens = 3): Promise<void> {
  const ask = askAt(fixture, at)
  const verdict = await fixture.store.billing.reserve(ask)
  assert.equal(verdict.kind, 'reserved')
  await fixture.store.billing.settle(
    bill(ask.facts.requestId, { prompt: 2, completion: tokens }, { finishedAt: at + 1234 }),
  )
}

async function assertSums(store: Store, from?: number, to?: number): Promise<void> {
  const rows = (await allRows(store)).filter(row => row.createdAt >= (from ?? 0) && row.createdAt < (to ?? Infinity))
  for (const group of SUMMARY_GROUPS) {
    const kept = await store.usage.summary({ from, to, endpoint: 'all' }, group)
    assert.deepEqual(byGroup(kept), byGroup(sumUp(rows, group)), group)
  }
}
