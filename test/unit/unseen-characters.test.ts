// Names that others choose: what controls a terminal or turns a line round is shown as an escape by the command line, and is
// isolated by the dashboard.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clean } from '../../src/cli/output.ts'
import { escapeControls, escapeUnseen } from '../../src/lib/text.ts'
import { isolated, withoutControls } from '../../web/src/format/isolated.ts'

test('the terminal shows what is not seen as escapes', () => {
  assert.equal(clean('photo\u202egnp.exe'), 'photo\\u202egnp.exe')
  assert.equal(
    clean('a\u001b[31m\u009b2J\nb\u2028\u200b\u{e0001}'),
    'a\\u001b[31m\\u009b2J\\u000ab\\u2028\\u200b\\udb40\\udc01',
  )
  for (const text of ['Łódź 日本', 'مرحبا', '👩\u200d💻', 'a\u200cb', '']) assert.equal(clean(text), text)
})

test('a text of several lines keeps them, and every script', () => {
  assert.equal(escapeControls('a\r\n\tb\u001b[2J\rc\u0085'), 'a\n\tb\\u001b[2Jc\\u0085')
  for (const text of ['مرحبا\u200f!', '👩\u200d💻', '\u2067שלום\u2069']) assert.equal(escapeControls(text), text)
})

test('escapes in JSON are read as the characters that they stand for', () => {
  const value = { name: 'a\u202e\u0007\u2066\u{e0001}"\\', tab: '\t' }
  const text = JSON.stringify(value, null, 2).split('\n').map(escapeUnseen).join('\n')

  assert.doesNotMatch(text, /[^\P{C}\n]/u)
  assert.deepEqual(JSON.parse(text), value)
})

test('a name in a sentence cannot turn the sentence round', () => {
  assert.equal(isolated('acme/m1'), 'acme/m1')
  assert.equal(isolated('שלום'), '\u2068שלום\u2069')
  // It cannot end its isolation, or begin one that does not end.
  assert.equal(isolated('م\u2069\u202e\u2067x'), '\u2068م\ufffd\ufffd\ufffdx\u2069')
  assert.equal(isolated('a\u202eb\u200f'), 'a\ufffdb\ufffd')
  assert.equal(withoutControls('one\u2028two\u0000'), 'one\ufffdtwo\ufffd')
})
