// Keeps the store quick and small in the background: sums of what is over, room for what comes, and, if the operator wants
// it, the end of old rows.

import { wordsOf } from '../lib/error-text.ts'
import type { Upkeep } from '../store/contract/maintenance.ts'
import type { Ground } from './context.ts'

// Answers how to stop it; what is under way is then waited for.
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

  // In small steps with pauses between them: whatever else the store is asked comes first.
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

  // Before the first request: a month that begins now has its place. Without it rows lie elsewhere for a while.
  await upkeep.makeRoom().catch(failed)
  timer = setTimeout(begin, upkeepPauseMs)
  return () => {
    stopped = true
    clearTimeout(timer)
    return running
  }
}
