// What the store promises of old usage rows: they go only once their sums are kept and nothing about them is undecided,
// reports say the same without them, and months to come have their place before their first row does.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../../../src/domain/key.ts'
import { HOUR_MS } from '../../../src/domain/usage-hours.ts'
import { SUMMARY_GROUPS } from '../../../src/store/contract/operator.ts'
import { dropPartition, makePartitions } from '../../../src/store/postgres/partitions.ts'
import { dropHours } from '../../../src/store/sql/retention.ts'
import { text } from '../../../src/store/sql/sql.ts'
import { idAt } from '../../../src/store/sql/time-order.ts'
import { ENGINES, openRooms, type Rooms } from '../../support/engines.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { rollAll } from '../../support/usage-hours.ts'
import { addRow } from '../../support/usage-rows.ts'

// A schema's first partition ends with the month in which it was made, so that time begins now and goes on from there: in the middle of
// the hour, since a row of its first minute is looked for in the hour before as well, which is then summed up and dropped too.
const NOW = Math.floor(Date.now() / HOUR_MS) * HOUR_MS + HOUR_MS / 2
const LATER = NOW + 100 * DAY_MS
const KEEP_DAYS = 30

for (const { engine, open } of ENGINES) {
  test(`${engine}: rows that are too old go once they are summed up, and every report says the same`, async () => {
    await using rooms = await openAt(open, LATER)
    for (let i = 0; i < 30; i++) await addRow(rooms, NOW + i * HOUR_MS, { cost: i, key_id: `key_${i % 3}` })
    const young = await addRow(rooms, LATER - 5 * DAY_MS, { cost: 7 })
    const before = await reports(rooms)

    assert.equal(await drop(engine, rooms), 0, 'nothing is summed up yet')
    await rollAll(rooms)
    assert.ok((await drop(engine, rooms)) >= 30)

    assert.deepEqual(await idsOf(rooms), [young])
    assert.deepEqual(await reports(rooms), before)
    await rollAll(rooms)
    assert.deepEqual(await reports(rooms), before)
    assert.equal((await rooms.usage.list({ limit: 9, outcome: 'completed' })).data.length, 1)
  })

  test(`${engine}: names that nobody offered go with the rows of their hour`, async () => {
    await using rooms = await openAt(open, LATER)
    for (const at of [NOW, LATER - 5 * DAY_MS]) {
      await addRow(rooms, at, { model_requested: `m${at}`, outcome: 'refused', error_code: 'model_not_found' })
    }
    await rollAll(rooms)

    assert.ok((await drop(engine, rooms)) > 0)

    const names = await rooms.sql.all('SELECT model FROM usage_hour_unknown')
    assert.deepEqual(
      names.map(row => text(row.model)),
      [`m${LATER - 5 * DAY_MS}`],
    )
  })

  test(`${engine}: an hour with a changed, an open or a lately recovered row keeps its rows`, async () => {
    await using rooms = await openAt(open, LATER)
    const id = await addRow(rooms, NOW, { state: 'recovered', outcome: 'recovered', finished_at: LATER - HOUR_MS })
    await addRow(rooms, LATER - DAY_MS)
    await rollAll(rooms)

    assert.equal(await drop(engine, rooms), 0, 'its owner may come back')
    await rooms.sql.run('UPDATE usage SET finished_at = $1 WHERE request_id = $2', [LATER - 2 * DAY_MS, id])
    await rooms.sql.run('UPDATE usage_rolled SET mark = mark + 1 WHERE hour = $1', [Math.floor(NOW / HOUR_MS)])
    assert.equal(await drop(engine, rooms), 0, 'its sums are not true')
    await rollAll(rooms)
    await rooms.sql.run(`UPDATE usage SET state = 'open' WHERE request_id = $1`, [id])
    assert.equal(await drop(engine, rooms), 0, 'it is open')
    await rooms.sql.run(`UPDATE usage SET state = 'recovered' WHERE request_id = $1`, [id])

    assert.ok((await drop(engine, rooms)) > 0)
    assert.equal(await rooms.usage.get(id), undefined)
  })

  test(`${engine}: a row that comes into an hour whose rows are gone is counted beside its sums, and stays`, async () => {
    await using rooms = await openAt(open, LATER)
    await addRow(rooms, NOW, { cost: 5 })
    await addRow(rooms, LATER - DAY_MS)
    await rollAll(rooms)
    await drop(engine, rooms)

    const id = await addRow(rooms, NOW, { cost: 3 })
    await rooms.sql.run('UPDATE usage_rolled SET mark = mark + 1 WHERE hour = $1', [Math.floor(NOW / HOUR_MS)])
    await rollAll(rooms)
    await drop(engine, rooms)

    const [day] = (await rooms.usage.summary({ to: NOW + DAY_MS }, 'account')).map(row => [row.requests, row.cost])
    assert.deepEqual(day, [2, 8n])
    assert.equal((await rooms.usage.get(id))?.cost, 3n)
  })

  test(`${engine}: a span that cuts an hour whose rows are gone takes in all of it, and the overview says so`, async () => {
    await using rooms = await openAt(open, LATER)
    const first = Math.floor(NOW / HOUR_MS) * HOUR_MS
    const [start, end] = [first + 0.5 * HOUR_MS, first + 2.5 * HOUR_MS]
    for (const hours of [0.25, 0.75, 1.5, 2.25, 2.75, 3.5]) await addRow(rooms, first + hours * HOUR_MS, { cost: 5 })
    const young = LATER - DAY_MS
    await addRow(rooms, young)
    const cut = await rooms.usage.overview({ from: start, to: end, step: 'hour' })
    await rollAll(rooms)
    await drop(engine, rooms)

    const whole = await rooms.usage.overview({ from: start, to: end, step: 'hour' })
    const within = await rooms.usage.overview({ from: start, to: start + 1, step: 'hour' })
    const none = await rooms.usage.overview({ from: start, to: start, step: 'hour' })
    const kept = await rooms.usage.overview({ from: young - 1, to: young + 1, step: 'hour' })
    const byKey = await rooms.usage.summary({ from: start, to: end }, 'key')
    const byHour = await rooms.usage.summary({ from: start }, 'hour')

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

  test('postgres: months to come have their partitions, and what came too early is brought into its own', async () => {
    await using rooms = await openAt(open, NOW)
    await makePartitions(rooms.sql)
    const made = await partitionsOf(rooms)
    const stray = await addRow(rooms, LATER)
    assert.equal(await partitionOf(rooms, stray), 'usage_rest')

    rooms.clock.advance(LATER - NOW)
    await makePartitions(rooms.sql)
    await makePartitions(rooms.sql)

    assert.deepEqual(made.slice(0, 3), ['usage_ground', 'usage_rest', monthOf(NOW, 1)])
    assert.ok(made.includes(monthOf(NOW, 2)))
    assert.equal(await partitionOf(rooms, stray), monthOf(LATER, 0))
    assert.ok((await partitionsOf(rooms)).includes(monthOf(LATER, 2)))
    assert.equal(await partitionOf(rooms, await addRow(rooms, NOW)), 'usage_ground')
    assert.equal((await rooms.usage.list({ limit: 9 })).data.length, 2)
  })

  test('postgres: a request is found in its own partition alone, and open rows by their index', async () => {
    await using rooms = await openAt(open, NOW)
    await makePartitions(rooms.sql)

    const byId = await planOf(rooms, `SELECT * FROM usage WHERE request_id = '${idAt(NOW)}'`)
    const openRows = await planOf(rooms, `SELECT request_id FROM usage WHERE state = 'open'`)

    assert.match(byId, /usage_ground/)
    assert.doesNotMatch(byId, /Append|usage_rest|usage_20/)
    assert.doesNotMatch(openRows, /Seq Scan/)
  })
}

async function openAt(open: (typeof ENGINES)[number]['open'], at: number): Promise<Rooms> {
  const clock = manualClock()
  clock.advance(at - clock.now())
  return openRooms(open, clock)
}

async function drop(engine: string, rooms: Rooms): Promise<number> {
  if (engine === 'postgres') return dropPartition(rooms.sql, rooms.sql.now() - KEEP_DAYS * DAY_MS)
  return (await dropHours(rooms.sql.now() - KEEP_DAYS * DAY_MS, rooms.retention)).dropped
}

async function reports(rooms: Rooms) {
  const sums = []
  for (const group of SUMMARY_GROUPS) sums.push(await rooms.usage.summary({}, group))
  const { lowBalances: _, ...overview } = await rooms.usage.overview({ from: NOW - HOUR_MS, to: LATER, step: 'day' })
  return { sums, overview }
}

async function idsOf(rooms: Rooms): Promise<readonly string[]> {
  return (await rooms.sql.all('SELECT request_id FROM usage ORDER BY request_id')).map(row => text(row.request_id))
}

async function partitionsOf(rooms: Rooms): Promise<readonly string[]> {
  const rows = await rooms.sql.all(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'usage'::regclass ORDER BY inhrelid`,
  )
  const names = rows.map(row => text(row.name))
  return [...names.filter(name => !name.startsWith('usage_2')), ...names.filter(name => name.startsWith('usage_2'))]
}

async function partitionOf(rooms: Rooms, id: string): Promise<string> {
  return text(
    (await rooms.sql.get('SELECT tableoid::regclass::text AS name FROM usage WHERE request_id = $1', [id]))?.name,
  )
}

function monthOf(at: number, ahead: number): string {
  const date = new Date(at)
  const month = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + ahead))
  return `usage_${month.toISOString().slice(0, 7).replace('-', '_')}`
}

async function planOf(rooms: Rooms, statement: string): Promise<string> {
  return rooms.sql.transaction(async tx => {
    await tx.run('SET LOCAL enable_seqscan = off')
    return (await tx.all(`EXPLAIN ${statement}`)).map(row => text(row['QUERY PLAN'])).join('\n')
  })
}
