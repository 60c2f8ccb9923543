// The bounded map: never more than its maximum, and recently used entries are kept.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { lru } from '../../src/lib/lru.ts'

test('the least recently used entry is dropped', () => {
  const cache = lru<string, number>(2)
  cache.set('a', 1)
  cache.set('b', 2)
  cache.get('a')

  cache.set('c', 3)

  assert.equal(cache.get('b'), undefined)
  assert.equal(cache.get('a'), 1)
  assert.equal(cache.get('c'), 3)
})

test('any sequence of calls keeps what was used last, and evicts only to make room', () => {
  // Mostly uses: what is deleted is not evicted.
  const use = fc.constantFrom('get' as const, 'set' as const)
  const kind = fc.oneof({ weight: 20, arbitrary: use }, fc.constantFrom('delete' as const, 'clear' as const))
  const call = fc.record({ kind, key: fc.nat(12).map(String), value: fc.nat() })
  // Found by themselves, by a number of their own, or by one that several have.
  const hashOf = fc.constantFrom(
    undefined,
    Number,
    (key: string) => Number(key) % 3,
    () => 0,
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), hashOf, fc.array(call, LONG), (max, hash, calls) => {
      const evicted: string[] = []
      const cache = lru<string, number>(max, key => evicted.push(key), hash)
      const values = new Map<string, number>()
      // In the order of their last use. Half of the capacity has been used since an evicted one was.
      let used: string[] = []
      const usedSince = max - Math.max(1, Math.floor(max / 2))

      for (const { kind, key, value } of calls) {
        const known = values.has(key)
        if (kind === 'get') assert.equal(cache.get(key), values.get(key))
        else if (kind === 'set') {
          cache.set(key, value)
          values.set(key, value)
          assert.equal(evicted.length, !known && values.size > max ? 1 : 0)
          for (const gone of evicted.splice(0)) {
            values.delete(gone)
            assert.ok(used.length - used.indexOf(gone) - 1 >= usedSince, `${gone} of ${used}`)
            used = used.filter(each => each !== gone)
          }
        } else if (kind === 'delete') {
          assert.equal(cache.delete(key), known)
          values.delete(key)
        } else if (key === '0') {
          cache.clear()
          values.clear()
        }
        const isUse = values.has(key) && (kind === 'set' || kind === 'get')
        used = used.filter(each => values.has(each) && !(isUse && each === key))
        if (isUse) used.push(key)
        assert.equal(cache.size, values.size)
      }

      for (const [key, value] of values) assert.equal(cache.get(key), value)
    }),
    { numRuns: 1000 },
  )
})

const LONG = { minLength: 40, maxLength: 120 }

test('a capacity of zero is an error', () => {
  for (const max of [0, -1, 1.5, Number.NaN]) assert.throws(() => lru(max), RangeError)
})
