// The only place that reads the time. Everything else is handed a Clock, so that a test, or a whole simulated cluster,
// can decide what time it is.

export type Clock = {
  // Milliseconds since 1970, whole; may jump either way when the machine's clock is set.
  now(): number
  // Milliseconds since some fixed moment, with fractions; never goes back. For measuring, never for storing.
  monotonic(): number
}

export type ManualClock = Clock & {
  // Both readings move on together.
  advance(ms: number): void
  // The wall clock jumps, also backwards; the monotonic reading stays where it is.
  set(ms: number): void
}

export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonic: () => performance.now(),
})

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
