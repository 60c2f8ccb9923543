// Base62 as secrets use it: fixed width, nothing lost, nothing read that was not written.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeBase62, encodeBase62, isBase62 } from '../../src/lib/base62.ts'

test('32 bytes always become 43 characters of base62', () => {
  assert.equal(encodeBase62(new Uint8Array(32)), '0'.repeat(43))
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), bytes => {
      const text = encodeBase62(bytes)
      assert.equal(text.length, 43)
      assert.ok(isBase62(text))
    }),
  )
})

test('what was encoded is decoded to the same bytes, whatever their number', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), bytes => {
      assert.deepEqual(decodeBase62(encodeBase62(bytes)), bytes)
    }),
  )
})

test('texts sort as their bytes do', () => {
  const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 })
  fc.assert(
    fc.property(bytes32, bytes32, (a, b) => {
      const byText = encodeBase62(a) < encodeBase62(b) ? -1 : encodeBase62(a) > encodeBase62(b) ? 1 : 0
      assert.equal(byText, Buffer.compare(a, b))
    }),
  )
})

test('a text of 43 characters is decoded only if it is what its bytes are encoded as', () => {
  const letter = fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')
  fc.assert(
    fc.property(fc.string({ unit: letter, minLength: 43, maxLength: 43 }), text => {
      const bytes = decodeBase62(text)
      if (bytes !== undefined) assert.equal(encodeBase62(bytes), text)
      else assert.ok(text > encodeBase62(new Uint8Array(32).fill(255)))
    }),
  )
})

test('a number too large, another alphabet and an impossible width are not decoded', () => {
  assert.deepEqual(decodeBase62(encodeBase62(new Uint8Array(32).fill(255))), new Uint8Array(32).fill(255))
  for (const text of ['z'.repeat(43), `${'0'.repeat(42)}-`, `${'0'.repeat(42)}é`, '0', '0'.repeat(44), '😀']) {
    assert.equal(decodeBase62(text), undefined, text)
  }
})

test('only the 62 letters and digits of ASCII are base62', () => {
  assert.ok(isBase62('09AZaz'))
  for (const text of ['', 'a b', 'a\n', '\na', 'é', '-', '_', 'a\0', '٣']) assert.equal(isBase62(text), false, text)
})
