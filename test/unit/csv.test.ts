// Usage rows as CSV: no caller's text may run as a formula in a spreadsheet.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvLine } from '../../src/http/csv.ts'

const cell = (text: string) => csvLine(['text'], { text }).slice(0, -2)

for (const before of [
  '',
  ' ',
  '   ',
  '\t',
  '\u00a0',
  '\u3000',
  '\ufeff',
  '\u200b',
  '\u2060',
  '\u0000',
  '\u001f',
  ' \u200b ',
]) {
  for (const sign of ['=', '+', '-', '@', '＝', '＋', '－', '＠']) {
    test(`a formula that begins with ${JSON.stringify(before + sign)} is text`, () => {
      assert.match(cell(`${before}${sign}1+1`), /^"'/)
    })
  }
}

test('other text is unchanged', () => {
  assert.equal(cell('gpt-4o'), 'gpt-4o')
  assert.equal(cell('a=b'), 'a=b')
})
