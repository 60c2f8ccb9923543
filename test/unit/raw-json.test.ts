// Integers beyond 2⁵³ keep their digits, everything else is parsed as by JSON.parse, and invalid JSON is refused.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isRawJson, parseKeepingDigits } from '../../src/lib/raw-json.ts'

test('long integers are serialised as they were read, at any position', () => {
  for (const text of [
    '12345678901234567890',
    '[-9007199254740993,{"a":[9007199254740993,9007199254740991]}]',
    '{"__proto__":12345678901234567890,"constructor":{"b":1e300}}',
    '{"12345678901234567890":"12345678901234567890 \\" 12345678901234567890"}',
  ]) {
    assert.equal(JSON.stringify(parseKeepingDigits(text)), text)
  }
  assert.ok(isRawJson(parseKeepingDigits('12345678901234567890')))
})

test('invalid JSON is refused', () => {
  for (const text of [
    '{12345678901234567890:1}',
    '012345678901234567890',
    '[12345678901234567890.]',
    '[12345678901234567890-1]',
    '"a"12345678901234567890',
    '[1234567890123456789012345678901234567890e]',
    '[12345678901234567890',
    '--12345678901234567890',
  ]) {
    assert.throws(() => JSON.parse(text), SyntaxError)
    assert.throws(() => parseKeepingDigits(text), SyntaxError, text)
  }
})

test('any JSON is parsed as by a parser with a reviver', () => {
  const long = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).map(value => `@${value}@`)
  const anything = fc.letrec(tie => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue({ maxDepth: 1 }),
      long,
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 5 }),
    ),
  })).value
  fc.assert(
    fc.property(anything, value => {
      const text = JSON.stringify(value).replace(/"@(-?\d+)@"/g, '$1')

      assert.equal(JSON.stringify(parseKeepingDigits(text)), JSON.stringify(JSON.parse(text, keepDigits as never)))
    }),
    { numRuns: 500 },
  )
})

function keepDigits(_name: string, value: unknown, { source }: { readonly source?: string }): unknown {
  const isLong = source !== undefined && Number.isInteger(value) && !Number.isSafeInteger(value)
  return isLong ? (JSON as unknown as { rawJSON(text: string): object }).rawJSON(source) : value
}
