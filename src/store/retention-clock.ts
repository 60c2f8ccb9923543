// The clock that retention deletes by. A wall clock that jumps, or that is wrong when a process starts, must not delete rows: this
// one begins where it was last written down, runs at most twice as fast as time really passes, and is never ahead of the
// wall clock. After a pause it catches up, at most a day for each day; a clock a month ahead costs a day of rows a day.
// See docs/decisions/usage-reports.md.
import { DAY_MS } from '../domain/key.ts'
import type { Settings } from './contract/operator.ts'
import type { Retention } from './sql/retention.ts'

export type RetentionClock = { believed(): Promise<number> }

export type RetentionClockNeeds = {
  readonly settings: Settings
  readonly retention: Pick<Retention, 'newestRow'>
  // The store's time, and what cannot jump.
  now(): number
  monotonic(): number
}

const NAME = 'retention_clock'

export function retentionClock(needs: RetentionClockNeeds): RetentionClock {
  const { settings, monotonic } = needs
  // What this process believed last, and when by the clock that cannot jump.
  let last: { readonly believed: number; readonly at: number } | undefined

  // Where nothing is written down yet, the newest row says what time it was lately.
  async function firstBelief(): Promise<number> {
    const newest = await needs.retention.newestRow()
    return newest === undefined ? needs.now() : Math.min(newest + DAY_MS, needs.now())
  }

  return {
    async believed() {
      const written = Number((await settings.get(NAME)) ?? (await firstBelief()))
      const at = monotonic()
      const elapsed = last === undefined ? 0 : at - last.at
      // Several nodes write the same value, and each counts from what it believed itself: none adds to what another has caught up.
      const from = last?.believed ?? written
      const believed = Math.floor(Math.max(written, from + elapsed, Math.min(needs.now(), from + 2 * elapsed)))
      last = { believed, at }
      await settings.set(NAME, String(believed))
      return Math.min(believed, needs.now())
    },
  }
}
