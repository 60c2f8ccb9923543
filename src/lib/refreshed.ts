// A value that is expensive to read, for readers who want it often: it is read in the background, only while somebody asks, and
// at most once per interval. Nobody waits for it for long.
import type { Clock } from './clock.ts'

export type Refreshed<T> = {
  // Undefined until it has been read once, and when the last value is too old.
  get(): Promise<T | undefined>
}

export type RefreshNeeds<T> = {
  read(): Promise<T>
  readonly everyMs: number
  // Where there is no value, or one older than two intervals.
  readonly waitMsMax: number
  readonly keptMs: number
  readonly clock: Pick<Clock, 'monotonic'>
  onError(error: unknown): void
}

// A slow read is repeated less often: it takes at most this share of the time.
const BUSY_SHARE = 1 / 20

export function refreshed<T>(needs: RefreshNeeds<T>): Refreshed<T> {
  const { everyMs, waitMsMax, keptMs, clock } = needs
  let known: { readonly value: T; readonly at: number } | undefined
  let reading: Promise<void> | undefined
  let dueAt = Number.NEGATIVE_INFINITY

  async function read(): Promise<void> {
    const started = clock.monotonic()
    try {
      const value = await needs.read()
      known = { value, at: started }
    } catch (error) {
      needs.onError(error)
    }
    dueAt = started + Math.max(everyMs, (clock.monotonic() - started) / BUSY_SHARE)
    reading = undefined
  }

  const age = () => (known === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - known.at)

  return {
    async get() {
      if (clock.monotonic() >= dueAt) reading ??= read()
      if (reading !== undefined && age() > 2 * everyMs) await atMost(waitMsMax, reading)
      return age() <= keptMs ? known?.value : undefined
    },
  }
}

async function atMost(ms: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([work, promise])
  clearTimeout(timer)
}
