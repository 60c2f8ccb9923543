// The days of a time zone, made from hours of UTC.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zoneDay, zoneDayStart, zoneOffsets } from '../../src/domain/zone-offsets.ts'

const HOUR_MS = 3_600_000
const at = (text: string) => Date.parse(text)

test('the offset changes at the hour at which the clocks change', () => {
  const offsets = zoneOffsets('America/New_York', at('2026-10-20T00:00:00Z'), at('2026-11-17T00:00:00Z'))

  assert.deepEqual(offsets, [
    { from: at('2026-10-20T00:00:00Z'), offsetMs: -4 * HOUR_MS },
    { from: at('2026-11-01T06:00:00Z'), offsetMs: -5 * HOUR_MS },
  ])
})

test('days begin at midnight and have 23, 24 or 25 hours', () => {
  const [from, to] = [at('2026-01-01T00:00:00Z'), at('2026-12-31T00:00:00Z')]
  for (const zone of ['America/New_York', 'Europe/Berlin', 'America/Santiago', 'Pacific/Auckland', 'UTC']) {
    const offsets = zoneOffsets(zone, from, to) ?? []
    const clock = new Intl.DateTimeFormat('en-GB', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' })
    const lengths = new Set<number>()
    for (let day = zoneDay(from, offsets) + 1; day < zoneDay(to, offsets); day++) {
      const start = zoneDayStart(day, offsets)
      // A day whose midnight is skipped begins at one.
      assert.match(clock.format(start), /00:00$|01:00$/, zone)
      assert.equal(zoneDay(start, offsets), day)
      assert.equal(zoneDay(start - 1, offsets), day - 1)
      lengths.add((zoneDayStart(day + 1, offsets) - start) / HOUR_MS)
    }
    assert.deepEqual([...lengths].sort(), zone === 'UTC' ? [24] : [23, 24, 25], zone)
  }
})

test('a zone whose days begin in the middle of an hour has none of these days', () => {
  const span = [at('2026-01-01T00:00:00Z'), at('2026-12-31T00:00:00Z')] as const

  assert.equal(zoneOffsets('Asia/Kolkata', ...span), undefined)
  assert.equal(zoneOffsets('Asia/Kathmandu', ...span), undefined)
  assert.throws(() => zoneOffsets('Mars/Olympus', ...span), RangeError)
})
