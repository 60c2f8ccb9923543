// Every bound of a chat request's fields: a value on the bound is accepted, one past it is refused by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { assertRefusal, type Code } from '../../../support/refusal.ts'
import { startUpstream } from '../../../support/upstream.ts'

const TAKEN: Readonly<Record<string, readonly unknown[]>> = {
  temperature: [0, 0.7, 2, -0],
  top_p: [0, 1],
  n: [1, 8],
  frequency_penalty: [-2, 2],
  presence_penalty: [-2, 2],
  top_logprobs: [0, 20],
  logprobs: [true, false],
  stop: ['x', '', ['a', 'b', 'c', 'd']],
  max_tokens: [1, 4096],
  max_completion_tokens: [1, 4096],
  seed: [0, -1, Number.MAX_SAFE_INTEGER],
  stream: [false],
  logit_bias: [{ 50256: -100, 1: 100 }],
  metadata: [{ a: 'b' }],
  response_format: [{ type: 'text' }, { type: 'json_object' }, { type: 'json_schema', json_schema: { name: 'x' } }],
  reasoning_effort: ['low', 'xhigh'],
  tool_choice: ['auto', 'none', { type: 'function', function: { name: 'f' } }],
  parallel_tool_calls: [true],
  service_tier: ['auto', 'default'],
  modalities: [['text']],
  user: ['u'],
  top_k: [0, 40],
  min_p: [0, 1],
  repetition_penalty: [1.1],
  stream_options: [{ include_usage: true }, {}],
}

const REFUSED: readonly (readonly [field: string, values: readonly unknown[], param?: string])[] = [
  ['temperature', [-0.1, 2.1, '1', true, [1], {}]],
  ['top_p', [-0.1, 1.1, '0.5']],
  ['n', [0, 9, -1, 1.5, '1', 5.5]],
  ['frequency_penalty', [-2.1, 2.1, 'x']],
  ['presence_penalty', [-2.1, 2.1]],
  ['top_logprobs', [-1, 21, 0.5]],
  ['logprobs', [1, 'true']],
  ['stop', [5, ['a', 'b', 'c', 'd', 'e'], {}]],
  ['stop', [[1]], 'stop.0'],
  ['max_tokens', [0, -1, 1.5, '5', 5.5, 4097]],
  ['max_completion_tokens', [0, -1, 1.5, '5', 4097]],
  ['seed', [1.5, 'x']],
  ['stream', ['true', 1, 0]],
  ['stream_options', [true, 'x']],
  ['stream_options', [{ include_usage: 1 }], 'stream_options.include_usage'],
  ['logit_bias', [{ 1: 101 }], 'logit_bias.1'],
  ['response_format', [{ type: 'xml' }], 'response_format.type'],
  ['model', ['', 'm'.repeat(257), 5, ['test/m1'], { id: 'test/m1' }]],
  ['tools', [[], 'x', {}, Array.from({ length: 129 }, () => ({ type: 'function', function: { name: 'f' } }))]],
  ['messages', [[], {}, 'hello', Array.from({ length: 2049 }, () => ({ role: 'user', content: 'x' }))]],
]

const MISSING: readonly (readonly [body: object, param: string])[] = [
  [{ model: undefined }, 'model'],
  [{ messages: undefined }, 'messages'],
  [{ model: null }, 'model'],
  [{ messages: null }, 'messages'],
  [{ tools: [{ type: 'function' }] }, 'tools.0.function'],
  [{ tools: [{ type: 'function', function: {} }] }, 'tools.0.function.name'],
  [{ tools: [{ type: 'function', function: null }] }, 'tools.0.function'],
  [{ tools: [{ type: 'function', function: { name: null } }] }, 'tools.0.function.name'],
  [{ response_format: { type: null } }, 'response_format.type'],
  [{ messages: [{ role: null, content: 'x' }] }, 'messages.0.role'],
  [{ messages: [{ role: 'user', content: null }] }, 'messages.0.content'],
  [{ messages: [{ role: 'user', content: [{ type: null }] }] }, 'messages.0.content.0.type'],
  [{ messages: [{ role: 'user', content: [{ type: 'text', text: null }] }] }, 'messages.0.content.0.text'],
]

test('a value on its bound is accepted, one past it is refused by name', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const refused = async (body: object, code: Code, param: string) =>
    assertRefusal(await gateway.chat(body), code, param)

  await t.test('values on the bounds reach the upstream', async () => {
    for (const [field, values] of Object.entries(TAKEN)) {
      for (const value of values) {
        const answer = await gateway.chat({ [field]: value })

        assert.equal(answer.status, 200, `${field} ${JSON.stringify(value)}: ${answer.text}`)
      }
    }
  })

  await t.test('values past the bounds, and of other types, are refused', async () => {
    for (const [field, values, param] of REFUSED) {
      for (const value of values) await refused({ [field]: value }, 'invalid_value', param ?? field)
    }
  })

  await t.test('a missing required field is named', async () => {
    for (const [body, param] of MISSING) await refused(body, 'missing_field', param)
  })

  await t.test('null means absent, for every optional field', async () => {
    const nulls = Object.fromEntries(Object.keys(TAKEN).map(field => [field, null]))
    upstream.reset()

    const answer = await gateway.chat({
      ...nulls,
      tools: null,
      web_search_options: null,
      audio: null,
      unheard_of: null,
    })

    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(Object.keys(upstream.journal[0]?.body as object), ['model', 'messages'])
    assert.equal(answer.headers['x-svc-ignored-fields'], undefined)
  })

  await t.test('a nested null means absent too, except in caller-defined objects', async () => {
    const parameters = { type: 'object', $comment: null, properties: { a: { default: null } } }
    const given = { name: 'f', description: null, parameters, strict: null }
    upstream.reset()

    const answer = await gateway.chat({
      tools: [{ type: 'function', function: given, custom: null }],
      logit_bias: { 50256: null, 50257: -1 },
      stream_options: { include_usage: null },
    })

    assert.equal(answer.status, 200, answer.text)
    const { tools, logit_bias } = (upstream.journal[0]?.body ?? {}) as Record<string, unknown>
    assert.deepEqual(tools, [{ type: 'function', function: { name: 'f', parameters, strict: null } }])
    assert.deepEqual(logit_bias, { 50257: -1 })
  })

  await t.test('max_tokens and its alias can both be present if they agree', async () => {
    await refused({ max_tokens: 5, max_completion_tokens: 6 }, 'invalid_value', 'max_completion_tokens')

    const answer = await gateway.chat({ max_tokens: 5, max_completion_tokens: 5 })

    assert.equal(answer.status, 200)
  })

  await t.test('2,048 messages are accepted', async () => {
    const messages = Array.from({ length: 2048 }, () => ({ role: 'user', content: 'x' }))

    assert.equal((await gateway.chat({ messages })).status, 200)
  })

  assert.ok((await gateway.audit()).ok)
})
