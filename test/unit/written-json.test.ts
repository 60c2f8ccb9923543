// JSON that a model writes: parsed within bounds, and watched for its end.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseWritten, writtenEnd } from '../../src/lib/written-json.ts'

test('JSON is parsed unless it is nested too deeply or has too many members', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

  assert.deepEqual(parseWritten('{"a":[1,"]"]}'), { a: [1, ']'] })
  assert.equal(parseWritten('null'), null)
  for (const text of ['', '{', 'x', nested(2_000_000), '['.repeat(4_000_000), `[${'1,'.repeat(60_000)}1]`])
    assert.equal(parseWritten(text), undefined)
  assert.ok(Array.isArray(parseWritten(nested(1000))))
})

test('the end of an object is found wherever its text is cut, once, and not if more follows', () => {
  const whole = ['{}', ' {"a":{"b":[1,{}]}} ', '{"}":"\\"}{","c":"\\\\"}', '{"a":"\\u007d"}\n']
  const parts = ['', '{', '{"a":"}', '{"a":"\\"}', '[{}]', '{}{}', '{} x', 'x{}', '"{}"', '{"a":[}']

  for (const [texts, expected] of [
    [whole, true],
    [parts, false],
  ] as const)
    for (const text of texts) {
      const [atOnce, byCharacter] = [writtenEnd(), writtenEnd()]
      atOnce.push(text)
      for (const char of text) byCharacter.push(char)
      assert.deepEqual([atOnce.takeReached(), byCharacter.takeReached()], [expected, expected], text)
      assert.equal(atOnce.takeReached(), false)
    }
})
