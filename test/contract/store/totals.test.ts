// The contract of the totals and names stored in addition to hourly sums, on every engine: reports and lists are the
// same with and without them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR_MS } from '../../../src/domain/usage.ts'
import type { Sql } from '../../../src/store/sql/sql.ts'
import { NAMES_MAX } from '../../../src/store/sql/usage/hour-totals.ts'
import { sqlUsage } from '../../../src/store/sql/usage/usage.ts'
import { ENGINES, openRepositories, type Repositories } from '../../support/engines.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { rollAll } from '../../support/usage-hours.ts'
import { addRow } from '../../support/usage-rows.ts'

const HOUR = Math.floor(Date.UTC(2026, 0, 5, 7) / HOUR_MS)
const AT = HOUR * HOUR_MS

for (const { engine, open } of ENGINES) {
  test(`${engine}: sums by time use totals, and other sums while an hour has none`, async () => {
    await using repositories = await openRepositories(open, manualClock(AT + 9 * HOUR_MS))
    for (let i = 0; i < 6; i++) await addRow(repositories, AT + i * HOUR_MS, { cost: 7n, key_id: `key_${i}` })
    const before = await repositories.usage.summary({}, 'hour')
    await rollAll(repositories)

    assert.deepEqual(await repositories.usage.summary({}, 'hour'), before)
    await repositories.sql.run('UPDATE usage_hour_total SET cost = 8 WHERE hour = $1', [HOUR + 1])
    assert.equal((await repositories.usage.summary({}, 'day'))[0]?.cost, 43n, 'totals are used')
    await repositories.sql.run('UPDATE usage_rolled_total SET mark = mark - 1 WHERE hour = $1', [HOUR + 1])
    assert.deepEqual(await repositories.usage.summary({}, 'hour'), before, 'totals of outdated sums are not used')
    await repositories.sql.run('DELETE FROM usage_rolled_total WHERE hour = $1', [HOUR + 1])
    assert.deepEqual(await repositories.usage.summary({}, 'hour'), before, 'nor are those without a mark')
    await addRow(repositories, AT + 9 * HOUR_MS - 1)
    repositories.clock.advance(HOUR_MS)
    await rollAll(repositories)
    assert.equal((await repositories.usage.summary({}, 'day'))[0]?.cost, 42n, 'and they are created again')
  })

  test(`${engine}: a search for an unknown model reads only hours in which it was requested`, async () => {
    await using repositories = await openRepositories(open, manualClock(AT + 60 * HOUR_MS))
    for (let i = 0; i < 40; i++) await ask(repositories, AT + i * HOUR_MS, `none-${i % 8}`)
    await rollAll(repositories)
    const looks: string[] = []
    const watched: Sql = {
      ...repositories.sql,
      all(text, params) {
        if (/FROM usage\s/.test(text) && params?.some(param => String(param).startsWith('key_'))) looks.push(text)
        return repositories.sql.all(text, params)
      },
    }

    const found = await sqlUsage(watched).list({ limit: 100, model: 'none-3' })
    const looked = looks.splice(0).length
    const nothing = await sqlUsage(watched).list({ limit: 100, model: 'none-9' })

    assert.equal(found.data.length, 5)
    assert.ok(looked > 0)
    assert.deepEqual([nothing.data.length, looks.length], [0, 0], 'one that was never requested reads no hour')
  })

  test(`${engine}: a name is found where the hour's names are missing, outdated or too many`, async () => {
    await using repositories = await openRepositories(open, manualClock(AT + 60 * HOUR_MS))
    await ask(repositories, AT, 'early')
    await ask(repositories, AT + HOUR_MS, 'later')
    for (let i = 0; i <= NAMES_MAX; i++) await ask(repositories, AT + 2 * HOUR_MS + i, `many-${i}`)
    await rollAll(repositories)
    const count = async (model: string) => (await repositories.usage.list({ limit: 9, model })).data.length

    assert.deepEqual([await count('early'), await count('later'), await count('many-77')], [1, 1, 1])
    await repositories.sql.run('DELETE FROM usage_rolled_total WHERE hour = $1', [HOUR])
    await repositories.sql.run('DELETE FROM usage_hour_unknown WHERE hour = $1', [HOUR])
    assert.equal(await count('early'), 1)
    // Like a node that does not store names: it writes only the sums.
    await ask(repositories, AT + HOUR_MS + 5, 'latest')
    await repositories.sql.run('UPDATE usage_rolled SET mark = mark + 1 WHERE hour = $1', [HOUR + 1])
    const [pending] = await repositories.hours.pending(1)
    assert.ok(pending && (await repositories.hours.write(pending, await repositories.hours.sums(pending.at))))
    assert.deepEqual([await count('later'), await count('latest')], [1, 1])
    const { n } = (await repositories.sql.get('SELECT COUNT(*) AS n FROM usage_hour_unknown')) ?? {}
    assert.equal(Number(n), 2, 'too many names are stored as none')
  })
}

async function ask(repositories: Repositories, at: number, model: string): Promise<void> {
  await addRow(repositories, at, { model_requested: model, outcome: 'refused', error_code: 'model_not_found' })
}
