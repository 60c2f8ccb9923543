// The contract of reports over usage rows, on every engine.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DAY_MS } from '../../../src/domain/key.ts'
import { HOUR_MS } from '../../../src/domain/usage.ts'
import { SUMMARY_GROUPS, type UsageFilter } from '../../../src/store/contract/operator.ts'
import type { Sql } from '../../../src/store/sql/sql.ts'
import { idAt } from '../../../src/store/sql/time-order.ts'
import { sqlUsage } from '../../../src/store/sql/usage/usage.ts'
import { ENGINES, openRepositories, type Repositories, runsOn } from '../../support/engines.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { rollAll } from '../../support/usage-hours.ts'
import { addKeys, addRow } from '../../support/usage-rows.ts'

const START = Date.UTC(2026, 0, 1)
const UNKNOWN = { outcome: 'refused', error_code: 'model_not_found' }

for (const { engine, open } of ENGINES) {
  test(`${engine}: a row is read back completely, and only by its own key`, async () => {
    await using repositories = await openRepositories(open)
    const attempts = [{ provider: 'a', model: 'm', outcome: 'completed', status: 200, ms: 12 }]
    const id = await addRow(repositories, START, {
      attempts: JSON.stringify(attempts),
      cost: 9_000_000_000_000_000_001n,
      prompt_tokens: 7,
    })

    const row = await repositories.usage.get(id, 'key_1')

    assert.deepEqual([row?.requestId, row?.cost, row?.tokens.prompt], [id, 9_000_000_000_000_000_001n, 7])
    assert.deepEqual(row?.attempts, attempts)
    assert.deepEqual(await repositories.usage.get(id), row)
    assert.equal(await repositories.usage.get(id, 'key_2'), undefined)
    assert.equal(await repositories.usage.get('nothing'), undefined)
  })

  test(`${engine}: the list contains chat rows unless another endpoint is given`, async () => {
    await using repositories = await openRepositories(open)
    await addRow(repositories, START)
    await addRow(repositories, START, { endpoint: 'models' })
    const count = async (endpoint?: 'all' | 'models') =>
      (await repositories.usage.list({ limit: 9, endpoint })).data.length

    assert.deepEqual([await count(), await count('models'), await count('all')], [1, 1, 2])
  })

  test(`${engine}: a time range includes its start and excludes its end, and scans the primary key`, async () => {
    await using repositories = await openRepositories(open)
    const ids: string[] = []
    for (const at of [START - 1, START, START + 999, START + 1000]) ids.push(await addRow(repositories, at))
    const filter = { limit: 9, from: START, to: START + 1000 }

    const found = (await repositories.usage.list(filter)).data.map(row => row.requestId)

    assert.deepEqual(found, [ids[2], ids[1]])
    if (engine !== 'sqlite') return
    const plan = await repositories.sql.all(
      `EXPLAIN QUERY PLAN SELECT * FROM usage WHERE request_id >= 'a' AND created_at >= 1 AND request_id < 'b'
       AND endpoint = 'models' ORDER BY request_id DESC LIMIT 5`,
    )
    assert.match(String(plan[0]?.detail), /SEARCH usage USING PRIMARY KEY \(request_id>\? AND request_id<\?\)/)
  })

  test(`${engine}: pages of any size return every row once, newest first, with any filter`, async () => {
    await using repositories = await openRepositories(open)
    const rows: { id: string; key: string; model: string }[] = []
    for (let i = 0; i < 40; i++) {
      const [key, model] = [`key_${i % 3}`, `m${i % 2}`]
      rows.unshift({ id: await addRow(repositories, START + i, { key_id: key, model_served: model }), key, model })
    }

    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 50 }),
        fc.option(fc.constantFrom('key_0', 'key_1', 'key_9'), { nil: undefined }),
        fc.option(fc.constantFrom('m0', 'm1'), { nil: undefined }),
        async (limit, keyId, model) => {
          const seen = await allPages(repositories, { limit, keyId, model })
          const wanted = rows.filter(row => (!keyId || row.key === keyId) && (!model || row.model === model))
          assert.deepEqual(
            seen,
            wanted.map(row => row.id),
          )
        },
      ),
      { numRuns: runsOn(engine, 50) },
    )
  })

  test(`${engine}: pages are ordered by id where ids and hours of rows disagree`, async () => {
    await using repositories = await openRepositories(open, manualClock(START + 4 * DAY_MS))
    const rows: { id: string; key: string; model: string }[] = []
    await addKeys(repositories, ['key_0', 'key_1', 'key_2', 'key_3'])
    // Around the ends of some hours, on days with nothing between them, each id up to 50 seconds before or after its
    // row.
    for (let i = 0; i < 90; i++) {
      const [key, model] = [`key_${i % 4}`, i % 7 === 0 ? 'rare' : 'm']
      const at = START + (i % 3) * 30 * HOUR_MS + (i % 5) * HOUR_MS + ((i * 7919) % 80_000) - 40_000
      const id = idAt(at + ((i * 104_729) % 100_000) - 50_000)
      await addRow(repositories, at, { request_id: id, key_id: key, model_requested: model, ...(i % 2 ? UNKNOWN : {}) })
      rows.push({ id, key, model })
    }
    rows.sort((a, b) => (a.id > b.id ? -1 : 1))
    await rollAll(repositories)

    for (const limit of [1, 2, 5, 17, 100]) {
      for (const [keyId, model] of [[], ['key_2'], ['key_1', 'rare'], [undefined, 'rare'], [undefined, 'none']]) {
        const wanted = rows.filter(row => (!keyId || row.key === keyId) && (!model || row.model === model))
        const seen = await allPages(repositories, { limit, keyId, model })
        assert.deepEqual(
          seen,
          wanted.map(row => row.id),
          `${limit} of ${keyId} ${model}`,
        )
      }
    }
  })

  test(`${engine}: a newer id in the hour before, of another key, comes first`, async () => {
    await using repositories = await openRepositories(open, manualClock(START + 4 * DAY_MS))
    const at = START + 5 * HOUR_MS
    const rare = { model_requested: 'rare' }
    const wanted = [
      await addRow(repositories, at + HOUR_MS, rare),
      await addRow(repositories, at - 1, { ...rare, request_id: idAt(at + 30_000), key_id: 'key_2' }),
      await addRow(repositories, at + 20_000, rare),
      await addRow(repositories, at + 10_000, rare),
    ]
    await rollAll(repositories)

    for (const limit of [1, 2, 3, 4]) {
      assert.deepEqual(await allPages(repositories, { limit, model: 'rare' }), wanted, `${limit} a page`)
    }
  })

  test(`${engine}: a page of a quiet hour reads no row of the adjacent busy minute`, async () => {
    await using repositories = await openRepositories(open, manualClock(START + DAY_MS))
    for (let i = 0; i < 60; i++) await addRow(repositories, START + HOUR_MS - 60 + i)
    const wanted = await addRow(repositories, START + HOUR_MS + 10)
    await rollAll(repositories)
    const reads: number[] = []
    const watched: Sql = {
      ...repositories.sql,
      async all(text, params) {
        const rows = await repositories.sql.all(text, params)
        if (/FROM usage\s/.test(text)) reads.push(rows.length)
        return rows
      },
    }

    const { data } = await sqlUsage(watched).list({ limit: 20 })

    assert.equal(data[0]?.requestId, wanted)
    assert.ok(Math.max(...reads) <= 21, `${Math.max(...reads)} rows were read for a page of 20`)
  })

  test(`${engine}: a page reads a bounded number of rows and continues where it stopped`, async () => {
    await using repositories = await openRepositories(open)
    const ids: string[] = []
    for (let i = 0; i < 25; i++) {
      const model = i === 2 || i === 12 ? 'rare' : 'm'
      ids.push(await addRow(repositories, START + i, { key_id: i % 2 === 0 ? 'key_1' : 'key_2', model_served: model }))
    }
    const list = (after?: string, lookMax = 5) =>
      repositories.usage.list({ limit: 3, keyId: 'key_1', model: 'rare', lookMax, after })

    const pages = [await list()]
    for (let last = pages[0]; last?.next; pages.push(last)) last = await list(last.next)

    const found = pages.map(({ data, hasMore, next }) => [data.map(row => row.requestId), hasMore, next])
    assert.deepEqual(found, [
      [[], true, ids[16]],
      [[ids[12]], true, ids[6]],
      [[ids[2]], false, null],
    ])
    assert.deepEqual((await list(undefined, 13)).next, null, 'it has read all of them')
    assert.deepEqual((await list(undefined, 12)).next, ids[2])
    const full = await repositories.usage.list({ limit: 3, keyId: 'key_1', lookMax: 5 })
    assert.deepEqual([full.data.length, full.hasMore, full.next], [3, true, ids[20]])
    const recent = await repositories.usage.list({
      limit: 3,
      keyId: 'key_1',
      model: 'rare',
      lookMax: 5,
      from: START + 120_000,
    })
    assert.deepEqual([recent.data.length, recent.hasMore], [0, false], 'rows that are too old are not read')
    if (engine !== 'sqlite') return
    const plan = await repositories.sql.all(
      `EXPLAIN QUERY PLAN SELECT request_id FROM usage_of_key WHERE key_id = 'k' AND request_id < 'b'
       ORDER BY request_id DESC LIMIT 2 OFFSET 9999`,
    )
    const details = plan.map(({ detail }) => String(detail)).join('\n')
    assert.match(details, /SEARCH usage_by_key USING PRIMARY KEY \(key_id=\? AND request_id<\?\)/)
    assert.match(details, /SEARCH usage_recent USING PRIMARY KEY \(request_id<\?\)/)
    assert.doesNotMatch(details, /TEMP B-TREE/, 'both parts are read in order, as far as needed')
  })

  test(`${engine}: every summary has the same total for any grouping`, async () => {
    await using repositories = await openRepositories(open)
    let total = 0n
    for (let i = 0; i < 60; i++) {
      const cost = BigInt(i) * 1_000_000_007n
      total += cost
      const outcome = i % 4 === 0 ? 'upstream_failed' : 'completed'
      await addRow(repositories, START + i * (DAY_MS / 8), {
        key_id: `key_${i % 3}`,
        provider: `p${i % 5}`,
        cost,
        outcome,
      })
    }

    for (const group of SUMMARY_GROUPS) {
      const rows = await repositories.usage.summary({}, group)
      assert.equal(
        rows.reduce((sum, row) => sum + row.cost, 0n),
        total,
      )
      assert.equal(
        rows.reduce((sum, row) => sum + row.requests, 0),
        60,
      )
      assert.equal(
        rows.reduce((sum, row) => sum + row.errors, 0),
        15,
      )
    }
    assert.equal((await repositories.usage.summary({}, 'day')).at(-1)?.group, '2026-01-01')
    assert.equal((await repositories.usage.summary({ to: START + 1 }, 'hour'))[0]?.group, '2026-01-01T00:00:00Z')
  })
}

async function allPages(repositories: Repositories, filter: UsageFilter): Promise<readonly string[]> {
  const seen: string[] = []
  for (let after: string | undefined, more = true; more; ) {
    const page = await repositories.usage.list({ ...filter, after })
    seen.push(...page.data.map(row => row.requestId))
    after = page.data.at(-1)?.requestId
    more = page.hasMore
  }
  return seen
}
