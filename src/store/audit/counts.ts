// The invariants that an audit checks, with the counts of checked items and violations.
import type { Nano } from '../../domain/credits.ts'

export type Finding = {
  readonly invariant: string
  readonly promise: string
  // How many items were checked and how many violate it; some of those by id.
  readonly checked: number
  readonly broken: number
  readonly examples: readonly string[]
}

// The numbers are those of the project's list of invariants; SQL alone cannot check the missing ones.
const PROMISES = {
  file: 'file integrity: no damaged page, no dangling reference',
  I1: 'over all accounts, available + held − owed = funded − spent',
  I2: 'every account balance equals its ledger minus the cost of its rows; spent and held of every key equal its rows',
  I3: 'available, held, spent and owed are not negative; no account owes while it has credits available',
  I4: 'held credits equal the holds of open rows; only priced requests have a hold',
  I5: 'a row is open, settled or recovered, with a matching outcome, end time and corrections',
  I7: 'every request is charged once, by its row; every correction belongs to a row of its account',
  I8: 'no cost is negative; no key exceeds its credit limit by more than the overshoot of its rows',
  I9: 'with no request in flight, no row is open and nothing is held',
  I10: 'failed, rejected and non-chat requests cost nothing',
  I12: 'the cost of a row equals its tokens × its price snapshot',
  I13: 'the spent credits of an account equal the cost of its rows',
  I14: 'the daily count of a key equals its rows and is within the daily limit',
  prices: 'the price of a row equals the price version of its model',
  signs: 'top-ups are positive, adjustments are negative, and no ledger entry is zero',
  sums: 'hourly and daily sums equal their rows',
  budgets: 'windows of budgets and months equal their rows; no blocking budget is exceeded by more than overshoot',
  I15: 'a key has at most six valid secrets, and a revoked key none',
} as const

export type Invariant = keyof typeof PROMISES

export type AuditCounts = {
  checked(...invariants: readonly Invariant[]): void
  broken(invariant: Invariant, example: string): void
  findings(): readonly Finding[]
}

// One pass over the rows of a statement, whichever engine reads them. The passes of an audit build on each other.
export type Pass = { readonly statement: string; look(row: PassRow): void; end?(): void }
export type PassRow = Readonly<Record<string, string | number | bigint | null>>

const EXAMPLES_MAX = 5

export function auditCounts(skipped: readonly Invariant[]): AuditCounts {
  const invariants = (Object.keys(PROMISES) as Invariant[]).filter(invariant => !skipped.includes(invariant))
  const counts = new Map(invariants.map(invariant => [invariant, { checked: 0, broken: 0, examples: [] as string[] }]))
  return {
    checked(...looked) {
      for (const invariant of looked) {
        const count = counts.get(invariant)
        if (count !== undefined) count.checked += 1
      }
    },
    broken(invariant, example) {
      const count = counts.get(invariant)
      if (count === undefined) return
      count.broken += 1
      if (count.examples.length < EXAMPLES_MAX) count.examples.push(example)
    },
    findings: () => [...counts].map(([invariant, count]) => ({ invariant, promise: PROMISES[invariant], ...count })),
  }
}

// The sums of an audit by account and by key, from the ledger, the rows, and the roll-ups of dropped rows.
export type Sums = {
  readonly accounts: Map<string, AccountSums>
  readonly keys: Map<string, KeySums>
  // By request id: late settlements of paused owners are rare, so there are few.
  readonly corrections: Map<string, Nano>
  // Accounts with corrections of dropped rows: by how much their keys exceeded their limits is not known.
  readonly corrected: Set<string>
}
type AccountSums = { funded: Nano; cost: Nano; held: Nano }
type KeySums = { cost: Nano; held: Nano; overshoot: Nano }

export function newSums(): Sums {
  return { accounts: new Map(), keys: new Map(), corrections: new Map(), corrected: new Set() }
}

export function accountSums(sums: Sums, id: string): AccountSums {
  return found(sums.accounts, id, { funded: 0n, cost: 0n, held: 0n })
}

export function keySums(sums: Sums, id: string): KeySums {
  return found(sums.keys, id, { cost: 0n, held: 0n, overshoot: 0n })
}

function found<T>(map: Map<string, T>, id: string, fresh: T): T {
  const value = map.get(id) ?? fresh
  if (value === fresh) map.set(id, fresh)
  return value
}
