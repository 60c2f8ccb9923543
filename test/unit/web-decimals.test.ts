// The dashboard's formatting of amounts: digits are moved and grouped, never computed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { groupDecimal, isZero, readDecimal, shiftDecimal } from '../../web/src/format/decimals.ts'

test('amounts keep every digit and get grouping and two decimals', () => {
  const shown = ['0', '1234567.5', '-0.000000001', '9000000000.123456789', '1000'].map(text => groupDecimal(text))

  assert.deepEqual(shown, ['0.00', '1,234,567.50', '−0.000000001', '9,000,000,000.123456789', '1,000.00'])
})

test('a price per token becomes one per million and back without losing a digit', () => {
  assert.equal(shiftDecimal('0.00000015', 6), '0.15')
  assert.equal(shiftDecimal('20.5', -6), '0.0000205')
  assert.equal(shiftDecimal('0', 6), '0')
  assert.equal(shiftDecimal('', 6), undefined)
  assert.equal(shiftDecimal('1e-6', 6), undefined)
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 24n }), pico => {
      const digits = pico.toString().padStart(13, '0')
      const price = shiftDecimal(`${digits.slice(0, -12)}.${digits.slice(-12)}`, 0) ?? ''
      const million = shiftDecimal(price, 6) ?? ''

      assert.equal(shiftDecimal(million, -6), price)
      assert.equal(BigInt(shiftDecimal(million, 6) ?? ''), pico)
    }),
  )
})

test('anything but a plain decimal is shown unchanged and parsed as nothing', () => {
  for (const text of ['1e5', 'NaN', '1,5', '--1', '.', '1.', '']) {
    assert.equal(readDecimal(text), undefined, text)
    assert.equal(groupDecimal(text), text)
  }
  assert.deepEqual(['0', '0.000', '-0', '0.001'].map(isZero), [true, true, true, false])
})
