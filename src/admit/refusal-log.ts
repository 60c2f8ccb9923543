// The rows of refusals that cost their key nothing: each key has an allowance of them, so that a caller that hammers fills
// neither the disk nor the queue of those who pay. Refusals past it are counted in memory and written as one row for each minute,
// endpoint and code, which reports sum. A crash loses the counts of at most that minute. See docs/decisions/refusals.md.
import type { Clock } from '../lib/clock.ts'
import type { Gates, RefusedRow } from '../store/contract/store.ts'

export type RefusalNotes = Pick<Gates, 'note'> & {
  // Whether a refusal of this key may have a row of its own now; the gate writes those that it decides on itself.
  hasRoom(keyId: string): boolean
  // The gate has written such a row.
  wrote(keyId: string): void
  // Writes what is counted so far.
  flush(): void
  // Drops full allowances: they say nothing.
  prune(): void
}

export type NoteNeeds = {
  readonly gates: Pick<Gates, 'note'>
  readonly clock: Clock
  readonly refusalRowsPerSecond: number
  readonly refusalsCountedForMs: number
  readonly refusalCountsMax: number
  readonly onUnwritten: () => void
}

// Below zero where several were written at once: an average that nobody gets past.
type Allowance = { rows: number; at: number }
type Counted = { readonly row: RefusedRow; requests: number }

export function refusalNotes(needs: NoteNeeds): RefusalNotes {
  const { gates, clock, refusalRowsPerSecond: perSecond } = needs
  const allowances = new Map<string, Allowance>()
  const counts = new Map<string, Counted>()
  let timer: NodeJS.Timeout | undefined

  function refilled(allowance: Allowance): Allowance {
    const now = clock.monotonic()
    allowance.rows = Math.min(perSecond, allowance.rows + ((now - allowance.at) * perSecond) / 1000)
    allowance.at = now
    return allowance
  }

  function hasRoom(keyId: string): boolean {
    const allowance = allowances.get(keyId)
    return allowance === undefined || refilled(allowance).rows >= 1
  }

  function wrote(keyId: string): void {
    const allowance = allowances.get(keyId)
    if (allowance === undefined) allowances.set(keyId, { rows: perSecond - 1, at: clock.monotonic() })
    else refilled(allowance).rows -= 1
  }

  // The row bears the id of the first request that it counts.
  function count(row: RefusedRow): void {
    const { keyId, secretLast4, endpoint } = row.facts
    const name = `${keyId} ${secretLast4} ${endpoint} ${row.httpStatus} ${row.errorCode}`
    const counted = counts.get(name)
    if (counted !== undefined) counted.requests += 1
    else if (counts.size >= needs.refusalCountsMax) needs.onUnwritten()
    else {
      counts.set(name, { row, requests: 1 })
      timer ??= setTimeout(flush, needs.refusalsCountedForMs).unref()
    }
  }

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    for (const { row, requests } of counts.values()) gates.note({ ...row, requests })
    counts.clear()
  }

  return {
    note(row) {
      const { keyId } = row.facts
      if (!hasRoom(keyId)) return count(row)
      wrote(keyId)
      gates.note(row)
    },
    hasRoom,
    wrote,
    flush,
    prune() {
      for (const [keyId, allowance] of allowances) if (refilled(allowance).rows >= perSecond) allowances.delete(keyId)
    },
  }
}
