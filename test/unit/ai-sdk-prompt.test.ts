// The arguments of earlier tool calls are text for the gateway and JSON for some packages: they are parsed only within
// bounds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promptOf } from '../../src/upstream/ai-sdk/prompt.ts'

const MANY = `[${Array.from({ length: 20_000 }, (_, i) => `{"k${i}":0}`).join()}]`

test('arguments are parsed, and stay text if they are not JSON', () => {
  assert.deepEqual(inputsOf(['{"a":[1,2]}', '', 'not JSON']), [{ a: [1, 2] }, {}, 'not JSON'])
})

test('arguments that are nested too deeply, or have more members than a prompt may, stay text', () => {
  const deep = '['.repeat(100_000)
  const inputs = inputsOf([deep, MANY, MANY, MANY, '{"a":1}'])

  assert.equal(inputs[0], deep)
  assert.deepEqual(inputs.slice(1, 4).map(Array.isArray), [true, true, false])
  assert.equal(inputs[3], MANY)
  assert.deepEqual(inputs[4], { a: 1 })
})

function inputsOf(given: readonly string[]): unknown[] {
  const tool_calls = given.map((text, i) => ({
    id: String(i),
    type: 'function',
    function: { name: 'f', arguments: text },
  }))
  const [message] = promptOf([{ role: 'assistant', content: null, tool_calls }], 'anthropic')
  return (message!.content as { input: unknown }[]).map(({ input }) => input)
}
