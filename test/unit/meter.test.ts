// What a meter counts of an answer: all text under any name, each part once, and when the answer has finished.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Chunk, Whole } from '../../src/domain/handoff.ts'
import { meter } from '../../src/relay/usage-meter.ts'

type Said = { readonly [field: string]: unknown }
type Choice = readonly [index: number, delta: Said, finish_reason: string | null]

const COUNTED: readonly (readonly [what: string, said: Said, text: string])[] = [
  ['words', { role: 'assistant', content: 'one' }, 'one'],
  ['content and a refusal', { content: 'one', refusal: 'no' }, 'oneno'],
  ['reasoning under either name', { reasoning: 'hm' }, 'hm'],
  ['reasoning under both names, once', { content: '', reasoning: 'hm', reasoning_content: 'hm' }, 'hm'],
  [
    'reasoning in details, once',
    {
      reasoning: 'hm so',
      reasoning_details: [
        { type: 'reasoning.text', text: 'hm', id: 'r' },
        { text: ' so', index: 1 },
      ],
    },
    'hm so',
  ],
  ['reasoning only in details', { reasoning_details: [{ type: 'reasoning.summary', summary: 'sum' }] }, 'sum'],
  ['reasoning in blocks', { thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 'c2ln' }] }, 'hm'],
  ['content repeated as reasoning, once', { content: 'one', reasoning: 'one' }, 'one'],
  ['an unknown field', { content: 'one', monologue: 'two' }, 'onetwo'],
  ['an unknown field, deep', { extra: { pieces: [{ text: 'a', message_id: 'x' }, ['b']], type: 'c' } }, 'ab'],
  [
    'an unknown field that mirrors',
    { content: 'one', reasoning: 'hm', fields: { reasoning_content: 'hm', said: 'one' } },
    'onehm',
  ],
  [
    'tool calls',
    { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }] },
    'f{}',
  ],
  ['a custom tool', { tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'g', input: 'x' } }] }, 'gx'],
  ['arguments that look like the content', { content: '{', tool_calls: [{ function: { arguments: '{' } }] }, '{{'],
  ['an old function call', { function_call: { name: 'f', arguments: '1' } }, 'f1'],
  ['nothing', { role: 'assistant', content: '', refusal: null, tool_calls: [null, 5], audio: {} }, ''],
]

for (const [what, said, text] of COUNTED) {
  test(`in a delta and in a message: ${what}`, () => {
    const [stream, json] = [meter(), meter()]

    stream.chunks([chunk([0, said, null])])
    json.whole({ choices: [{ index: 0, message: said, finish_reason: 'stop' }], usage: 1 } as unknown as Whole)

    for (const gauge of [stream, json]) {
      const output = gauge.output()
      assert.deepEqual(
        [[...output.texts.join('')].sort().join(''), output.any],
        [[...text].sort().join(''), text !== ''],
      )
    }
  })
}

test('fields of any size and depth are handled', () => {
  const gauge = meter()
  let deep: unknown = 'x'
  for (let i = 0; i < 100_000; i++) deep = [deep]

  gauge.chunks([chunk([0, { deep, wide: Array.from({ length: 300_000 }, () => 'a') }, null])])

  assert.deepEqual(
    gauge.output().texts.map(text => text.length),
    [300_000],
  )
})

test('beyond eight mebibytes text is counted in bytes and not stored', () => {
  const gauge = meter()

  for (const content of ['x'.repeat(8 * 1024 * 1024), 'é', 'é']) gauge.chunks([chunk([0, { content }, null])])
  gauge.chunks([chunk([1, { content: 'more' }, null])])

  const { texts, bytesBeyond } = gauge.output()
  assert.deepEqual([texts.map(text => text.length), bytesBeyond], [[8 * 1024 * 1024, 0], 8])
})

test('each choice has its own text, in any interleaving', () => {
  const [stream, json] = [meter(), meter()]
  const whole = (index: number, content: string) => ({ index, message: { content }, finish_reason: 'stop' })

  stream.chunks([chunk([1, { content: 'b' }, null], [0, { content: 'a' }, null]), chunk([1, { content: 'B' }, null])])
  const before = stream.output().texts
  stream.chunks([chunk([0, { content: 'A' }, null], [2, {}, 'stop'])])
  json.whole({ choices: [whole(0, 'aA'), whole(1, ''), whole(2, 'c')], usage: 1 } as unknown as Whole)

  assert.deepEqual(before, ['bB', 'a'], 'the text so far')
  assert.deepEqual(stream.output().texts, ['bB', 'aA', ''])
  assert.deepEqual(json.output().texts, ['aA', '', 'c'])
})

test('choices beyond n take no more memory', () => {
  const gauge = meter()

  for (let index = 0; index < 1000; index++) gauge.chunks([chunk([index, { content: 'x' }, null])])

  assert.deepEqual(
    gauge.output().texts.map(text => text.length),
    [1, 1, 1, 1, 1, 1, 1, 993],
  )
})

test('an answer of several choices has finished when each that has output has, whatever follows', () => {
  const gauge = meter()
  const reasons: unknown[] = []
  const see = (...choices: readonly Choice[]) => {
    gauge.chunks([chunk(...choices)])
    reasons.push(gauge.finishReason)
  }

  see([0, { content: 'a' }, null], [1, { content: 'b' }, null])
  see([0, {}, 'length'])
  see([1, { content: 'b' }, null])
  see([1, {}, 'stop'])
  see([0, {}, null])
  see([2, { content: 'c' }, null])
  see([2, {}, 'tool_calls'])

  assert.deepEqual(reasons, [null, null, null, 'stop', 'stop', null, 'tool_calls'])
})

function chunk(...choices: readonly Choice[]): Chunk {
  return {
    choices: choices.map(([index, delta, finish_reason]) => ({ index, delta, finish_reason })),
    usage: undefined,
    fingerprint: undefined,
  }
}
