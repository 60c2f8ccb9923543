// The contract of tags in reports, on every engine: sums and rows agree, and a key with too many values in an hour affects
// neither the size of the sums nor the tags of other keys.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { type Tags, writeTags } from '../../../src/domain/tags.ts'
import { HOUR_MS } from '../../../src/domain/usage.ts'
import { type SharedTags, sharedTagsPasses } from '../../../src/store/audit/shared-tags.ts'
import { OTHER_VALUES } from '../../../src/store/contract/operator.ts'
import { int } from '../../../src/store/sql/sql.ts'
import { TAG_SETS_MAX } from '../../../src/store/sql/usage/tag-sums.ts'
import { bill, GATE_ENGINES, openFixture } from '../../support/billing-stores.ts'
import { ENGINES, openRepositories, type Repositories } from '../../support/engines.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { askAt, rollAll, rollUpAll } from '../../support/usage-hours.ts'
import { addRow } from '../../support/usage-rows.ts'

const HOUR = Math.floor(Date.UTC(2026, 0, 5, 7) / HOUR_MS)
const AT = HOUR * HOUR_MS

const SOME: readonly (Tags | undefined)[] = [
  { team: 'search' },
  { team: 'ads', 'a.b-c_1': '"x":"y"' },
  undefined,
  { 1: 'one' },
]

for (const { engine, open } of ENGINES) {
  test(`${engine}: filters and groups by tag are the same from rows, hours and days`, async () => {
    await using repositories = await openRepositories(open, manualClock(AT + 60 * HOUR_MS))
    for (let i = 0; i < 12; i++) {
      const tags = SOME[i % 4]
      await addRow(repositories, AT + i * HOUR_MS, { cost: 7n, tags: tags === undefined ? null : writeTags(tags) })
    }
    const before = await reports(repositories)
    await rollAll(repositories)

    assert.deepEqual(before.team, [
      ['', 6, 42n],
      ['ads', 3, 21n],
      ['search', 3, 21n],
    ])
    assert.deepEqual(before.number, [
      ['', 9, 63n],
      ['one', 3, 21n],
    ])
    assert.deepEqual(before.search, [['key_1', 3, 21n]])
    assert.equal(before.listed, 3)
    assert.equal(before.quoted, 0, 'a value that looks like a tag is not one')
    assert.deepEqual(await reports(repositories), before)
    assert.ok(int((await repositories.sql.get('SELECT COUNT(*) AS n FROM usage_day'))?.n) > 0, 'days are used')
  })

  test(`${engine}: the longest tags are summed, though no index holds them`, async () => {
    await using repositories = await openRepositories(open, manualClock(AT + 60 * HOUR_MS))
    const value = () => Array.from({ length: 64 }, () => String.fromCodePoint(0x4e00 + randomInt(20_000))).join('')
    const tags = Object.fromEntries(Array.from({ length: 24 }, (_, i) => [`${i}`.padStart(32, 'n'), value()]))
    await addRow(repositories, AT, { cost: 7n, tags: writeTags(tags) })
    await rollAll(repositories)

    const [name = '', first = ''] = Object.entries(tags)[0] ?? []
    assert.deepEqual(
      (await repositories.usage.summary({}, `tag:${name}`)).map(({ group, cost }) => [group, cost]),
      [[first, 7n]],
    )
  })

  test(`${engine}: 10,000 values in an hour are one entry of the sums, with the tags that all of them have`, async () => {
    await using repositories = await openRepositories(open, manualClock(AT + 2 * HOUR_MS))
    await addMany(repositories, 10_000)
    for (let i = 0; i < TAG_SETS_MAX; i++) {
      await addRow(repositories, AT + i, { key_id: 'key_2', cost: 1n, tags: writeTags({ run: `value ${i}` }) })
    }
    const rows = await reports(repositories)
    await rollAll(repositories)
    const sums = await reports(repositories)

    const entries = await repositories.sql.all('SELECT key_id, tags, requests FROM usage_hour')
    assert.deepEqual(
      entries.filter(({ key_id }) => key_id === 'key_1').map(({ tags, requests }) => [tags, int(requests)]),
      [['{"*":"*","team":"search"}', 10_000]],
    )
    assert.equal(entries.length, 1 + TAG_SETS_MAX)
    assert.deepEqual(sums.team, [
      ['', TAG_SETS_MAX, 100n],
      ['search', 10_000, 20_000n],
    ])
    assert.deepEqual(
      sums.run.filter(([, , cost]) => cost !== 1n),
      [[OTHER_VALUES, 10_000, 20_000n]],
    )
    assert.equal(sums.run.length, 1 + TAG_SETS_MAX, "the other key's values are all listed")
    assert.deepEqual(rows.run, sums.run, 'and before the hour is rolled up')
    assert.deepEqual(rows.team, sums.team)
    const found = await repositories.usage.list({ limit: 9, tags: [['run', 'value 7']] })
    assert.deepEqual(found.data.map(({ keyId }) => keyId).sort(), ['key_1', 'key_2'], 'every row is found by its tag')
  })
}

for (const { engine, open } of ENGINES) {
  test(`${engine}: a tag with a new value in every request hides only itself`, async () => {
    await using repositories = await openRepositories(open, manualClock(AT + 2 * HOUR_MS))
    const teams = ['ads', 'search', 'shop']
    for (let i = 0; i < 300; i++) {
      const few = { env: 'prod', ...(i % 10 === 0 ? {} : { team: teams[i % 3] as string }) }
      // Names that few requests have do not displace the others.
      const many = { [`name-${i}`]: 'x', run: `value ${i}`, user: `${i % 90}` }
      await addRow(repositories, AT + i, { cost: 1n, tags: writeTags({ ...few, ...many }) })
    }
    const rows = await reports(repositories)
    await rollAll(repositories)
    const sums = await reports(repositories)

    assert.deepEqual(sums.team, [
      [OTHER_VALUES, 30, 30n],
      ['ads', 90, 90n],
      ['search', 90, 90n],
      ['shop', 90, 90n],
    ])
    assert.deepEqual(sums.env, [['prod', 300, 300n]])
    assert.deepEqual(sums.run, [[OTHER_VALUES, 300, 300n]])
    assert.deepEqual([rows.env, rows.run, rows.search], [sums.env, sums.run, sums.search])
    const entries = await repositories.sql.all('SELECT tags FROM usage_hour')
    assert.ok(entries.length <= TAG_SETS_MAX, `${entries.length} entries`)

    const { shared, read } = await sharedInAudit(repositories)
    assert.deepEqual([...shared.values()], [['env', 'team']])
    assert.ok(read <= 4, `the audit reads ${read} rows, whatever the number of names`)
  })

  test(`${engine}: the audit shares the tags of each key and hour that the sums share`, async () => {
    await using repositories = await openRepositories(open, manualClock(AT + 2 * HOUR_MS))
    const add = (key_id: string, at: number, tags: Tags) =>
      addRow(repositories, at, { key_id, cost: 1n, tags: writeTags(tags) })
    for (let i = 0; i < TAG_SETS_MAX; i++) await add('key_few', AT + i, { run: `${i}` })
    for (let i = 0; i <= TAG_SETS_MAX; i++) {
      await add('key_none', AT + i, { run: `${i}` })
      await add('key_team', AT + i, { run: `${i}`, team: 'search' })
      // With its absence zone has eleven values, and 10 × 11 combinations are too many.
      const zone: Tags = i % 11 === 0 ? {} : { zone: `${i % 11}` }
      await add('key_zone', AT + HOUR_MS + i, { run: `${i}`, site: `${i % 10}`, ...zone })
    }
    await rollAll(repositories)

    const { shared } = await sharedInAudit(repositories)

    assert.deepEqual(Object.fromEntries(shared), {
      [`${HOUR} key_none`]: [],
      [`${HOUR} key_team`]: ['team'],
      [`${HOUR + 1} key_zone`]: ['site'],
    })
    const sums = await repositories.sql.all('SELECT DISTINCT key_id, tags FROM usage_hour')
    const names = new Map(sums.map(({ key_id, tags }) => [key_id, Object.keys(JSON.parse(String(tags)))]))
    assert.deepEqual(Object.fromEntries(names), {
      key_few: ['run'],
      key_none: ['*'],
      key_team: ['*', 'team'],
      key_zone: ['*', 'site'],
    })
  })
}

for (const { engine, make } of GATE_ENGINES) {
  test(`${engine}: the audit recounts sums with tags, also shared entries`, async () => {
    await using fixture = await openFixture(make, 1_000_000_000n)
    const settleWith = async (at: number, tags: Tags) => {
      const ask = askAt(fixture, at)
      const { requestId } = ask.facts
      await fixture.store.billing.reserve({ ...ask, facts: { ...ask.facts, tags: writeTags(tags) } })
      await fixture.store.billing.settle(bill(requestId, { prompt: 3, completion: 1 }))
    }
    for (let i = 0; i <= TAG_SETS_MAX; i++)
      await settleWith(AT + i, { run: `${i}`, stage: 'x', team: 'search', zone: `${i % 3}` })
    for (let i = 0; i < 3; i++) await settleWith(AT + HOUR_MS + i, { run: `${i}` })
    await rollUpAll(fixture.store)
    const groups = await fixture.store.usage.summary({}, 'tag:team')
    const zones = await fixture.store.usage.summary({}, 'tag:zone')

    // The times of these requests are not those of the day that counts them.
    const isBroken = async (statement: string) => (await fixture.plant(statement)).includes('sums')
    assert.equal(await isBroken('SELECT 1'), false)
    assert.deepEqual(
      groups.map(({ group, requests }) => [group, requests]),
      [
        ['search', TAG_SETS_MAX + 1],
        ['', 3],
      ],
    )
    assert.deepEqual(zones.map(({ group }) => group).sort(), ['', '0', '1', '2'])
    // A late row of that hour, without a tag that all others have.
    await settleWith(AT + 500, { run: 'late', team: 'search' })
    await rollUpAll(fixture.store)
    assert.equal(await isBroken('SELECT 1'), false)
    const wrong = '{"*":"*","stage":"x","team":"search"}'
    assert.equal(await isBroken(`UPDATE usage_hour SET tags = '${wrong}' WHERE tags LIKE '%team%'`), true)
  })
}

// The rows of key_1, each with a value of its own.
async function addMany(repositories: Repositories, rows: number): Promise<void> {
  await addRow(repositories, AT, { cost: 2n, tags: writeTags({ run: 'value 0', team: 'search' }) })
  await repositories.sql.run(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $1)
     INSERT INTO usage (request_id, account_id, key_id, secret_last4, endpoint, stream, state, outcome, created_at,
       finished_at, client_ip, cost, tags)
     SELECT substr(request_id, 1, 24) || CAST(100000000000 + i AS TEXT), account_id, key_id, secret_last4, endpoint, stream,
       state, outcome, created_at, finished_at, client_ip, cost,
       '{"run":"value ' || CAST(i AS TEXT) || '","team":"search"}'
     FROM usage, n WHERE key_id = 'key_1'`,
    [rows],
  )
}

// The names of the shared tags by hour and key, and how many rows were read for them.
async function sharedInAudit({ sql }: Repositories) {
  const shared: SharedTags = new Map()
  let read = 0
  for (const { statement, look, end } of sharedTagsPasses(shared, sql)) {
    for (const row of await sql.all(statement)) {
      look(row)
      read++
    }
    end?.()
  }
  return { shared: new Map([...shared].map(([group, names]) => [group, [...names].sort()])), read }
}

async function reports({ usage }: Repositories) {
  const by = async (group: `tag:${string}`) =>
    (await usage.summary({}, group))
      .map(({ group: name, requests, cost }) => [name, requests, cost] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1))
  const search = await usage.summary({ tags: [['team', 'search']] }, 'key')
  return {
    team: await by('tag:team'),
    run: await by('tag:run'),
    env: await by('tag:env'),
    number: await by('tag:1'),
    search: search.map(({ group, requests, cost }) => [group, requests, cost]),
    listed: (await usage.list({ limit: 99, tags: [['team', 'search']] })).data.length,
    quoted: (await usage.list({ limit: 99, tags: [['x', 'y']] })).data.length,
  }
}
