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

test('any sequence of calls gives the result of a plain list in order of use', () => {
  const call = fc.record({ kind: fc.constantFrom('get', 'set', 'delete', 'clear'), key: fc.nat(6), value: fc.nat() })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(call, { maxLength: 60 }), (max, calls) => {
      const cache = lru<number, number>(max)
      let list: (readonly [number, number])[] = []

      for (const { kind, key, value } of calls) {
        const old = list.find(([k]) => k === key)
        const others = list.filter(([k]) => k !== key)
        if (kind === 'get') {
          assert.equal(cache.get(key), old?.[1])
          if (old !== undefined) list = [...others, old]
        } else if (kind === 'set') {
          cache.set(key, value)
          list = [...others, [key, value] as const].slice(-max)
        } else if (kind === 'delete') {
          assert.equal(cache.delete(key), old !== undefined)
          list = others
        } else if (key === 0) {
          cache.clear()
          list = []
        }
        assert.equal(cache.size, list.length)
      }

      for (const [key, value] of list) assert.equal(cache.get(key), value)
    }),
  )
})

test('a capacity of zero is an error', () => {
  for (const max of [0, -1, 1.5, Number.NaN]) assert.throws(() => lru(max), RangeError)
})
