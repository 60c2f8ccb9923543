// The axes of charts have round values that include every point, and labels at round times, evenly spaced.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tickLabel, timeTicks, valueAxis } from '../../web/src/components/chart-axes.ts'

const HOUR_MS = 3_600_000

test('the axis of values is round, begins at zero and includes the highest point', () => {
  assert.deepEqual(valueAxis(9), { domain: [0, 10], ticks: [0, 2, 4, 6, 8, 10] })
  assert.deepEqual(valueAxis(3.38).ticks, [0, 1, 2, 3, 4])
  assert.deepEqual(valueAxis(0.000_034).domain, [0, 0.000_04])
  assert.deepEqual(valueAxis(2_250_000_000).ticks, [0, 5e8, 1e9, 1.5e9, 2e9, 2.5e9])

  for (const max of [1e-9, 0.0007, 0.04, 0.9, 1, 3.38, 17, 99.5, 2251, 1e6 + 1, 7.3e14]) {
    const { domain, ticks } = valueAxis(max)
    assert.ok(domain[1] >= max, `${max} fits below ${domain[1]}`)
    assert.ok(ticks.length >= 3 && ticks.length <= 8, `${max}: ${ticks}`)
    assert.deepEqual([ticks[0], ticks.at(-1)], [0, domain[1]], 'both ends have a label')
  }
})

test('a chart without data, or with nothing but zeros, has an axis', () => {
  assert.deepEqual(valueAxis(0, { isWhole: true }), { domain: [0, 1], ticks: [0, 1] })
  assert.deepEqual(valueAxis(Number.NEGATIVE_INFINITY, { isWhole: true }), { domain: [0, 1], ticks: [0, 1] })
  assert.deepEqual(valueAxis(0).domain, [0, 1])
})

test('counts have whole numbers only', () => {
  assert.deepEqual(valueAxis(1, { isWhole: true }).ticks, [0, 1])
  assert.deepEqual(valueAxis(3, { isWhole: true }).ticks, [0, 1, 2, 3])
  for (let max = 0; max < 100; max++) {
    const { ticks } = valueAxis(max, { isWhole: true })
    assert.ok(ticks.every(Number.isInteger), `${max}: ${ticks}`)
  }
})

test('an error rate of zero is shown on an axis to 5 %, and 100 % reaches exactly to the top', () => {
  const rates = { least: 0.05 }
  assert.deepEqual(valueAxis(0, rates).domain, [0, 0.05])
  assert.deepEqual(valueAxis(0.001, rates).domain, [0, 0.05])
  assert.deepEqual(valueAxis(0.122, rates).domain, [0, 0.15])
  assert.deepEqual(valueAxis(1, rates).domain, [0, 1])
})

test('24 hours are labelled every six hours of the zone, and midnight by its day', () => {
  const points = hours('2026-11-16T15:00:00Z', 24)

  const labels = (zone: string) => timeTicks(points, 'hour', zone).map(at => tickLabel(at, 'hour', zone))

  assert.deepEqual(labels('UTC'), ['18:00', 'Nov 17', '06:00', '12:00'])
  assert.deepEqual(labels('America/New_York'), ['12:00', '18:00', 'Nov 17', '06:00'])
})

test('in a zone of half hours, labels say the time at which the hour really begins', () => {
  const points = hours('2026-11-16T15:00:00Z', 24)

  const labels = timeTicks(points, 'hour', 'Asia/Kolkata').map(at => tickLabel(at, 'hour', 'Asia/Kolkata'))

  assert.deepEqual(labels, ['Nov 17', '06:30', '12:30', '18:30'])
})

test('a week by the hour is labelled at midnights, also when the clocks change', () => {
  // Daylight saving ends on November 1, 2026: that day has 25 hours.
  const points = hours('2026-10-30T04:00:00Z', 6 * 24 + 1)

  const ticks = timeTicks(points, 'hour', 'America/New_York')

  assert.deepEqual(
    ticks.map(at => tickLabel(at, 'hour', 'America/New_York')),
    ['Oct 30', 'Oct 31', 'Nov 1', 'Nov 2', 'Nov 3', 'Nov 4'],
  )
  const gaps = ticks.slice(1).map((at, i) => (Date.parse(at) - Date.parse(ticks[i] ?? '')) / HOUR_MS)
  assert.deepEqual(gaps, [24, 24, 25, 24, 24])
})

test('days are labelled at equal distances, and long ranges by month', () => {
  const days = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ at: new Date(Date.UTC(2026, 7, 20 + i)).toISOString() }))

  const month = timeTicks(days(30), 'day', 'UTC').map(at => Date.parse(at) / HOUR_MS / 24)
  assert.deepEqual(new Set(month.slice(1).map((day, i) => day - (month[i] ?? 0))), new Set([5]))
  const quarter = timeTicks(days(90), 'day', 'UTC').map(at => tickLabel(at, 'day', 'UTC'))
  assert.deepEqual(quarter, ['Sep 1', 'Oct 1', 'Nov 1'])
})

test('one point, and no point', () => {
  assert.deepEqual(timeTicks(hours('2026-11-16T15:00:00Z', 1), 'hour', 'UTC'), ['2026-11-16T15:00:00.000Z'])
  assert.deepEqual(timeTicks([], 'day', 'UTC'), [])
})

function hours(from: string, count: number) {
  return Array.from({ length: count }, (_, i) => ({ at: new Date(Date.parse(from) + i * HOUR_MS).toISOString() }))
}
