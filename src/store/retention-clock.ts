// The clock of retention. A wall clock that jumps, or is wrong when a process starts, must not delete rows: this clock starts at
// its last stored value, runs at most twice as fast as real time, and is never ahead of the wall clock. After a pause it catches
// up at most a day per day; a wall clock a month ahead costs a day of rows per day. See docs/decisions/usage-reports.md.
import { DAY_MS } from '../domain/key.ts'
import type { Settings } from './contract/operator.ts'
import type { Retention } from './sql/retention.ts'

export type RetentionClock = { believed(): Promise<number> }

export type RetentionClockNeeds = {
  readonly settings: Settings
  readonly retention: Pick<Retention, 'newestRow'>
  // The store's time, and a monotonic clock.
  now(): number
  monotonic(): number
}

const NAME = 'retention_clock'

export function retentionClock(needs: RetentionClockNeeds): RetentionClock {
  const { settings, monotonic } = needs
  // The last value in this process, and its monotonic time.
  let last: { readonly believed: number; readonly at: number } | undefined

  // Without a stored value, the newest row gives a recent time.
  async function firstBelief(): Promise<number> {
    const newest = await needs.retention.newestRow()
    return newest === undefined ? needs.now() : Math.min(newest + DAY_MS, needs.now())
  }

  return {
    async believed() {
      const written = Number((await settings.get(NAME)) ?? (await firstBelief()))
      const at = monotonic()
      const elapsed = last === undefined ? 0 : at - last.at
      // Several nodes write the same value, and each continues from its own: none adds to what another has caught up.
      const from = last?.believed ?? written
      const believed = Math.floor(Math.max(written, from + elapsed, Math.min(needs.now(), from + 2 * elapsed)))
      last = { believed, at }
      await settings.set(NAME, String(believed))
      return Math.min(believed, needs.now())
    },
  }
}
