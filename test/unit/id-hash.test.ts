// The number of an id: ids that are made one after the other have different ones, which are spread evenly.
import assert from 'node:assert/strict'
import { hash as digest, randomUUIDv7 } from 'node:crypto'
import { test } from 'node:test'
import { idHash } from '../../src/lib/id-hash.ts'

const IDS = 10_000

for (const [what, make] of [
  ['ids', () => `acct_${randomUUIDv7().replaceAll('-', '')}`],
  ['digests', (i: number) => digest('sha256', String(i))],
] as const) {
  test(`nearly all ${what} have a number of their own, and fill lists evenly`, () => {
    const numbers = Array.from({ length: IDS }, (_, i) => idHash(make(i)))
    const lists = new Map<number, number>()
    for (const number of numbers) lists.set(number % 100, (lists.get(number % 100) ?? 0) + 1)

    assert.ok(new Set(numbers).size > IDS - 10)
    assert.ok(numbers.every(number => Number.isInteger(number) && number >= 0 && number < 2 ** 31))
    assert.ok(Math.max(...lists.values()) < 200 && lists.size === 100)
  })
}

test('short ids have numbers too', () => {
  assert.equal(new Set(['', 'a', 'b', 'ab', 'ba'].map(idHash)).size, 5)
})
