// Tables of the command line: IDs and numbers are never cut, columns are left out by importance, and the rest fits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cut, type LayoutColumn, layOut, pad, widthOf } from '../../src/cli/layout.ts'
import { perMillion, priceText } from '../../src/cli/show.ts'

const COLUMNS: readonly LayoutColumn[] = [
  { head: 'id', kind: 'whole', rank: 0 },
  { head: 'limit', kind: 'number', rank: 3 },
  { head: 'name', kind: 'text', rank: 1 },
  { head: 'spent', kind: 'number', rank: 2 },
]
const ID = `key_${'0'.repeat(32)}`
const ROWS = [
  [ID, '300', 'a name of thirty characters ..', '12.000000001'],
  [ID, '10000', 'short', '0'],
]

test('a wide terminal shows everything in full', () => {
  assert.deepEqual(layOut(COLUMNS, ROWS, 200), { shown: [0, 1, 2, 3], widths: [36, 5, 30, 12] })
  assert.deepEqual(layOut(COLUMNS, ROWS, undefined), { shown: [0, 1, 2, 3], widths: [36, 5, 30, 12] })
})

test('text is shortened before a column is left out, and columns leave in the order of their rank', () => {
  for (let width = 20; width <= 100; width++) {
    const { shown, widths } = layOut(COLUMNS, ROWS, width)
    const total = widths.reduce((sum, each) => sum + each, 2 * (widths.length - 1))

    assert.ok(shown.length === 1 || total <= width, `${total} of ${width}`)
    for (const [at, column] of shown.entries()) {
      const isText = COLUMNS[column]?.kind === 'text'
      assert.ok((widths[at] ?? 0) >= (isText ? 12 : [36, 5, 30, 12][column]!), `column ${column} at ${width}`)
    }
    const kept = shown.map(column => COLUMNS[column]?.rank ?? 0).toSorted()
    assert.deepEqual(kept, [0, 1, 2, 3].slice(0, kept.length))
  }
  assert.deepEqual(layOut(COLUMNS, ROWS, 80).shown, [0, 1, 2, 3])
  assert.deepEqual(layOut(COLUMNS, ROWS, 66).shown, [0, 2, 3])
  assert.deepEqual(layOut(COLUMNS, ROWS, 10), { shown: [0], widths: [36] })
})

test('the width counts cells of the terminal, not characters', () => {
  assert.equal(widthOf('漢字'), 4)
  assert.equal(widthOf('e\u0301'), 1)
  assert.equal(widthOf('🚀 ok'), 5)
  assert.equal(cut('漢字漢字', 5), '漢字…')
  assert.equal(pad('漢', 4, 'text'), '漢  ')
  assert.equal(pad('7', 3, 'number'), '  7')
})

test('prices are per million tokens, exactly', () => {
  const cases: Readonly<Record<string, string>> = {
    '0.0000025': '2.5',
    '0.00000018': '0.18',
    '0.000000324': '0.324',
    '0': '0',
    '1': '1000000',
    '0.000001': '1',
    '0.1': '100000',
    '12.000000000001': '12000000.000001',
  }
  for (const [price, expected] of Object.entries(cases)) assert.equal(perMillion(price), expected)
  assert.equal(perMillion(undefined), undefined)
  assert.equal(
    priceText({ prompt: '0.0000025', completion: '0.00001', input_cache_read: '0', request: '0.01', tiers: [{}] }),
    'prompt 2.5, completion 10, request 0.01, 1 tiers',
  )
})
