// The check of large JSON: it accepts exactly what JSON.parse accepts, and an answer reassembled from its cuts is
// unchanged.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jsonCuts, LOGPROBS, NotJson } from '../../src/lib/json-cuts.ts'
import { readLarge } from '../../src/upstream/large-answer-worker.ts'

const BOUNDS = { depthMax: 64, membersMax: 100, stringBytesMax: 8, path: LOGPROBS }

test('it accepts exactly what the parser accepts', () => {
  const piece = fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"choices"',
      '"logprobs"',
      '1',
      '-',
      '0',
      '01',
      '1.5',
      '1.',
      '1e5',
      '1E+',
      'e',
    ],
    ...['true', 'nul', 'null', '"\\u12"', '"\\u12aF"', '"\\x"', '"\\n"', ' ', '\n', '\u0000', '"', '"ü"', '\ufeff'],
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 9 }), pieces => {
      const text = pieces.join('')
      assert.equal(accepts(text), parses(text), text)
    }),
    { numRuns: 20_000 },
  )
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), text => assert.equal(accepts(text, 1000), true, text)),
    { numRuns: 1000 },
  )
})

test('depth and members are bounded, except for the members of logprobs, which are forwarded unparsed', () => {
  const many = `[${'0,'.repeat(101)}0]`
  assert.throws(() => jsonCuts(Buffer.from(many), BOUNDS), /too many members/)
  assert.throws(() => jsonCuts(Buffer.from('['.repeat(65)), BOUNDS), /nested too deeply/)
  assert.throws(() => jsonCuts(Buffer.from(`{"other":[{"logprobs":{"content":${many}}}]}`), BOUNDS), /too many members/)
  assert.throws(() => jsonCuts(Buffer.from([0x22, 0xff, 0x22]), BOUNDS), /UTF-8/)

  const text = `{"choices":[{"logprobs":{"content":${many}}}]}`
  assert.deepEqual(jsonCuts(Buffer.from(text), BOUNDS), [
    { kind: 'value', from: text.indexOf('[0'), to: text.indexOf('[0') + many.length },
  ])
})

test('any answer is serialised as if it had been parsed as a whole', () => {
  const long = fc.string({ unit: 'binary', minLength: 0, maxLength: 30 }).map(text => text.repeat(60))
  const choice = fc.record({
    index: fc.constant(0),
    message: fc.record({
      role: fc.constant('assistant'),
      content: fc.oneof(long, fc.array(fc.record({ type: fc.constant('text'), text: long }))),
      reasoning: long,
    }),
    logprobs: fc.oneof(fc.constant(null), fc.record({ content: fc.array(fc.jsonValue({ maxDepth: 3 })) })),
    finish_reason: fc.constant('stop'),
  })
  fc.assert(
    fc.property(fc.array(choice, { minLength: 1, maxLength: 3 }), fc.boolean(), (choices, isCounted) => {
      const usage = isCounted ? { completion_tokens: 7 } : undefined
      const text = JSON.stringify({ id: 'x', choices, usage })
      const bytes = Buffer.from(text)

      const read = readLarge(bytes, [])

      assert.ok('written' in read)
      const written = JSON.parse(Buffer.concat(read.written).toString())
      // As JSON represents them: it has no -0.
      const said = JSON.parse(text).choices as typeof choices
      for (const [number, { message, logprobs }] of said.entries()) {
        const content =
          typeof message.content === 'string' ? message.content : message.content.map(part => part.text).join('')
        assert.deepEqual(written[number].message, { ...message, content, refusal: null })
        assert.deepEqual(written[number].logprobs, logprobs === null ? null : { ...logprobs, refusal: null })
        if (!isCounted) assert.equal(read.choices[number]?.message.content, content)
        else assert.equal(read.choices[number]?.message.content === '', content === '')
      }
    }),
    { numRuns: 300 },
  )
})

function accepts(text: string, membersMax = 100): boolean {
  try {
    jsonCuts(Buffer.from(text), { ...BOUNDS, membersMax })
    return true
  } catch (error) {
    assert.ok(error instanceof NotJson)
    return false
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
