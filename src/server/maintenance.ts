// Background maintenance: roll-ups, partitions and, if configured, retention of the store; and the collection of garbage while
// idle.
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { wordsOf } from '../lib/text.ts'
import type { Store } from '../store/contract/store.ts'
import type { ServerContext } from './context.ts'

// Returns a function that stops it and waits for the current step.
export async function startMaintenance(
  { maintenance, webhookQueue }: Pick<Store, 'maintenance' | 'webhookQueue'>,
  context: ServerContext,
): Promise<() => Promise<void>> {
  const { config, log } = context
  const { maintenanceEveryMs, maintenancePauseMs, rolledUpAfterMs } = config.bounds
  const tidyBounds = {
    eventsKeptMs: config.bounds.webhookEventsKeptMs,
    deliveriesKeptMs: config.bounds.webhookDeliveriesKeptMs,
    deliveriesPerWebhookMax: config.bounds.webhookDeliveriesKeptMax,
    waitingPerWebhookMax: config.bounds.webhookWaitingMax,
  }
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
    const now = await maintenance.believedNow()
    const isMoreOld = !stopped && (await webhookQueue.tidy({ ...tidyBounds, now }))
    const hasMoreWindows = !stopped && (await maintenance.dropWindows(now))
    const moreToTidy = isMoreOld || hasMoreWindows
    if (stopped || config.usageRetentionDays === null) return moreToSum || moreToTidy
    const { dropped, more } = await maintenance.applyRetention(config.usageRetentionDays)
    if (dropped > 0) log.info({ hours: dropped }, 'deleted expired usage rows')
    return moreToSum || moreToTidy || more
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

// Releases memory after a peak. V8 collects garbage when something is allocated, and an idle process allocates nothing: the
// garbage of thousands of streams would stay until the next load.
const CHECK_MS = 2000
// After this many idle checks in a row: a pause between requests must not make the next one wait for a collection. And once more
// when unused connections have been closed.
const COLLECTED_AFTER: readonly number[] = [2, 15]
const WORTH_BYTES = 32 * 1024 * 1024

export function collectWhenIdle(isIdle: () => boolean): void {
  let least = heapBytes()
  let idleChecks = 0
  const timer = setInterval(() => {
    idleChecks = isIdle() ? idleChecks + 1 : 0
    if (!COLLECTED_AFTER.includes(idleChecks) || heapBytes() - least < WORTH_BYTES) return
    collectNow()
    least = Math.min(least, heapBytes())
  }, CHECK_MS)
  timer.unref()
}

function heapBytes(): number {
  return getHeapStatistics().total_heap_size
}

// Node exposes it only with a flag at the start; a context created after the flag was set has it too.
function collectNow(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  setFlagsFromString('--no-expose-gc')
  gc()
}
