// Background maintenance of the store: roll-ups, partitions, and, if configured, retention.

import { wordsOf } from '../lib/error-text.ts'
import type { Maintenance } from '../store/contract/maintenance.ts'
import type { ServerContext } from './context.ts'

// Returns a function that stops it and waits for the current step.
export async function startMaintenance(maintenance: Maintenance, context: ServerContext): Promise<() => Promise<void>> {
  const { config, log } = context
  const { maintenanceEveryMs, maintenancePauseMs, rolledUpAfterMs } = config.bounds
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  function failed(error: unknown): false {
    log.error({ err: wordsOf(error) }, 'database maintenance failed; retrying')
    return false
  }

  // In small steps with pauses between them: everything else has priority.
  async function keepHouse(): Promise<boolean> {
    const { more: moreToSum } = await maintenance.rollUp(rolledUpAfterMs)
    if (stopped || config.usageRetentionDays === null) return moreToSum
    const { dropped, more } = await maintenance.applyRetention(config.usageRetentionDays)
    if (dropped > 0) log.info({ hours: dropped }, 'deleted expired usage rows')
    return moreToSum || more
  }

  async function turn(): Promise<void> {
    const more = await maintenance.ensurePartitions().then(keepHouse).catch(failed)
    if (!stopped) timer = setTimeout(begin, more ? maintenancePauseMs : maintenanceEveryMs)
  }

  function begin(): void {
    running = turn()
  }

  // Before the first request: a month that begins now has its partition. Without it rows are stored elsewhere for a while.
  await maintenance.ensurePartitions().catch(failed)
  timer = setTimeout(begin, maintenancePauseMs)
  return () => {
    stopped = true
    clearTimeout(timer)
    return running
  }
}
