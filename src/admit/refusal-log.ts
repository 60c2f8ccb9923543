// The rows of refusals that cost their key nothing: each key has an allowance, so that a caller in a loop fills neither the disk
// nor the commit queue. Refusals beyond it are counted in memory and written as one row per minute, endpoint and code, which
// reports sum. A crash loses the counts of at most that minute. See docs/decisions/refusals.md.
import type { Clock } from '../lib/clock.ts'
import type { BillingStore, RefusedRow } from '../store/contract/store.ts'

export type RefusalLog = {
  // With the tags of its key, which are those of all that are counted in one row.
  logRefusal(row: RefusedRow, keyTags: string | null): void
  // Whether a refusal of this key may have its own row now; the reservation writes the rows of its own refusals.
  hasCapacity(keyId: string): boolean
  // The reservation has written such a row.
  wrote(keyId: string): void
  // Writes all counts so far.
  flush(): void
  // Drops full allowances, which carry no information.
  prune(): void
}

export type RefusalLogNeeds = {
  readonly billing: Pick<BillingStore, 'logRefusal'>
  readonly clock: Clock
  readonly refusalRowsPerSecond: number
  readonly refusalsCountedForMs: number
  readonly refusalCountsMax: number
  readonly onUnwritten: () => void
}

// Below zero where several were written at once: the average stays bounded.
type Allowance = { rows: number; at: number }
type Counted = { readonly row: RefusedRow; requests: number }

export function openRefusalLog(needs: RefusalLogNeeds): RefusalLog {
  const { billing, clock, refusalRowsPerSecond: perSecond } = needs
  const allowances = new Map<string, Allowance>()
  const counts = new Map<string, Counted>()
  let timer: NodeJS.Timeout | undefined

  function refilled(allowance: Allowance): Allowance {
    const now = clock.monotonic()
    allowance.rows = Math.min(perSecond, allowance.rows + ((now - allowance.at) * perSecond) / 1000)
    allowance.at = now
    return allowance
  }

  function hasCapacity(keyId: string): boolean {
    const allowance = allowances.get(keyId)
    return allowance === undefined || refilled(allowance).rows >= 1
  }

  function wrote(keyId: string): void {
    const allowance = allowances.get(keyId)
    if (allowance === undefined) allowances.set(keyId, { rows: perSecond - 1, at: clock.monotonic() })
    else refilled(allowance).rows -= 1
  }

  // The row has the id of the first request that it counts.
  function count(row: RefusedRow, keyTags: string | null): void {
    const { keyId, secretLast4, endpoint } = row.facts
    const name = `${keyId} ${secretLast4} ${endpoint} ${row.httpStatus} ${row.errorCode}`
    const counted = counts.get(name)
    if (counted !== undefined) counted.requests += 1
    else if (counts.size >= needs.refusalCountsMax) needs.onUnwritten()
    else {
      counts.set(name, { row: { ...row, facts: { ...row.facts, tags: keyTags } }, requests: 1 })
      timer ??= setTimeout(flush, needs.refusalsCountedForMs).unref()
    }
  }

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    for (const { row, requests } of counts.values()) billing.logRefusal({ ...row, requests })
    counts.clear()
  }

  return {
    logRefusal(row, keyTags) {
      const { keyId } = row.facts
      if (!hasCapacity(keyId)) return count(row, keyTags)
      wrote(keyId)
      billing.logRefusal(row)
    },
    hasCapacity,
    wrote,
    flush,
    prune() {
      for (const [keyId, allowance] of allowances) if (refilled(allowance).rows >= perSecond) allowances.delete(keyId)
    },
  }
}
