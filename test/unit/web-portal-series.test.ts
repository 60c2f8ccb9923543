// The portal's charts: sums of hours become days of the customer's time zone, also where clocks change, and nothing is lost or counted
// twice.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Group, grainOf, seriesOf, totalOf } from '../../web/src/portal/series.ts'

const NEW_YORK = 'America/New_York'
const HOUR = 3_600_000
const DAY = 24 * HOUR

// One request and a millionth of a credit in every hour.
function hoursFrom(from: number, to: number): readonly Group[] {
  return Array.from({ length: (to - from) / HOUR }, (_, i) => ({
    group: `${new Date(from + i * HOUR).toISOString().slice(0, 13)}:00:00Z`,
    requests: 1,
    errors: 0,
    prompt_tokens: 2,
    completion_tokens: 3,
    cost: '0.000001',
  }))
}

for (const [season, first, hours] of [
  ['autumn', Date.UTC(2026, 9, 31, 4), [24, 25, 24]],
  ['spring', Date.UTC(2026, 2, 7, 5), [24, 23, 24]],
] as const) {
  test(`days have as many hours as they have in ${season}, when clocks change`, () => {
    const to = first + hours.reduce((sum, each) => sum + each, 0) * HOUR
    const grain = grainOf(first, to, 'day', NEW_YORK)

    const points = seriesOf(hoursFrom(first, to), first, to, grain)

    assert.deepEqual(grain, { groupBy: 'hour', step: 'day', zone: NEW_YORK })
    assert.deepEqual(
      points.map(({ served }) => served),
      hours,
    )
    assert.equal(points[1]?.cost, `0.0000${hours[1]}0000`.slice(0, 11))
  })
}

test('hours without a request are there too, and a range that ends within an hour includes it', () => {
  const from = Date.UTC(2026, 10, 1)
  const to = from + 5 * HOUR + 1
  const points = seriesOf(hoursFrom(from, from + HOUR), from, to, grainOf(from, to, 'hour', NEW_YORK))

  assert.deepEqual(
    points.map(({ served }) => served),
    [1, 0, 0, 0, 0, 0],
  )
})

test('long ranges, and zones whose days do not begin with an hour of UTC, have days of UTC', () => {
  const to = Date.UTC(2026, 10, 17)
  assert.deepEqual(grainOf(to - 90 * DAY, to, 'day', NEW_YORK), { groupBy: 'day', step: 'day', zone: 'UTC' })
  const india = grainOf(to - 10 * DAY, to, 'day', 'Asia/Kolkata')
  assert.deepEqual(india, { groupBy: 'day', step: 'day', zone: 'UTC' })

  const days = [{ ...hoursFrom(0, HOUR)[0]!, group: '2026-11-10' }]
  const points = seriesOf(days, to - 10 * DAY, to, india)
  assert.deepEqual(
    points.filter(({ served }) => served === 1).map(({ at }) => at),
    ['2026-11-10T00:00:00.000Z'],
  )
})

test('totals are exact', () => {
  const tenth = { requests: 1, errors: 1, prompt_tokens: 1, completion_tokens: 0, cost: '0.1' }
  const { cost, requests, errors } = totalOf([tenth, tenth, { ...tenth, cost: '123456789.000000001' }])

  assert.deepEqual([Number(requests), errors], [3, 3])
  assert.match(cost, /^123456789\.200000001$/)
})
