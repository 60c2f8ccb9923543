// Times in the dashboard: one clock format, and days of the chosen zone, also of those with 23 or 25 hours.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rangeOf } from '../../web/src/api/ranges.ts'
import {
  formatTime,
  fromInput,
  offsetName,
  startOfDay,
  startOfMonth,
  toInput,
  withTimesIn,
} from '../../web/src/format/time.ts'

const HOUR_MS = 3_600_000
const NEW_YORK = 'America/New_York'
const KOLKATA = 'Asia/Kolkata'

test('the clock has 24 hours, whatever the zone', () => {
  const at = '2026-11-17T00:05:09.123Z'

  assert.equal(formatTime(at, 'full', 'UTC'), 'Nov 17, 2026, 00:05:09')
  assert.equal(formatTime(at, 'full', NEW_YORK), 'Nov 16, 2026, 19:05:09')
  assert.equal(formatTime(at, 'short', KOLKATA), 'Nov 17, 05:35:09')
})

test('the offset is the one at that time', () => {
  assert.equal(offsetName(Date.parse('2026-07-01T00:00:00Z'), NEW_YORK), 'UTC−4')
  assert.equal(offsetName(Date.parse('2026-12-01T00:00:00Z'), NEW_YORK), 'UTC−5')
  assert.equal(offsetName(Date.now(), KOLKATA), 'UTC+5:30')
  assert.equal(offsetName(Date.now(), 'UTC'), 'UTC')
})

test('a day begins at its midnight and has 23, 24 or 25 hours', () => {
  const lengthOf = (at: string, zone: string) => {
    const time = Date.parse(at)
    return (startOfDay(time, zone, 1) - startOfDay(time, zone)) / HOUR_MS
  }

  assert.equal(lengthOf('2026-03-08T12:00:00Z', NEW_YORK), 23)
  assert.equal(lengthOf('2026-11-01T12:00:00Z', NEW_YORK), 25)
  assert.equal(lengthOf('2026-11-02T12:00:00Z', NEW_YORK), 24)
  assert.equal(lengthOf('2026-03-08T12:00:00Z', KOLKATA), 24)
  assert.equal(
    new Date(startOfDay(Date.parse('2026-11-01T12:00:00Z'), KOLKATA)).toISOString(),
    '2026-10-31T18:30:00.000Z',
  )
  // The first day of summer in Chile has no midnight.
  const santiago = startOfDay(Date.parse('2026-09-06T12:00:00Z'), 'America/Santiago')
  assert.equal(formatTime(santiago, 'minute', 'America/Santiago'), 'Sep 6, 01:00')
  assert.equal(
    formatTime(startOfMonth(Date.parse('2026-11-17T00:00:00Z'), NEW_YORK), 'minute', NEW_YORK),
    'Nov 1, 00:00',
  )
})

test('a time that is entered means the clock of the zone, and comes back as entered', () => {
  for (const zone of ['UTC', NEW_YORK, KOLKATA, 'Asia/Kathmandu', 'Pacific/Kiritimati']) {
    for (const text of [
      '2026-03-08T01:59',
      '2026-03-08T03:00',
      '2026-07-01T00:00',
      '2026-11-01T02:00',
      '2026-12-31T23:59',
    ]) {
      assert.equal(toInput(fromInput(text, zone), zone), text, `${text} in ${zone}`)
    }
  }
  assert.equal(fromInput('2026-11-17T14:05', NEW_YORK), '2026-11-17T19:05:00.000Z')
  // Skipped in spring, and twice in autumn: the first one after it, and the first of the two.
  assert.equal(fromInput('2026-03-08T02:30', NEW_YORK), '2026-03-08T07:30:00.000Z')
  assert.equal(fromInput('2026-11-01T01:30', NEW_YORK), '2026-11-01T05:30:00.000Z')
  assert.equal(fromInput('', NEW_YORK), '')
  assert.equal(toInput('tomorrow', NEW_YORK), '')
})

test('ranges begin at midnight of the zone, and a custom one has its own ends', () => {
  const now = Date.parse('2026-11-04T03:30:00Z')
  const fromOf = (query: string, zone: string) => rangeOf(new URLSearchParams(query), zone, now).from

  assert.equal(fromOf('', NEW_YORK), '2026-11-03T04:00:00.000Z')
  assert.equal(fromOf('range=today', 'UTC'), '2026-11-04T00:00:00.000Z')
  assert.equal(fromOf('range=today', NEW_YORK), '2026-11-03T05:00:00.000Z')
  assert.equal(fromOf('range=today', KOLKATA), '2026-11-03T18:30:00.000Z')
  assert.equal(fromOf('range=month', NEW_YORK), '2026-11-01T04:00:00.000Z')
  // Seven days back, over the end of daylight saving.
  assert.equal(fromOf('range=7d', NEW_YORK), '2026-10-28T04:00:00.000Z')
  const custom = 'from=2026-01-01T00:00:00.000Z&to=2026-01-02T00:00:00.000Z'
  assert.deepEqual(rangeOf(new URLSearchParams(custom), NEW_YORK, now), {
    id: 'custom',
    from: '2026-01-01T00:00:00.000Z',
    to: '2026-01-02T00:00:00.000Z',
    step: 'hour',
  })
  assert.equal(rangeOf(new URLSearchParams('range=1h'), NEW_YORK, now).from, '2026-11-04T02:31:00.000Z')
  assert.equal(rangeOf(new URLSearchParams('from=2026-01-02&to=2026-01-01'), 'UTC', now).id, '24h')
})

test('times in a sentence of the server are those of the zone, and all else stays', () => {
  const sentence = 'has 0 left and resets at 2026-11-18T00:00:00Z.'

  assert.equal(withTimesIn(NEW_YORK, sentence), 'has 0 left and resets at Nov 17, 19:00 (UTC−5).')
  assert.equal(withTimesIn('UTC', sentence), 'has 0 left and resets at Nov 18, 00:00 (UTC).')
  assert.equal(withTimesIn('UTC', 'model 2026-99-99T00:00:00Z'), 'model 2026-99-99T00:00:00Z')
})
