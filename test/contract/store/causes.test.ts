// Failures with costs and different causes in one hour: sums by cause have the costs of that cause, also sums that an older version
// has written.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ERROR_CAUSES } from '../../../src/domain/error-cause.ts'
import { DAY_MS } from '../../../src/domain/key.ts'
import { writeTags } from '../../../src/domain/tags.ts'
import { HOUR_MS } from '../../../src/domain/usage.ts'
import { TAG_SETS_MAX } from '../../../src/store/sql/usage/tag-sums.ts'
import { ENGINES, openRepositories, type Repositories } from '../../support/engines.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { rollAll } from '../../support/usage-hours.ts'
import { addRow } from '../../support/usage-rows.ts'

const DAY = Date.UTC(2026, 0, 5)
const AT = DAY + 7 * HOUR_MS
const MIGRATION = readFileSync('src/store/sqlite/migrations/0022-ends-and-causes.sql', 'utf8')
const SUM_UP_AGAIN = MIGRATION.slice(MIGRATION.indexOf('UPDATE usage_rolled'))

for (const { engine, open } of ENGINES) {
  test(`${engine}: mixed sums of an older version are made again by the migration, and others are left alone`, async () => {
    await using repositories = await openRepositories(open, manualClock(AT + 2 * DAY_MS))
    const { sql } = repositories
    const broke = (at: number, code: string, cost: bigint) =>
      addRow(repositories, at, {
        outcome: 'upstream_broke',
        error_code: code,
        provider: 'p',
        cost,
        prompt_tokens: cost,
      })
    // So that the whole day is rolled up.
    await addRow(repositories, DAY - HOUR_MS)
    await broke(AT, 'upstream_timeout', 5n)
    await broke(AT + 1, 'upstream_rejected', 7n)
    await broke(AT + 2, 'service_unavailable', 11n)
    await broke(AT + 4 * HOUR_MS, 'upstream_timeout', 13n)
    const right = { caller: 7n, limits: 0n, money: 0n, provider: 18n }
    await rollAll(repositories)
    assert.deepEqual(await costs(repositories), right)

    for (const grain of ['hour', 'day']) {
      const first = `SELECT MIN(${grain}) FROM usage_${grain} WHERE provider_errors > 0`
      await sql.run(`DELETE FROM usage_${grain} WHERE ${grain} = (${first}) AND tags_hash <> ''`)
      await sql.run(`UPDATE usage_${grain} SET requests = requests + 2, caller_errors = 1, cost = cost + 18,
        prompt_tokens = prompt_tokens + 18 WHERE ${grain} = (${first})`)
    }
    assert.deepEqual(await costs(repositories), { ...right, caller: 36n, provider: 36n }, 'as an older version summed')
    const stale = 'SELECT hour FROM usage_rolled WHERE mark <> rolled_mark'
    await sql.run(SUM_UP_AGAIN)
    assert.equal((await sql.all(stale)).length, 1)
    assert.deepEqual(await costs(repositories), right, 'from rows')
    await rollAll(repositories)
    assert.deepEqual([(await sql.all(stale)).length, await costs(repositories)], [0, right])
  })
}

for (const { engine, open } of ENGINES) {
  test(`${engine}: causes of a key with too many combinations of tags have their own costs`, async () => {
    await using repositories = await openRepositories(open, manualClock(AT + 2 * DAY_MS))
    const codes = ['upstream_timeout', 'upstream_rejected', 'service_unavailable']
    for (let i = 0; i < 3 * TAG_SETS_MAX; i++) {
      const tags = writeTags({ run: `${i}`, team: 'search' })
      const more = { outcome: 'upstream_broke', error_code: codes[i % 3] ?? null, provider: 'p', tags }
      await addRow(repositories, AT + i, { ...more, cost: BigInt(10 ** (i % 3)) })
    }

    await rollAll(repositories)

    assert.deepEqual(await costs(repositories), { caller: 1000n, limits: 0n, money: 0n, provider: 100n })
    const entries = await repositories.sql.all('SELECT tags FROM usage_hour')
    assert.equal(entries.length, codes.length)
  })
}

for (const { engine, open } of ENGINES) {
  test(`${engine}: where all hours are summed up again, the newest come first`, async () => {
    await using repositories = await openRepositories(open, manualClock(AT + 2 * DAY_MS))
    const { hours, sql } = repositories
    for (let i = 0; i < 3; i++) await addRow(repositories, AT + i * HOUR_MS)
    await rollAll(repositories)
    assert.deepEqual(await hours.pending(100), [])

    await sql.run('UPDATE usage_rolled SET mark = mark + 1 WHERE dropped = 0 AND mark > 0')

    const pending = (await hours.pending(100)).map(({ at }) => at)
    assert.deepEqual(
      pending,
      pending.toSorted((a, b) => b - a),
    )
    assert.ok([0, 1, 2].every(i => pending.includes(AT / HOUR_MS + i)))
  })
}

async function costs({ usage }: Repositories) {
  const found: Record<string, bigint> = {}
  for (const cause of ERROR_CAUSES) {
    const groups = await usage.summary({ cause, from: DAY, to: DAY + DAY_MS }, 'account')
    found[cause] = groups.reduce((sum, { cost }) => sum + cost, 0n)
  }
  return found
}
