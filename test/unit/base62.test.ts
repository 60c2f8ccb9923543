// Base62 as used for secrets: fixed width, lossless, in the order of the bytes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { base62Width, encodeBase62, isBase62 } from '../../src/lib/base62.ts'

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

test('it is lossless: the text as a number equals the number of its bytes, for any length', () => {
  const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), bytes => {
      const text = encodeBase62(bytes)
      const number = [...text].reduce((sum, letter) => sum * 62n + BigInt(letters.indexOf(letter)), 0n)
      assert.equal(number, BigInt(`0x0${Buffer.from(bytes).toString('hex')}`))
      assert.equal(text.length, base62Width(bytes.length))
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

test('only the 62 letters and digits of ASCII are base62', () => {
  assert.ok(isBase62('09AZaz'))
  for (const text of ['', 'a b', 'a\n', '\na', 'é', '-', '_', 'a\0', '٣']) assert.equal(isBase62(text), false, text)
})
