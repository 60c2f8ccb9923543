// What the store promises of sums that it keeps: they are those of the rows, whatever is written, changed or swept when,
// and however many nodes do it at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import pg from 'pg'
import { HOUR_MS } from '../../../src/domain/usage-hours.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { SUMMARY_GROUPS } from '../../../src/store/contract/operator.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { openPostgresSql, SHARE_HOURS } from '../../../src/store/postgres/sql.ts'
import { bill, checkpoint, GATE_ENGINES, type House, openHouse } from '../../support/billing-stores.ts'
import { runsOn } from '../../support/engines.ts'
import { allRows, askAt, byGroup, noteAt, rollUpAll, SOME_HOUR, sumUp } from '../../support/usage-hours.ts'

const RICH = 1_000_000_000n

for (const { engine, make } of GATE_ENGINES) {
  test(`${engine}: an hour that is over is summed up once, and reports say the same before and after`, async () => {
    await using house = await openHouse(make, RICH)
    await settleAt(house, SOME_HOUR * HOUR_MS + 5)
    await settleAt(house, (SOME_HOUR + 30) * HOUR_MS)
    const before = await house.store.usage.summary({}, 'hour')

    const rolled = await rollUpAll(house.store)
    const again = await rollUpAll(house.store)

    assert.ok(rolled >= 2)
    assert.equal(again, 0)
    assert.deepEqual(await house.store.usage.summary({}, 'hour'), before)
    await assertSums(house.store)
  })

  test(`${engine}: a late refusal, a settlement and a correction are in the sums of their hour`, async () => {
    await using house = await openHouse(make, RICH)
    const at = SOME_HOUR * HOUR_MS
    await settleAt(house, at)
    await settleAt(house, at + 2 * HOUR_MS)
    await rollUpAll(house.store)

    await noteAt(house, at + 7)
    const open = askAt(house, at + 8)
    await house.store.gates.gate(open)
    await assertSums(house.store)
    await rollUpAll(house.store)
    await assertSums(house.store)
    house.store.gates.checkpoint(checkpoint(open.facts.requestId, { prompt: 5, completion: 2 }))
    await house.store.gates.sweep([])
    await assertSums(house.store)
    await rollUpAll(house.store)
    await house.store.gates.settle(bill(open.facts.requestId, { prompt: 5, completion: 20 }))

    await assertSums(house.store)
    assert.ok((await rollUpAll(house.store)) > 0)
    await assertSums(house.store)
  })

  test(`${engine}: a row that counts refusals counts for all of them, as a row, in its hour and in its day`, async () => {
    await using house = await openHouse(make, RICH)
    const at = SOME_HOUR * HOUR_MS
    const total = async () => (await house.store.usage.summary({ endpoint: 'all' }, 'account'))[0]
    const seen = async () => {
      const { totals } = await house.store.usage.overview({ from: at, to: at + HOUR_MS, step: 'hour' })
      return [(await total())?.requests, (await total())?.errors, totals.requests, totals.errors]
    }
    await settleAt(house, at)
    await noteAt(house, at + 7, 250)
    await noteAt(house, at + 8)
    assert.deepEqual(await seen(), [252, 251, 252, 251])

    await rollUpAll(house.store)
    assert.deepEqual(await seen(), [252, 251, 252, 251])
    await noteAt(house, at + 9, 1000)
    assert.deepEqual(await seen(), [1252, 1251, 1252, 1251])
    await settleAt(house, at + 50 * HOUR_MS)
    await rollUpAll(house.store)

    assert.deepEqual([(await total())?.requests, (await total())?.errors], [1253, 1251])
    await assertSums(house.store)
    assert.deepEqual(
      (await allRows(house.store)).map(row => row.requests).sort((a, b) => a - b),
      [1, 1, 1, 250, 1000],
    )
  })

  test(`${engine}: a row of an hour before all others is in the sums`, async () => {
    await using house = await openHouse(make, RICH)
    await settleAt(house, SOME_HOUR * HOUR_MS)
    await rollUpAll(house.store)

    await settleAt(house, (SOME_HOUR - 100) * HOUR_MS)

    await assertSums(house.store)
    await rollUpAll(house.store)
    await assertSums(house.store)
  })

  test(`${engine}: an hour is left alone until it is over for as long as asked, and while a row of it is open`, async () => {
    await using house = await openHouse(make, RICH)
    const open = askAt(house, (SOME_HOUR + 0.5) * HOUR_MS)
    await house.store.gates.gate(open)

    assert.equal(await rollUpAll(house.store), 0)
    await house.store.gates.settle(bill(open.facts.requestId, { prompt: 1 }))
    assert.equal(await rollUpAll(house.store, Date.now() - SOME_HOUR * HOUR_MS), 0)
    assert.ok((await rollUpAll(house.store)) > 0)
  })

  test(`${engine}: two nodes that sum up at once, beside late rows, leave true sums`, async () => {
    await using house = await openHouse(make, RICH)
    const second = engine === 'sqlite' ? house.store : await house.another()
    for (let i = 0; i < 40; i++) await settleAt(house, (SOME_HOUR + i) * HOUR_MS + i)

    const late = async () => {
      for (let i = 0; i < 60; i++) await settleAt(house, (SOME_HOUR + (i % 40)) * HOUR_MS + 1000 + i)
    }
    await Promise.all([rollUpAll(house.store), rollUpAll(second), late()])
    await assertSums(house.store)
    await Promise.all([rollUpAll(house.store), rollUpAll(second)])

    await assertSums(house.store)
  })

  if (engine === 'postgres') {
    test('postgres: no hour is summed up while a node lives that does not grow marks', async () => {
      await using house = await openHouse(make, RICH)
      await using old = await connected(house.url)
      await settleAt(house, SOME_HOUR * HOUR_MS)
      await old.query(`INSERT INTO node (owner, since, renewed_at)
        SELECT 'old', now_ms, now_ms FROM (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms) t`)

      assert.equal(await rollUpAll(house.store), 0)
      await assertSums(house.store)
      await old.query(`UPDATE node SET renewed_at = renewed_at - 3600000 WHERE owner = 'old'`)
      assert.ok((await rollUpAll(house.store)) > 0)
    })

    test('postgres: a gate waits while hours are being claimed, and its row is in the sums of the hour that was', async () => {
      await using house = await openHouse(make, RICH)
      const sql = await openPostgresSql({ url: house.url, clock: systemClock })
      const late = askAt(house, SOME_HOUR * HOUR_MS + 5)
      let isGated = false

      const { gated } = await sql.transaction(async tx => {
        const gated = house.store.gates.gate(late).finally(() => {
          isGated = true
        })
        await setTimeout(200)
        assert.equal(isGated, false)
        await tx.run('INSERT INTO usage_rolled (hour, mark, rolled_mark) VALUES ($1, 0, 0)', [SOME_HOUR])
        return { gated }
      }, 'hours')
      await gated
      await house.store.gates.settle(bill(late.facts.requestId, { prompt: 1 }))
      await sql.close()

      await assertSums(house.store)
      assert.ok((await rollUpAll(house.store)) > 0)
      await assertSums(house.store)
    })

    test('postgres: hours are not claimed while a batch of the gates is under way', async () => {
      await using house = await openHouse(make, RICH)
      await using other = await connected(house.url)
      await settleAt(house, SOME_HOUR * HOUR_MS)
      const late = askAt(house, SOME_HOUR * HOUR_MS + 5)
      await other.query('BEGIN; LOCK TABLE usage IN SHARE MODE')
      const gated = house.store.gates.gate(late)
      await setTimeout(200)

      assert.equal((await house.store.upkeep.rollUp(0)).rolled, 0)
      await other.query('COMMIT')
      await gated
      await house.store.gates.settle(bill(late.facts.requestId, { prompt: 1 }))

      assert.ok((await rollUpAll(house.store)) > 0)
      await assertSums(house.store)
    })

    test('postgres: a batch that began before an hour was claimed is waited for, so that its rows are in the sums', async () => {
      await using house = await openHouse(make, RICH)
      await using batch = await connected(house.url)
      await settleAt(house, SOME_HOUR * HOUR_MS)
      await batch.query(`BEGIN; ${SHARE_HOURS}`)

      assert.equal((await house.store.upkeep.rollUp(0)).rolled, 0)
      await batch.query('COMMIT')

      assert.ok((await rollUpAll(house.store)) > 0)
      await assertSums(house.store)
    })

    test('postgres: where there is no hour to claim, what is pending is summed up beside a batch that is under way', async () => {
      await using house = await openHouse(make, RICH)
      await using batch = await connected(house.url)
      await settleAt(house, SOME_HOUR * HOUR_MS)
      await rollUpAll(house.store)
      await noteAt(house, SOME_HOUR * HOUR_MS + 7)
      await batch.query(`BEGIN; ${SHARE_HOURS}`)

      const { rolled } = await house.store.upkeep.rollUp(HOUR_MS)
      await batch.query('COMMIT')

      assert.ok(rolled > 0)
      await assertSums(house.store)
    })
  }

  test(`${engine}: whatever happens in whatever order, the sums are those of the rows`, async () => {
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
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.nat(60), fc.nat(60), async (steps, a, b) => {
        await using house = await openHouse(make, RICH)
        const opened: string[] = []
        // With hours that are claimed from the first step on, whatever comes is late.
        await settleAt(house, (SOME_HOUR - 1) * HOUR_MS)
        await rollUpAll(house.store)
        for (const { do: what, hour, tokens } of steps) {
          const at = (SOME_HOUR + hour) * HOUR_MS + opened.length
          if (what === 'chat') await settleAt(house, at, tokens)
          if (what === 'note') await noteAt(house, at, tokens + 1)
          if (what === 'roll') await rollUpAll(house.store)
          if (what === 'sweep') await house.store.gates.sweep([])
          if (what === 'settle') await house.store.gates.settle(bill(opened.pop() ?? 'none', { completion: tokens }))
          if (what === 'open') {
            const ask = askAt(house, at)
            opened.push(ask.facts.requestId)
            await house.store.gates.gate(ask)
          }
        }
        const [from, to] = [Math.min(a, b), Math.max(a, b)].map(hour => SOME_HOUR * HOUR_MS + hour * 0.8 * HOUR_MS)
        await assertSums(house.store, from, to)
        await assertSums(house.store)
        await house.store.gates.sweep([])
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

async function settleAt(house: House, at: number, tokens = 3): Promise<void> {
  const ask = askAt(house, at)
  const verdict = await house.store.gates.gate(ask)
  assert.equal(verdict.kind, 'granted')
  await house.store.gates.settle(
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
