// A clock that only the test moves.
import type { Clock } from '../../src/lib/clock.ts'

export type ManualClock = Clock & {
  // Both readings move on together.
  advance(ms: number): void
  // The wall clock jumps, also backwards; the monotonic reading stays where it is.
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
