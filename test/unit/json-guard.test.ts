// The scan before JSON.parse: it accepts only shallow UTF-8, and detects every odd number.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemClock } from '../../src/lib/clock.ts'
import { guardJson, guardText, oddNumberPath } from '../../src/lib/json-guard.ts'

const guard = (text: string, depthMax = 32) => guardJson(Buffer.from(text), depthMax)

test('a body that begins with a byte order mark is detected', () => {
  assert.equal(guard('\ufeff{}').verdict, 'bom')
  assert.equal(guard('{"a":"\ufeff"}').verdict, 'ok')
})

test('bytes that are not UTF-8 are detected', () => {
  for (const bytes of [[0xff], [0x22, 0xc3, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xc0, 0x80, 0x22]]) {
    assert.equal(guardJson(Buffer.from(bytes), 32).verdict, 'bad_utf8')
  }
})

test('nesting is counted as the parser counts it, for any value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(8), (value, depthMax) => {
      const expected = depthOf(value) > depthMax ? 'too_deep' : 'ok'
      for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
        assert.equal(guard(text, depthMax).verdict, expected)
        assert.equal(guardText(text, { depthMax, membersMax: 1000 }), expected)
      }
    }),
    { numRuns: 2000 },
  )
})

test('brackets inside strings do not count, with any escapes around them and any length of the string', () => {
  const piece = fc.oneof(
    fc.constantFrom('"', '\\', '[', '{', '\\"', '[[[[', '"]'),
    fc.nat(1500).map(length => 'x'.repeat(length)),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), pieces => {
      const text = JSON.stringify({ a: pieces.join(''), b: [1] })
      assert.equal(guard(text, 2).verdict, 'ok')
      assert.equal(guard(text, 1).verdict, 'too_deep')
    }),
    { numRuns: 2000 },
  )
})

test('forty megabytes of opening brackets are refused in well under a millisecond', () => {
  const bytes = Buffer.alloc(40 * 1024 * 1024, '[')
  guardJson(bytes, 32)

  const began = systemClock.monotonic()
  const { verdict } = guardJson(bytes, 32)
  const ms = systemClock.monotonic() - began

  assert.equal(verdict, 'too_deep')
  assert.ok(ms < 1, `${ms} ms`)
})

// Quadratic work would take minutes; the bound has a margin for a busy machine.
test('four mebibytes of any input are scanned in a short, linear time', () => {
  for (const unit of ['x', '\\"', '\\\\', `${'x'.repeat(100)}\\"`]) {
    const bytes = Buffer.from(`{"a":"${unit.repeat(Math.ceil((4 * 1024 * 1024) / unit.length))}"}`)

    const began = systemClock.monotonic()
    const { verdict } = guardJson(bytes, 32)
    const ms = systemClock.monotonic() - began

    assert.equal(verdict, 'ok')
    assert.ok(ms < 2_500, `${ms} ms for ${unit.slice(-4)}`)
  }
})

test('an unfinished string or escape at the very end is handled', () => {
  for (const text of ['"', '"\\', '"a', `"${'a'.repeat(200)}`, `"${'a'.repeat(200)}\\"`, '', '1', '-', '[']) {
    assert.equal(guard(text).verdict, 'ok', text)
  }
})

test('only non-finite numbers and integers beyond the safe range are suspicious', () => {
  for (const text of [
    '1e21',
    '[1E+400]',
    '{"a":9007199254740993}',
    '[-1.5e300]',
    '9007199254740992.0',
    '[1,1e5,9e99]',
  ]) {
    assert.equal(guard(text).suspicious, true, text)
  }
  for (const text of ['[1e5,-1.5e1,1E-400]', '0.1234567890123456789', '[123456789012345.6789]']) {
    assert.equal(guard(text).suspicious, false, text)
  }
  for (const text of ['[true,false,null]', '"1e5"', '{"1e5":"9007199254740993"}', '[1,2.5,-3]', '999999999999999']) {
    assert.equal(guard(text).suspicious, false, text)
  }
})

test('the scan is suspicious exactly where the walk finds an odd number', () => {
  const number = fc.oneof(
    fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.constantFrom('1e400', '-1e400', '9007199254740992', '1e21', `1${'0'.repeat(400)}`),
  )
  fc.assert(
    fc.property(fc.array(number, { minLength: 1, maxLength: 4 }), numbers => {
      const text = `{"true":[${numbers.join(', ')}]}`
      assert.equal(guard(text).suspicious, oddNumberPath(JSON.parse(text)) !== undefined, text)
    }),
    { numRuns: 3000 },
  )
})

test('the path names the first number that is not finite or not a safe integer', () => {
  assert.equal(oddNumberPath({ messages: [{}, {}, { content: 2 ** 53 }], z: Infinity }), 'messages.2.content')
  assert.equal(oddNumberPath(JSON.parse('{"max_tokens":1e400}')), 'max_tokens')
  assert.equal(oddNumberPath(-(2 ** 53)), '')
  assert.equal(oddNumberPath({ a: [null, true, 'x', -0, 1.5, 2 ** 53 - 1, 5e-324] }), undefined)
  assert.equal(oddNumberPath({ ['k'.repeat(1000)]: Number.NaN })?.length, 256)
})

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

test('brackets in strings of any length, with quotes and backslashes anywhere, are no levels', () => {
  const unit = fc.constantFrom('\\', '"', '[', '}', 'a'.repeat(40))
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 400 }), fc.string({ unit, maxLength: 400 }), (one, two) => {
      const text = JSON.stringify([one, { [two]: [two] }, one])

      assert.equal(guardText(text, { depthMax: 2, membersMax: 2 }), 'too_deep')
      assert.equal(guardText(text, { depthMax: 3, membersMax: 2 }), 'ok')
      assert.equal(guardText(text, { depthMax: 3, membersMax: 1 }), 'too_many')
    }),
    { numRuns: 500 },
  )
})
