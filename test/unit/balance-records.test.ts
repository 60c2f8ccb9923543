// Balance records of the store's thread: amounts as 64-bit integers in one place behave like amounts in fields, and what does
// not fit is refused.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ACCOUNT_AMOUNTS, AccountInMemory, AMOUNT, placesFor } from '../../src/store/sqlite/balance-records.ts'

const NAMES = ['available', 'held', 'spent', 'owed', 'monthBase'] as const

test('the amounts of thousands of records are independent, and changes are counted from the last batch', () => {
  const amount = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n })
  // Neighbours, in one piece of memory and in two.
  const record = fc.constantFrom(0, 1, 1023, 1024, 2999)
  const step = fc.record({ record, name: fc.constantFrom(...NAMES), amount, isEnd: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { minLength: 30, maxLength: 100 }), steps => {
      const place = placesFor(ACCOUNT_AMOUNTS)
      const records = Array.from({ length: 3000 }, (_, i) => new AccountInMemory(rowOf(i), place()))
      const now = records.map((_, i) => ({ available: BigInt(i), held: 1n, spent: 2n, owed: 0n, monthBase: 3n }))
      const before = structuredClone(now)

      for (const { record: i, name, amount, isEnd } of steps) {
        const record = records[i] as AccountInMemory
        record[name] = amount
        now[i]![name] = amount
        assert.equal(record.change(AMOUNT[name]), amount - before[i]![name])
        if (isEnd) {
          record.keepChanges()
          before[i] = { ...now[i]! }
        }
      }

      for (const [i, record] of records.entries()) for (const name of NAMES) assert.equal(record[name], now[i]![name])
    }),
    { numRuns: 20 },
  )
})

test('any amount below zero is refused, except the base of a month', () => {
  for (const name of NAMES) {
    const record = new AccountInMemory(rowOf(5), placesFor(ACCOUNT_AMOUNTS)())
    record[name] = -1n

    if (name === 'monthBase') record.refuseImpossible()
    else assert.throws(() => record.refuseImpossible(), /acct_5 would be below zero/, name)
  }
})

test('an amount below zero and sums beyond 64 bits are refused, however many there were', () => {
  const place = placesFor(ACCOUNT_AMOUNTS)
  const [negative, large] = [5, 6].map(i => new AccountInMemory(rowOf(i), place())) as [
    AccountInMemory,
    AccountInMemory,
  ]
  for (const record of [negative, large]) record.refuseImpossible()

  negative.held -= 2n
  assert.throws(() => negative.refuseImpossible(), /acct_5 would be below zero/)
  large.spent = 2n ** 63n - 1n
  large.refuseImpossible()
  for (let i = 0; i < 3; i++) {
    large.spent += 2n ** 62n
    assert.throws(() => large.refuseImpossible(), /acct_6 would be too large/)
  }
})

test('a dropped record cannot be used', () => {
  const record = new AccountInMemory(rowOf(5), placesFor(ACCOUNT_AMOUNTS)())

  record.drop()

  assert.throws(() => {
    record.available -= 1n
  }, TypeError)
})

function rowOf(i: number) {
  return {
    id: `acct_${i}`,
    name: 'test',
    status: 'active',
    available: BigInt(i),
    held: 1n,
    spent: 2n,
    owed: 0n,
    month: 1n,
    month_base: 3n,
    budgets: '[]',
    low_balance: null,
  }
}
