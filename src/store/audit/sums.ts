// The sums of an audit by account and by key, from the ledger, the rows, and the roll-ups of dropped rows.
import type { Nano } from '../../domain/credits.ts'

export type Sums = {
  readonly accounts: Map<string, AccountSums>
  readonly keys: Map<string, KeySums>
  // By request id: late settlements of paused owners are rare, so there are few.
  readonly corrections: Map<string, Nano>
  // Accounts with corrections of dropped rows: by how much their keys exceeded their limits is not known.
  readonly corrected: Set<string>
}
type AccountSums = { funded: Nano; charged: Nano; cost: Nano; held: Nano }
type KeySums = { cost: Nano; held: Nano; overshoot: Nano }

export function newSums(): Sums {
  return { accounts: new Map(), keys: new Map(), corrections: new Map(), corrected: new Set() }
}

export function accountSums(sums: Sums, id: string): AccountSums {
  return found(sums.accounts, id, { funded: 0n, charged: 0n, cost: 0n, held: 0n })
}

export function keySums(sums: Sums, id: string): KeySums {
  return found(sums.keys, id, { cost: 0n, held: 0n, overshoot: 0n })
}

function found<T>(map: Map<string, T>, id: string, fresh: T): T {
  const value = map.get(id) ?? fresh
  if (value === fresh) map.set(id, fresh)
  return value
}
