// The recent requests of a target: exactly those of the last ten minutes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countAnswer, countEnd, nothingRecent, recentAt } from '../../src/route/recent.ts'

const MINUTE_MS = 60_000

test('counts what ended in the last ten minutes, with the mean of the times to the first byte', () => {
  const recent = nothingRecent()
  const at = 1000 * MINUTE_MS

  countAnswer(recent, 100, at)
  countEnd(recent, false, at)
  countAnswer(recent, 300, at + 5 * MINUTE_MS)
  countEnd(recent, true, at + 5 * MINUTE_MS)

  assert.deepEqual(recentAt(recent, at + 9 * MINUTE_MS), { requests: 2, failures: 1, firstByteMs: 200 })
  assert.deepEqual(recentAt(recent, at + 10 * MINUTE_MS), { requests: 1, failures: 1, firstByteMs: 300 })
  assert.deepEqual(recentAt(recent, at + 15 * MINUTE_MS), { requests: 0, failures: 0, firstByteMs: null })
})

test('a failure before a quiet time is gone, and does not come back when its minute is used again', () => {
  const recent = nothingRecent()
  countEnd(recent, true, 0)
  countEnd(recent, false, 30 * MINUTE_MS)

  assert.deepEqual(recentAt(recent, 30 * MINUTE_MS), { requests: 1, failures: 0, firstByteMs: null })
})
