// The records of accounts and keys that the store's thread has in memory. Their amounts are 64-bit integers in one place, as of
// now and as of the last batch: as fields, each would be an object of its own, allocated by every change, and with thousands of
// accounts hardly any would be in the processor's cache when it is needed. A sum that does not fit is refused like a negative one.
import type { Budget } from '../../domain/budget.ts'
import type { Nano } from '../../domain/credits.ts'
import { readAccountRecord, readKeyRecord } from '../billing/records.ts'
import type { AccountRecord, KeyRecord } from '../billing/unit-of-work.ts'
import type { Row } from '../sql/sql.ts'

// Where a record has its amounts, by which their changes are read: those of a key, then those that only an account has.
export const AMOUNT = { spent: 0, held: 1, monthBase: 2, available: 3, owed: 4 } as const
export const KEY_AMOUNTS = 3
export const ACCOUNT_AMOUNTS = 5

// A place for the amounts of a record, twice.
export type Place = { readonly words: BigInt64Array; readonly at: number }

const RECORDS_IN_ONE_PIECE = 1024
const MAX: Nano = 2n ** 63n - 1n
// Of records that are no longer in memory.
const NOWHERE = new BigInt64Array(0)

// Places in large pieces of memory, each of which lives as long as one of its records.
export function placesFor(amounts: number): () => Place {
  const size = 2 * amounts
  let words = new BigInt64Array(0)
  let next = 0
  return () => {
    if (next === words.length) {
      words = new BigInt64Array(size * RECORDS_IN_ONE_PIECE)
      next = 0
    }
    next += size
    return { words, at: next - size }
  }
}

class BalanceRecord {
  readonly id: string
  readonly name: string
  readonly budgets: readonly Budget[]
  month: number
  dirty = false
  // By the current batch.
  isTouched = false
  // No longer in memory: the file may have changed since.
  isDropped = false
  private doesNotFit = false
  private words: BigInt64Array
  private readonly at: number
  private readonly amounts: number

  constructor(of: Pick<AccountRecord, 'id' | 'name' | 'budgets' | 'month'>, place: Place, amounts: readonly Nano[]) {
    this.id = of.id
    this.name = of.name
    this.budgets = of.budgets
    this.month = of.month
    this.words = place.words
    this.at = place.at
    this.amounts = amounts.length
    this.words.set(amounts, this.at)
    this.keepChanges()
  }

  protected amount(i: number): Nano {
    return this.words[this.at + i] as Nano
  }

  protected setAmount(i: number, amount: Nano): void {
    if (amount > MAX || amount < -MAX) this.doesNotFit = true
    this.words[this.at + i] = amount
  }

  // Since the last batch.
  change(i: number): Nano {
    return (this.words[this.at + i] as Nano) - (this.words[this.at + this.amounts + i] as Nano)
  }

  // They are in the journal.
  keepChanges(): void {
    const { words, at, amounts } = this
    for (let i = at; i < at + amounts; i++) words[i + amounts] = words[i] as Nano
    this.dirty = false
  }

  // The CHECKs of the tables would only find it at the next write-back, where it could no longer be refused. The month's base has
  // no CHECK.
  refuseImpossible(): void {
    if (this.doesNotFit) throw new Error(`a balance of ${this.id} would be too large`)
    for (let i = 0; i < this.amounts; i++)
      if (i !== AMOUNT.monthBase && this.amount(i) < 0n) throw new Error(`a balance of ${this.id} would be below zero`)
  }

  // What still refers to it keeps no others in memory, and cannot use it.
  drop(): void {
    this.isDropped = true
    this.words = NOWHERE
  }

  get spent(): Nano {
    return this.amount(AMOUNT.spent)
  }
  set spent(amount: Nano) {
    this.setAmount(AMOUNT.spent, amount)
  }
  get held(): Nano {
    return this.amount(AMOUNT.held)
  }
  set held(amount: Nano) {
    this.setAmount(AMOUNT.held, amount)
  }
  get monthBase(): Nano {
    return this.amount(AMOUNT.monthBase)
  }
  set monthBase(amount: Nano) {
    this.setAmount(AMOUNT.monthBase, amount)
  }
}

export class AccountInMemory extends BalanceRecord implements AccountRecord {
  readonly status: string
  readonly lowBalance: Nano | null

  constructor(row: Row, place: Place) {
    const read = readAccountRecord(row)
    super(read, place, [read.spent, read.held, read.monthBase, read.available, read.owed])
    this.status = read.status
    this.lowBalance = read.lowBalance
  }

  get available(): Nano {
    return this.amount(AMOUNT.available)
  }
  set available(amount: Nano) {
    this.setAmount(AMOUNT.available, amount)
  }
  get owed(): Nano {
    return this.amount(AMOUNT.owed)
  }
  set owed(amount: Nano) {
    this.setAmount(AMOUNT.owed, amount)
  }
}

export class KeyInMemory extends BalanceRecord implements KeyRecord {
  readonly accountId: string
  readonly version: number
  readonly dailyLimit: number | null
  readonly creditLimit: Nano | null
  readonly expiresAt: number | null
  readonly dead: boolean
  day: number
  dayCount: number
  // Once it was looked up.
  account: AccountInMemory | undefined

  constructor(row: Row, place: Place) {
    const read = readKeyRecord(row)
    super(read, place, [read.spent, read.held, read.monthBase])
    this.accountId = read.accountId
    this.version = read.version
    this.dailyLimit = read.dailyLimit
    this.creditLimit = read.creditLimit
    this.expiresAt = read.expiresAt
    this.dead = read.dead
    this.day = read.day
    this.dayCount = read.dayCount
    this.account = undefined
  }

  override drop(): void {
    super.drop()
    this.account = undefined
  }
}
