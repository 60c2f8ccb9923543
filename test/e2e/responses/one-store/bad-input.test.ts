// What a Responses request must not have: refused in OpenAI's shape, with the path of the field under its own name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import { httpCall } from '../../../support/http-call.ts'
import { respond } from '../../../support/responses.ts'

const { gateway, upstream } = await openFixture()
const { secret: key } = await gateway.createKey({ credits: '1000', rpm_limit: 1_000_000 })

const image = (image_url: string) => [
  {
    role: 'user',
    content: [
      { type: 'input_text', text: 'See' },
      { type: 'input_image', image_url },
    ],
  },
]
const part = (fields: object) => [{ role: 'user', content: [fields] }]
const result = { type: 'function_call_output', call_id: 'c1', output: 'x' }
const deep = (levels: number): object => (levels === 0 ? {} : { a: deep(levels - 1) })

const CASES: readonly (readonly [what: string, body: object, code: string, param: string])[] = [
  ['an earlier response', { previous_response_id: 'resp_1' }, 'unsupported_value', 'previous_response_id'],
  ['a conversation', { conversation: 'conv_1' }, 'unsupported_value', 'conversation'],
  ['the background', { background: true }, 'unsupported_value', 'background'],
  ['a stored prompt', { prompt: { id: 'pmpt_1' } }, 'unsupported_value', 'prompt'],
  ['a reference to an item', { input: [{ type: 'item_reference', id: 'x' }] }, 'unsupported_value', 'input.0.type'],
  ['no input', { input: null }, 'missing_field', 'input'],
  ['an empty input', { input: [] }, 'invalid_value', 'input'],
  ['an item without a type', { input: [{ content: 'x' }] }, 'missing_field', 'input.0.type'],
  ['an unknown item', { input: [{ type: 'computer_call' }] }, 'invalid_value', 'input.0.type'],
  ['an unknown role', { input: [{ role: 'tool', content: 'x' }] }, 'invalid_value', 'input.0.role'],
  ['an unknown part', { input: part({ type: 'video' }) }, 'invalid_value', 'input.0.content.0.type'],
  ['a part of a chat', { input: part({ type: 'text', text: 'x' }) }, 'invalid_value', 'input.0.content.0.type'],
  ['a result without a call', { input: [result] }, 'invalid_value', 'input.0.call_id'],
  [
    'a call without a name',
    { input: [{ type: 'function_call', call_id: 'c', arguments: '' }] },
    'missing_field',
    'input.0.name',
  ],
  [
    'a file of the provider',
    { input: part({ type: 'input_file', file_id: 'f' }) },
    'unsupported_value',
    'input.0.content.0.file_id',
  ],
  [
    'a file by URL',
    { input: part({ type: 'input_file', file_url: 'https://a.example/x' }) },
    'unsupported_value',
    'input.0.content.0.file_url',
  ],
  [
    'an image of the provider',
    { input: part({ type: 'input_image', file_id: 'f' }) },
    'unsupported_value',
    'input.0.content.0.file_id',
  ],
  [
    'an image at a private address',
    { input: image('https://10.0.0.1/a.png') },
    'invalid_value',
    'input.0.content.1.image_url',
  ],
  [
    'an image over plain HTTP',
    { input: image('http://a.example/a.png') },
    'invalid_value',
    'input.0.content.1.image_url',
  ],
  [
    'an image for a model without eyes',
    { input: image('data:image/png;base64,AA') },
    'unsupported_value',
    'input.0.content.1.type',
  ],
  ['a limit of zero', { max_output_tokens: 0 }, 'invalid_value', 'max_output_tokens'],
  ['a limit above the model’s', { max_output_tokens: 1_000_000 }, 'invalid_value', 'max_output_tokens'],
  ['a temperature out of range', { temperature: 3 }, 'invalid_value', 'temperature'],
  [
    'a forced tool of the provider',
    { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
    'unsupported_value',
    'tool_choice.type',
  ],
  [
    'a call required of left-out tools',
    { tools: [{ type: 'web_search' }], tool_choice: 'required' },
    'unsupported_value',
    'tool_choice',
  ],
  ['a tool without a name', { tools: [{ type: 'function' }] }, 'missing_field', 'tools.0.name'],
  [
    'a namespace with an unnamed tool',
    { tools: [{ type: 'namespace', name: 'a', tools: [{ type: 'function' }] }] },
    'missing_field',
    'tools.0.tools.0.name',
  ],
  ['another service tier', { service_tier: 'priority' }, 'unsupported_value', 'service_tier'],
  [
    'a prompt cache at another price',
    { input: part({ type: 'input_text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } }) },
    'unsupported_value',
    'input.0.content.0.prompt_cache_breakpoint',
  ],
  ['a format without a name', { text: { format: { type: 'xml' } } }, 'invalid_value', 'text.format.type'],
  ['metadata that is not text', { metadata: { a: 1 } }, 'invalid_value', 'metadata.a'],
]

for (const [what, body, code, param] of CASES) {
  test(`${what}: 400 ${code} for ${param}`, async () => {
    const answer = await respond(gateway, body, { key })

    assert.equal(answer.status, 400, answer.text)
    const { error } = answer.body
    assert.deepEqual([error?.type, error?.code, error?.param], ['invalid_request_error', code, param])
    assert.match(String(error?.message), /\.$/)
    assert.equal(answer.headers['x-svc-cost'], '0')
    assert.equal(upstream.journal.length, 0)
  })
}

test('nesting beyond 32 levels is invalid JSON', async () => {
  const answer = await respond(gateway, { metadata: deep(40) }, { key })

  assert.deepEqual([answer.status, answer.body.error?.code], [400, 'invalid_json'])
})

for (const [method, path] of [
  ['GET', '/v1/responses/resp_1'],
  ['DELETE', '/v1/responses/resp_1'],
  ['POST', '/v1/responses/resp_1/cancel'],
  ['GET', '/v1/responses/resp_1/input_items'],
] as const) {
  test(`${method} ${path}: 404, since nothing is stored`, async () => {
    const answer = await httpCall(gateway.url + path, { method, headers: { authorization: `Bearer ${key}` } })

    assert.deepEqual([answer.status, answer.body.error?.code], [404, 'not_found'])
    assert.match(String(answer.body.error?.message), /not stored/)
  })
}
