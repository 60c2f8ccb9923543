// Releases memory after a peak. V8 collects garbage when something is allocated, and an idle process allocates nothing: the
// garbage of thousands of streams would stay until the next load.
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

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
