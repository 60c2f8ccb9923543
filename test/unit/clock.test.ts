// The two clocks: the system's, and the manual one of the tests.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/lib/clock.ts'
import { manualClock } from '../support/manual-clock.ts'

test('the system clock gives whole milliseconds, and a monotonic reading that never goes back', () => {
  let last = systemClock.monotonic()

  for (let i = 0; i < 1000; i++) {
    const next = systemClock.monotonic()
    assert.ok(next >= last)
    last = next
  }

  assert.ok(Number.isSafeInteger(systemClock.now()))
})

test('a manual clock stands still until it is advanced', () => {
  const clock = manualClock(1000)

  clock.advance(250.5)

  assert.equal(clock.now(), 1250)
  assert.equal(clock.monotonic(), 250.5)
})

test('setting a manual clock back leaves its monotonic reading unchanged', () => {
  const clock = manualClock(1000)
  clock.advance(10)

  clock.set(500)

  assert.equal(clock.now(), 500)
  assert.equal(clock.monotonic(), 10)
  assert.throws(() => clock.advance(-1), RangeError)
})
