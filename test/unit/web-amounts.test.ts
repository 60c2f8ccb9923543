// How the dashboard rounds amounts for display: exactly, by digits, and never to something that reads as another amount.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  amount,
  amountHeight,
  amountWithUnit,
  axisAmount,
  columnAmount,
  columnPlaces,
  enteredAmount,
  exactAmount,
  isLess,
  minus,
  plus,
  withAmountsShown,
} from '../../web/src/format/amounts.ts'
import { inUnit, showInDollars, shownRate, unit } from '../../web/src/format/currency.ts'

test('an amount has two decimals above one credit and three significant digits below', () => {
  const shown = {
    '4.129505622': '4.13',
    '1234567.5': '1,234,567.50',
    '0.000483476': '0.000483',
    '0.5': '0.50',
    '0.05': '0.05',
    '0.0999999': '0.10',
    '0.999999999': '1.00',
    '-12.345': '−12.35',
    '0.000000001': '0.000000001',
    '9007199254740993.004': '9,007,199,254,740,993.00',
    '0': '0',
    '0.000': '0',
  }

  assert.deepEqual(Object.fromEntries(Object.keys(shown).map(text => [text, amount(text)])), shown)
})

test('the amounts of a column have the same number of decimals, zero is a dash', () => {
  const column = (...values: string[]) => values.map(value => columnAmount(value, columnPlaces(values)))

  assert.deepEqual(column('1000', '3.123456789', '0'), ['1,000.00', '3.12', '–'])
  assert.deepEqual(column('0.000700', '0.0000123', '0'), ['0.000700', '0.000012', '–'])
  assert.deepEqual(column('1000', '0.000483476'), ['1,000.0000', '0.0005'])
  assert.deepEqual(column('25', '0.00000001', '-0.00000001'), ['25.0000', '<0.0001', '>−0.0001'])
  assert.deepEqual(column('0', '0'), ['–', '–'])
  assert.deepEqual(column(), [])
})

test('no rounded amount differs from the exact one by more than half of its last digit', () => {
  const nano = fc.bigInt({ min: 1n, max: 10n ** 20n })
  fc.assert(
    fc.property(nano, fc.integer({ min: 2, max: 6 }), (value, places) => {
      const digits = value.toString().padStart(10, '0')
      const text = `${digits.slice(0, -9)}.${digits.slice(-9)}`

      assert.ok(
        differenceNano(amount(text), value) * 200n <= value || differenceNano(amount(text), value) <= 5_000_000n,
      )
      const shown = columnAmount(text, places)
      if (shown.startsWith('<')) assert.ok(value < 5n * 10n ** BigInt(8 - places))
      else assert.ok(differenceNano(shown, value) * 2n <= 10n ** BigInt(9 - places))
    }),
  )
})

test('anything but a plain decimal is shown unchanged', () => {
  for (const text of ['1e5', 'NaN', '', '1,5']) {
    assert.equal(amount(text), text)
    assert.equal(columnAmount(text, 2), text)
  }
})

function differenceNano(shown: string, value: bigint): bigint {
  const [whole = '', fraction = ''] = shown.replaceAll(',', '').split('.')
  const difference = BigInt(whole + fraction.padEnd(9, '0')) - value
  return difference < 0n ? -difference : difference
}

test('sums and differences are exact', () => {
  assert.equal(plus('9007199254740993.000000001', '0.000000001'), '9007199254740993.000000002')
  assert.equal(plus('0.1', '0.2'), '0.300000000')
  assert.equal(minus('0.0007', '0.000796'), '-0.000096000')
  assert.deepEqual([isLess('0.0007', '0.000796'), isLess('1', '1.000'), isLess('-1', '0')], [true, false, true])
})

test('in US dollars an amount is divided by the rate, exactly, and has a sign', t => {
  t.after(() => showInDollars(undefined))
  assert.deepEqual(
    [unit(), amountWithUnit('250'), exactAmount('0.000483476', 0)],
    ['credits', '250.00 credits', '0.000483476'],
  )

  showInDollars('100')

  assert.deepEqual(
    [unit(), amountWithUnit('250'), amount('-12.5'), amount('0')],
    ['US dollars', '$2.50', '−$0.125', '$0'],
  )
  assert.equal(withAmountsShown('owes 12.5 credits, has 0 credits left'), 'owes $0.125, has $0 left')
  assert.equal(exactAmount('0.000483476', 0), '$0.00000483476')
  assert.equal(exactAmount('-1234567.5'), '−$12,345.675')
  const column = ['100000', '0.000000001', '-0.000000001', '0']
  const places = columnPlaces(column)
  assert.deepEqual(
    column.map(value => columnAmount(value, places)),
    ['$1,000.0000', '<$0.0001', '>−$0.0001', '–'],
  )
  assert.deepEqual(
    [amountHeight('250'), axisAmount(2500), axisAmount(0.25), axisAmount(0)],
    [2.5, '$2.5K', '$0.25', '0'],
  )
})

test('amounts in dollars have no exponents and no endless decimals', t => {
  t.after(() => showInDollars(undefined))
  assert.deepEqual([enteredAmount('250'), exactAmount('0.1234567890123')], [undefined, '0.1234567890123'])

  showInDollars('3')

  assert.deepEqual(
    [exactAmount('1'), exactAmount('-2'), exactAmount('3'), exactAmount('0.000000001')],
    ['$0.333333333333', '−$0.666666666667', '$1.00', '$0.000000000333'],
  )
  assert.deepEqual([axisAmount(5e-7), axisAmount(0.0012345)], ['$0.0000005', '$0.0012'])
  assert.deepEqual(
    [enteredAmount(' 750 '), enteredAmount('0'), enteredAmount('x')],
    ['= $250.00', undefined, undefined],
  )
  showInDollars('1000000')
  assert.equal(exactAmount('0.000000001'), '$0.000000000000001')
})

test('dollars differ from credits divided by the rate by at most half of the fifteenth decimal', t => {
  t.after(() => showInDollars(undefined))
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(10n ** 19n), max: 10n ** 19n }),
      fc.bigInt({ min: 1n, max: 10n ** 12n }),
      (nano, micro) => {
        showInDollars(decimal(micro, 6))

        const shown = BigInt(inUnit(decimal(nano, 9)).replace('.', ''))

        const difference = shown * micro - nano * 10n ** 12n
        assert.ok((difference < 0n ? -difference : difference) * 2n <= micro)
      },
    ),
  )
})

test('what is kept in the shown unit is told when only the rate changes', t => {
  t.after(() => showInDollars(undefined))
  const rates = ['100', '100', '50', undefined].map(rate => {
    showInDollars(rate)
    return shownRate()
  })

  assert.deepEqual(
    rates.map((rate, i) => rate === rates[i - 1]),
    [false, true, false, false],
  )
})

test('a rate that is none leaves amounts in credits', t => {
  t.after(() => showInDollars(undefined))
  for (const rate of ['0', 'x', '']) {
    showInDollars(rate)
    assert.equal(amount('1.5'), '1.50')
  }
})

function decimal(units: bigint, places: number): string {
  const digits = String(units < 0n ? -units : units).padStart(places + 1, '0')
  return `${units < 0n ? '-' : ''}${digits.slice(0, -places)}.${digits.slice(-places)}`
}
