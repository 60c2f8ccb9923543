// The time ranges of the usage page, in the operator's time zone.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boundsOf, usageRange } from '../../web/src/pages/usage/usage-ranges.ts'

const NOW = Date.parse('2026-11-17T03:30:00Z')
const ZONE = 'America/New_York'

test('days and months begin at midnight of the zone', () => {
  assert.deepEqual(boundsOf('today', ZONE, NOW), { from: '2026-11-16T05:00:00.000Z' })
  assert.deepEqual(boundsOf('today', 'UTC', NOW), { from: '2026-11-17T00:00:00.000Z' })
  assert.deepEqual(boundsOf('month', ZONE, NOW), { from: '2026-11-01T04:00:00.000Z' })
  assert.deepEqual(boundsOf('last-month', ZONE, NOW), {
    from: '2026-10-01T04:00:00.000Z',
    to: '2026-11-01T04:00:00.000Z',
  })
  assert.deepEqual(boundsOf('1h', ZONE, NOW), { from: '2026-11-17T02:30:00.000Z' })
  assert.deepEqual([boundsOf('all', ZONE, NOW), boundsOf('custom', ZONE, NOW)], [{}, {}])
})

test('two times in the URL win over a name, and an unknown name is no range', () => {
  const rangeOf = (text: string) => usageRange(new URLSearchParams(text))

  assert.deepEqual(
    ['', 'range=7d', 'range=never', 'range=toString', 'range=7d&from=2026-01-01T00:00:00Z'].map(rangeOf),
    ['all', '7d', 'all', 'all', 'custom'],
  )
})
