// The contract of old usage rows: they are deleted only once their sums are stored and none of them can still change,
// reports stay the same without them, and future months have their partition before their first row.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../../../src/domain/key.ts'
import { HOUR_MS } from '../../../src/domain/usage.ts'
import { SUMMARY_GROUPS } from '../../../src/store/contract/operator.ts'
import { dropPartition, makePartitions } from '../../../src/store/postgres/maintenance.ts'
import { dropHours } from '../../../src/store/sql/retention.ts'
import { text } from '../../../src/store/sql/sql.ts'
import { idAt } from '../../../src/store/sql/time-order.ts'
import { ENGINES, OPERATOR, openRepositories, type Repositories } from '../../support/engines.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { rollAll } from '../../support/usage-hours.ts'
import { addRow } from '../../support/usage-rows.ts'

// A schema's first partition ends with the month in which it was made, so time starts now and advances from there: in
// the middle of the hour, because a row of its first minute is also searched in the hour before, which is then rolled
// up and dropped too.
const NOW = Math.floor(Date.now() / HOUR_MS) * HOUR_MS + HOUR_MS / 2
const LATER = NOW + 100 * DAY_MS
const KEEP_DAYS = 30

for (const { engine, open } of ENGINES) {
  test(`${engine}: expired rows are deleted once rolled up, and every report stays the same`, async () => {
    await using repositories = await openAt(open, LATER)
    for (let i = 0; i < 30; i++) await addRow(repositories, NOW + i * HOUR_MS, { cost: i, key_id: `key_${i % 3}` })
    const young = await addRow(repositories, LATER - 5 * DAY_MS, { cost: 7 })
    const before = await reports(repositories)

    assert.equal(await drop(engine, repositories), 0, 'nothing is rolled up yet')
    await rollAll(repositories)
    assert.ok((await drop(engine, repositories)) >= 30)

    assert.deepEqual(await idsOf(repositories), [young])
    assert.deepEqual(await reports(repositories), before)
    await rollAll(repositories)
    assert.deepEqual(await reports(repositories), before)
    assert.equal((await repositories.usage.list({ limit: 9, outcome: 'completed' })).data.length, 1)
  })

  test(`${engine}: names of unknown models are deleted with the rows of their hour`, async () => {
    await using repositories = await openAt(open, LATER)
    for (const at of [NOW, LATER - 5 * DAY_MS]) {
      await addRow(repositories, at, { model_requested: `m${at}`, outcome: 'refused', error_code: 'model_not_found' })
    }
    await rollAll(repositories)

    assert.ok((await drop(engine, repositories)) > 0)

    const names = await repositories.sql.all('SELECT model FROM usage_hour_unknown')
    assert.deepEqual(
      names.map(row => text(row.model)),
      [`m${LATER - 5 * DAY_MS}`],
    )
  })

  test(`${engine}: a ledger with a correction at midnight still sums to the balance when its row is gone`, async () => {
    await using repositories = await openAt(open, LATER)
    const { accounts, sql } = repositories
    const midnight = Math.ceil(NOW / DAY_MS) * DAY_MS
    await accounts.create({ id: 'acct_1', name: 'test' }, OPERATOR)
    // The id was created before midnight, the row after it. Of the 7 that it cost, 5 were charged late.
    const id = await addRow(repositories, midnight, { request_id: idAt(midnight - 5), cost: 7 })
    await addRow(repositories, midnight + 3 * DAY_MS, { cost: 1 })
    await sql.run(
      `INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at)
       VALUES ('acct_1', $1, 'correction', -5, $2, $3)`,
      [`${id}-correction`, id, midnight],
    )
    const before = await ledgerSums(accounts)

    await rollAll(repositories)
    assert.ok((await drop(engine, repositories)) > 0)

    assert.deepEqual(before, { all: -8n, oneByOne: -8n, kinds: 'charge charge correction' })
    assert.deepEqual(await ledgerSums(accounts), before)
  })

  test(`${engine}: an hour with a changed, an open or a recently recovered row keeps its rows`, async () => {
    await using repositories = await openAt(open, LATER)
    const id = await addRow(repositories, NOW, {
      state: 'recovered',
      outcome: 'recovered',
      finished_at: LATER - HOUR_MS,
    })
    await addRow(repositories, LATER - DAY_MS)
    await rollAll(repositories)

    assert.equal(await drop(engine, repositories), 0, 'its owner may come back')
    await repositories.sql.run('UPDATE usage SET finished_at = $1 WHERE request_id = $2', [LATER - 2 * DAY_MS, id])
    await repositories.sql.run('UPDATE usage_rolled SET mark = mark + 1 WHERE hour = $1', [Math.floor(NOW / HOUR_MS)])
    assert.equal(await drop(engine, repositories), 0, 'its sums are outdated')
    await rollAll(repositories)
    await repositories.sql.run(`UPDATE usage SET state = 'open' WHERE request_id = $1`, [id])
    assert.equal(await drop(engine, repositories), 0, 'it is open')
    await repositories.sql.run(`UPDATE usage SET state = 'recovered' WHERE request_id = $1`, [id])

    assert.ok((await drop(engine, repositories)) > 0)
    assert.equal(await repositories.usage.get(id), undefined)
  })

  test(`${engine}: a row written into an hour whose rows are deleted is counted in addition to its sums, and kept`, async () => {
    await using repositories = await openAt(open, LATER)
    await addRow(repositories, NOW, { cost: 5 })
    await addRow(repositories, LATER - DAY_MS)
    await rollAll(repositories)
    await drop(engine, repositories)

    const id = await addRow(repositories, NOW, { cost: 3 })
    await repositories.sql.run('UPDATE usage_rolled SET mark = mark + 1 WHERE hour = $1', [Math.floor(NOW / HOUR_MS)])
    await rollAll(repositories)
    await drop(engine, repositories)

    const [day] = (await repositories.usage.summary({ to: NOW + DAY_MS }, 'account')).map(row => [
      row.requests,
      row.cost,
    ])
    assert.deepEqual(day, [2, 8n])
    assert.equal((await repositories.usage.get(id))?.cost, 3n)
  })

  test(`${engine}: a range that cuts an hour whose rows are deleted includes all of it, and the overview reports so`, async () => {
    await using repositories = await openAt(open, LATER)
    const first = Math.floor(NOW / HOUR_MS) * HOUR_MS
    const [start, end] = [first + 0.5 * HOUR_MS, first + 2.5 * HOUR_MS]
    for (const hours of [0.25, 0.75, 1.5, 2.25, 2.75, 3.5])
      await addRow(repositories, first + hours * HOUR_MS, { cost: 5 })
    const young = LATER - DAY_MS
    await addRow(repositories, young)
    const cut = await repositories.usage.overview({ from: start, to: end, step: 'hour' })
    await rollAll(repositories)
    await drop(engine, repositories)

    const whole = await repositories.usage.overview({ from: start, to: end, step: 'hour' })
    const within = await repositories.usage.overview({ from: start, to: start + 1, step: 'hour' })
    const none = await repositories.usage.overview({ from: start, to: start, step: 'hour' })
    const kept = await repositories.usage.overview({ from: young - 1, to: young + 1, step: 'hour' })
    const byKey = await repositories.usage.summary({ from: start, to: end }, 'key')
    const byHour = await repositories.usage.summary({ from: start }, 'hour')

    assert.deepEqual([cut.from, cut.to, cut.totals.requests], [start, end, 3])
    assert.deepEqual([whole.from, whole.to, whole.totals.requests], [first, first + 3 * HOUR_MS, 5])
    assert.deepEqual(
      whole.series.map(({ at, requests }) => [at - first, requests]),
      [
        [0, 2],
        [HOUR_MS, 1],
        [2 * HOUR_MS, 2],
      ],
    )
    assert.deepEqual([within.from, within.to, within.totals.requests], [first, first + HOUR_MS, 2])
    assert.deepEqual([none.from, none.totals.requests], [start, 0])
    assert.deepEqual([kept.from, kept.to, kept.totals.requests], [young - 1, young + 1, 1])
    assert.deepEqual([byKey[0]?.requests, byKey[0]?.cost], [5, 25n])
    assert.equal(byHour.at(-1)?.requests, 2)
  })

  if (engine !== 'postgres') continue

  test('postgres: future months have partitions, and rows that came too early are moved into theirs', async () => {
    await using repositories = await openAt(open, NOW)
    await makePartitions(repositories.sql)
    const made = await partitionsOf(repositories)
    const stray = await addRow(repositories, LATER)
    assert.equal(await partitionOf(repositories, stray), 'usage_rest')

    repositories.clock.advance(LATER - NOW)
    await makePartitions(repositories.sql)
    await makePartitions(repositories.sql)

    assert.deepEqual(made.slice(0, 3), ['usage_ground', 'usage_rest', monthOf(NOW, 1)])
    assert.ok(made.includes(monthOf(NOW, 2)))
    assert.equal(await partitionOf(repositories, stray), monthOf(LATER, 0))
    assert.ok((await partitionsOf(repositories)).includes(monthOf(LATER, 2)))
    assert.equal(await partitionOf(repositories, await addRow(repositories, NOW)), 'usage_ground')
    assert.equal((await repositories.usage.list({ limit: 9 })).data.length, 2)
  })

  test('postgres: a request is found in its own partition only, and open rows by their index', async () => {
    await using repositories = await openAt(open, NOW)
    await makePartitions(repositories.sql)

    const byId = await planOf(repositories, `SELECT * FROM usage WHERE request_id = '${idAt(NOW)}'`)
    const openRows = await planOf(repositories, `SELECT request_id FROM usage WHERE state = 'open'`)

    assert.match(byId, /usage_ground/)
    assert.doesNotMatch(byId, /Append|usage_rest|usage_20/)
    assert.doesNotMatch(openRows, /Seq Scan/)
  })
}

async function openAt(open: (typeof ENGINES)[number]['open'], at: number): Promise<Repositories> {
  const clock = manualClock()
  clock.advance(at - clock.now())
  return openRepositories(open, clock)
}

async function drop(engine: string, repositories: Repositories): Promise<number> {
  if (engine === 'postgres') return dropPartition(repositories.sql, repositories.sql.now() - KEEP_DAYS * DAY_MS)
  return (await dropHours(repositories.sql.now() - KEEP_DAYS * DAY_MS, repositories.retention)).dropped
}

async function ledgerSums(accounts: Repositories['accounts']) {
  const all = (await accounts.ledger('acct_1', { limit: 100 }))!
  let oneByOne = 0n
  for (let after: string | undefined, hasMore = true; hasMore; ) {
    const page = (await accounts.ledger('acct_1', { limit: 1, after }))!
    for (const entry of page.data) oneByOne += entry.amount
    after = page.data.at(-1)?.id
    hasMore = page.hasMore
  }
  return {
    all: all.data.reduce((sum, { amount }) => sum + amount, 0n),
    oneByOne,
    kinds: all.data.map(({ kind }) => kind).join(' '),
  }
}

async function reports(repositories: Repositories) {
  const sums = []
  for (const group of SUMMARY_GROUPS) sums.push(await repositories.usage.summary({}, group))
  const { lowBalances: _, ...overview } = await repositories.usage.overview({
    from: NOW - HOUR_MS,
    to: LATER,
    step: 'day',
  })
  return { sums, overview }
}

async function idsOf(repositories: Repositories): Promise<readonly string[]> {
  return (await repositories.sql.all('SELECT request_id FROM usage ORDER BY request_id')).map(row =>
    text(row.request_id),
  )
}

async function partitionsOf(repositories: Repositories): Promise<readonly string[]> {
  const rows = await repositories.sql.all(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'usage'::regclass ORDER BY inhrelid`,
  )
  const names = rows.map(row => text(row.name))
  return [...names.filter(name => !name.startsWith('usage_2')), ...names.filter(name => name.startsWith('usage_2'))]
}

async function partitionOf(repositories: Repositories, id: string): Promise<string> {
  return text(
    (await repositories.sql.get('SELECT tableoid::regclass::text AS name FROM usage WHERE request_id = $1', [id]))
      ?.name,
  )
}

function monthOf(at: number, ahead: number): string {
  const date = new Date(at)
  const month = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + ahead))
  return `usage_${month.toISOString().slice(0, 7).replace('-', '_')}`
}

async function planOf(repositories: Repositories, statement: string): Promise<string> {
  return repositories.sql.transaction(async tx => {
    await tx.run('SET LOCAL enable_seqscan = off')
    return (await tx.all(`EXPLAIN ${statement}`)).map(row => text(row['QUERY PLAN'])).join('\n')
  })
}
