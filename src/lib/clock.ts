// The only place that reads the time. Everything else receives a Clock, so that a test, or a whole simulated cluster, can control
// it.

export type Clock = {
  // Milliseconds since 1970, whole; may jump either way when the machine's clock is set.
  now(): number
  // Milliseconds since some fixed moment, with fractions; never goes back. For measuring, never for storing.
  monotonic(): number
}

export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonic: () => performance.now(),
})
