// The invariants that an audit checks, with the counts of checked items and violations.

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
  file: 'the file is sound: no damaged page, no dangling reference',
  I1: 'over all accounts, available + held − owed = funded − spent',
  I2: "every account's balance equals its ledger, every key's spent and held equal its rows",
  I3: 'available, held, spent and owed are not negative, and nobody owes while credits are available',
  I4: 'what an account holds is the sum of the holds of its open rows, and only requests with a price hold',
  I5: 'a row is open, settled or recovered, and its outcome, end and corrections fit that',
  I7: 'at most one charge per request, on the account of its row',
  I8: "no cost is negative, and no key is past its credit limit but by its rows' overshoot",
  I9: 'with no request in flight, no row is open and nothing is held',
  I10: 'what failed or was refused, and what is not chat, costs nothing',
  I12: 'the cost of a row is its tokens × its price snapshot',
  I13: 'the ledger charges exactly what the row costs',
  I14: "a key's count of a day is that of its rows, and within the daily limit",
  prices: 'the price of a row is the one that its model had under that version',
  signs: 'top-ups add credits, charges take them, and nothing is booked that changes nothing',
  sums: 'the sums that are kept of hours and days are those of their rows',
  I15: 'at most six secrets of a key live, and none of a revoked key',
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
