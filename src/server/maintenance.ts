// Background maintenance of the store: roll-ups, partitions, and, if configured, retention.

import { wordsOf } from '../lib/error-text.ts'
import type { Upkeep } from '../store/contract/maintenance.ts'
import type { Ground } from './context.ts'

// Returns a function that stops it and waits for the current step.
export async function startUpkeep(upkeep: Upkeep, ground: Ground): Promise<() => Promise<void>> {
  const { config, log } = ground
  const { upkeepEveryMs, upkeepPauseMs, rolledUpAfterMs } = config.bounds
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  function failed(error: unknown): false {
    log.error({ err: wordsOf(error) }, 'the upkeep of the store failed; it is tried again')
    return false
  }

  // In small steps with pauses between them: everything else has priority.
  async function keepHouse(): Promise<boolean> {
    const { more: moreToSum } = await upkeep.rollUp(rolledUpAfterMs)
    if (stopped || config.usageRetentionDays === null) return moreToSum
    const { dropped, more } = await upkeep.dropOld(config.usageRetentionDays)
    if (dropped > 0) log.info({ hours: dropped }, 'old usage rows were dropped')
    return moreToSum || more
  }

  async function turn(): Promise<void> {
    const more = await upkeep.makeRoom().then(keepHouse).catch(failed)
    if (!stopped) timer = setTimeout(begin, more ? upkeepPauseMs : upkeepEveryMs)
  }

  function begin(): void {
    running = turn()
  }

  // Before the first request: a month that begins now has its partition. Without it rows are stored elsewhere for a while.
  await upkeep.makeRoom().catch(failed)
  timer = setTimeout(begin, upkeepPauseMs)
  return () => {
    stopped = true
    clearTimeout(timer)
    return running
  }
}
