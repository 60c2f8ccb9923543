// The retry budget: a share of the requests of the last seconds plus a reserve, so that failing upstreams are not buried under
// retries. Each account has what its own requests earned and an equal share of the reserve. See
// docs/decisions/credentials-and-retries.md.
import type { Clock } from '../lib/clock.ts'

export type BudgetBounds = {
  readonly retryPercentMax: number
  readonly retryReserveMax: number
  readonly retryWindowSeconds: number
  // An account not seen for this long leaves its share of the reserve to the others.
  readonly retryAccountSeenMs: number
  readonly retryAccountsMax: number
  // There may be thousands to look at.
  readonly retryAccountsPrunedEveryMs: number
}

export type RetryBudget = {
  // A request arrived; its first attempt is free.
  saw(account: SeenAccount): void
  // Takes a retry, if one is left.
  take(accountId: string): boolean
  prune(): void
}

// An account that remembers where its counts are, so that a request needs no lookup.
export type SeenAccount = { readonly id: string; retries?: RetryCounts | undefined }

export function retryBudget(bounds: BudgetBounds & { readonly clock: Clock }): RetryBudget {
  const { clock, retryPercentMax, retryReserveMax, retryWindowSeconds } = bounds
  const accounts = new Map<string, RetryCounts>()
  const window = () => slidingCount(retryWindowSeconds)
  const reserve = window()
  let pruneMs = 0

  function countsOf(accountId: string): RetryCounts {
    let counts = accounts.get(accountId)
    if (counts === undefined) {
      const { slots, second, sum } = window()
      counts = { slots, second, sum, spent: undefined, fromReserve: undefined, isDropped: false }
      if (accounts.size >= bounds.retryAccountsMax) drop(accounts.keys().next().value as string)
      accounts.set(accountId, counts)
    }
    return counts
  }

  function drop(accountId: string): void {
    const counts = accounts.get(accountId)
    if (counts !== undefined) counts.isDropped = true
    accounts.delete(accountId)
  }

  return {
    saw(account) {
      let { retries } = account
      if (retries === undefined || retries.isDropped) {
        retries = countsOf(account.id)
        account.retries = retries
      }
      count(retries, Math.floor(clock.monotonic() / 1000))
    },
    take(accountId) {
      const second = Math.floor(clock.monotonic() / 1000)
      const account = countsOf(accountId)
      const earned = (countedIn(account, second) * retryPercentMax) / 100
      if (countedIn(account.spent, second) + 1 <= earned) {
        account.spent ??= window()
        count(account.spent, second)
        return true
      }
      const part = Math.max(1, Math.floor(retryReserveMax / accounts.size))
      if (countedIn(account.fromReserve, second) >= part || countedIn(reserve, second) >= retryReserveMax) return false
      account.fromReserve ??= window()
      count(account.fromReserve, second)
      count(reserve, second)
      return true
    },
    prune() {
      const now = clock.monotonic()
      if (now < pruneMs) return
      pruneMs = now + bounds.retryAccountsPrunedEveryMs
      const oldest = Math.floor((now - bounds.retryAccountSeenMs) / 1000)
      for (const [accountId, { second }] of accounts) if (second < oldest) drop(accountId)
    },
  }
}

// The requests of an account; the last second in which it was seen is that of the count.
export type RetryCounts = SlidingCount & {
  // Retries that its own requests earned, and those from the reserve; most accounts have had none.
  spent: SlidingCount | undefined
  fromReserve: SlidingCount | undefined
  // No longer the account's: one that refers to it has to look again.
  isDropped: boolean
}

// A count for each of the last seconds.
type SlidingCount = { readonly slots: number[]; second: number; sum: number }

function slidingCount(seconds: number): SlidingCount {
  return { slots: new Array<number>(seconds).fill(0), second: 0, sum: 0 }
}

function count(counted: SlidingCount, second: number): void {
  moveOn(counted, second)
  const slot = second % counted.slots.length
  counted.slots[slot] = (counted.slots[slot] ?? 0) + 1
  counted.sum += 1
}

function countedIn(counted: SlidingCount | undefined, second: number): number {
  if (counted === undefined) return 0
  moveOn(counted, second)
  return counted.sum
}

function moveOn(counted: SlidingCount, second: number): void {
  const { slots } = counted
  if (second <= counted.second) return
  const passed = Math.min(second - counted.second, slots.length)
  for (let i = 1; i <= passed; i++) {
    const slot = (second - passed + i) % slots.length
    counted.sum -= slots[slot] ?? 0
    slots[slot] = 0
  }
  counted.second = second
}
