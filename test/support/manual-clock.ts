// A clock that only the test advances.
import type { Clock } from '../../src/lib/clock.ts'

export type ManualClock = Clock & {
  // Both readings advance together.
  advance(ms: number): void
  // The wall clock jumps, also backwards; the monotonic reading is unchanged.
  set(ms: number): void
}

export function manualClock(start = Date.UTC(2026, 0, 1)): ManualClock {
  let now = start
  let monotonic = 0
  return Object.freeze({
    now: () => Math.floor(now),
    monotonic: () => monotonic,
    advance(ms: number) {
      if (!(ms >= 0)) throw new RangeError('time only advances; to jump back, set the clock')
      now += ms
      monotonic += ms
    },
    set(ms: number) {
      now = ms
    },
  })
}
