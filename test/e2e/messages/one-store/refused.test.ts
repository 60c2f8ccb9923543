// Bad input to /v1/messages: each is refused in Anthropic's shape, with the caller's own name of the field.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dialectConfig } from '../../../support/dialects.ts'
import { openFixture } from '../../../support/fixture.ts'
import { askMessages, type Fields } from '../../../support/messages.ts'
import { openRaw } from '../../../support/raw-http.ts'
import { standardModel } from '../../../support/standard-config.ts'

const { gateway, upstream } = await openFixture(url => {
  const config = dialectConfig(url)
  const sees = standardModel({ id: 'test/sees', input_modalities: ['text', 'image'], media_max_tokens: 1000 })
  return { ...config, models: [...(config.models as object[]), sees] }
})
const { secret } = await gateway.createKey({ rpm_limit: 1_000_000, daily_limit: null })

const user = (...content: readonly object[]) => ({ messages: [{ role: 'user', content }] })
const image = (source: object) => ({ model: 'test/sees', ...user({ type: 'image', source }) })

const BAD: readonly (readonly [string, Fields, string, string])[] = [
  ['max_tokens is missing', { max_tokens: undefined }, 'missing_field', 'max_tokens'],
  ['max_tokens is not a number', { max_tokens: 'many' }, 'invalid_value', 'max_tokens'],
  ['max_tokens is above the maximum of the model', { max_tokens: 5000 }, 'invalid_value', 'max_tokens'],
  ['messages are missing', { messages: undefined }, 'missing_field', 'messages'],
  ['messages are empty', { messages: [] }, 'invalid_value', 'messages'],
  ['the content is empty', { messages: [{ role: 'user', content: [] }] }, 'invalid_value', 'messages.0.content'],
  ['system comes first', { messages: [{ role: 'system', content: 'x' }] }, 'invalid_value', 'messages.0.role'],
  ['a role is unknown', { messages: [{ role: 'tool', content: 'x' }] }, 'invalid_value', 'messages.0.role'],
  ['a block has no text', user({ type: 'text' }), 'missing_field', 'messages.0.content.0.text'],
  ['a block is unknown', user({ type: 'hologram' }), 'unsupported_value', 'messages.0.content.0.type'],
  ['a block has no type', user({ text: 'x' }), 'missing_field', 'messages.0.content.0.type'],
  [
    'a tool result has no call',
    user({ type: 'tool_result', tool_use_id: 'toolu_9', content: 'x' }),
    'invalid_value',
    'messages.0.content.0.tool_use_id',
  ],
  ['a tool has no schema', { tools: [{ name: 'x' }] }, 'missing_field', 'tools.0.input_schema'],
  ['tool_choice names no tool', { tool_choice: { type: 'tool', name: 'x' } }, 'invalid_value', 'tool_choice'],
  ['system has an image', { system: [{ type: 'image' }] }, 'missing_field', 'system.0.text'],
  ['a budget is missing', { thinking: { type: 'enabled' } }, 'missing_field', 'thinking.budget_tokens'],
  [
    'a budget is too small',
    { thinking: { type: 'enabled', budget_tokens: 1 } },
    'invalid_value',
    'thinking.budget_tokens',
  ],
  ['temperature is too high', { temperature: 1.5 }, 'invalid_value', 'temperature'],
  [
    'a cache entry has a lifetime without a price',
    user({ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }),
    'unsupported_value',
    'messages.0.content.0.cache_control',
  ],
  ['the speed has another price', { speed: 'fast' }, 'unsupported_value', 'speed'],
  ['the place has another price', { inference_geo: 'us' }, 'unsupported_value', 'inference_geo'],
  [
    'the model does not see images',
    { ...image({ type: 'base64', media_type: 'image/png', data: 'AAAA' }), model: 'test/m1' },
    'unsupported_value',
    'messages.0.content.0.type',
  ],
  [
    'an image is at a private address',
    image({ type: 'url', url: 'https://10.0.0.1/x.png' }),
    'invalid_value',
    'messages.0.content.0.source.url',
  ],
  [
    'an image is by URL where the provider must not fetch',
    image({ type: 'url', url: 'https://example.com/x.png' }),
    'unsupported_value',
    'messages.0.content.0.source.url',
  ],
  [
    'an image is not base64',
    image({ type: 'base64', media_type: 'image/png', data: '<svg>' }),
    'invalid_value',
    'messages.0.content.0.source.data',
  ],
  [
    'an image is a stored file',
    image({ type: 'file', file_id: 'file_1' }),
    'unsupported_value',
    'messages.0.content.0.source.file_id',
  ],
  [
    'an unknown block has a private address under another name',
    { model: 'test/claude', ...user({ type: 'a', image_url: { url: 'http://169.254.169.254/latest' } }) },
    'invalid_value',
    'messages.0.content.0.image_url.url',
  ],
  [
    'an unknown block has a private address in its input',
    { model: 'test/claude', ...user({ type: 'a', input: { fileUri: 'file:///etc/passwd' } }) },
    'invalid_value',
    'messages.0.content.0.input.fileUri',
  ],
  [
    'a text block also has a private address',
    { model: 'test/claude', ...user({ type: 'text', text: 'x', source: { type: 'url', url: 'https://10.0.0.1' } }) },
    'invalid_value',
    'messages.0.content.0.source.url',
  ],
  [
    'an unknown block names a stored file',
    { model: 'test/claude', ...user({ type: 'container_upload', file_id: 'file_1' }) },
    'unsupported_value',
    'messages.0.content.0.file_id',
  ],
  [
    'the context would be rewritten',
    { context_management: { edits: [{ type: 'compact_20260112' }] } },
    'unsupported_value',
    'context_management.edits.0.type',
  ],
]

for (const [name, more, code, param] of BAD) {
  test(`400 when ${name}`, async () => {
    const calls = upstream.journal.length

    const answer = await askMessages(gateway, secret, { ...plain(), ...more })

    const error = answer.body.error as Fields
    assert.deepEqual([answer.status, error.code, error.param], [400, code, param], answer.text)
    assert.deepEqual([answer.body.type, error.type], ['error', 'invalid_request_error'])
    assert.equal(answer.body.request_id, answer.headers['x-request-id'])
    assert.equal(upstream.journal.length, calls)
  })
}

test('each status has the type that Anthropic gives it', async () => {
  const body = plain()
  const poor = await gateway.createKey({ credits: '0' })
  const blind = await gateway.createKey({ scopes: ['models.read'] })
  const spent = await gateway.createKey({ daily_limit: 1 })
  await gateway.get('/v1/models', spent.secret)
  upstream.next({ status: 503 })

  const answers = [
    await askMessages(gateway, `svc_live_${'x'.repeat(43)}`, body),
    await askMessages(gateway, poor.secret, body),
    await askMessages(gateway, blind.secret, body),
    await askMessages(gateway, secret, { ...body, model: 'none' }),
    await askMessages(gateway, spent.secret, body),
    await askMessages(gateway, secret, body),
    await askMessages(gateway, secret, body, {}, '/v1/messages/batches'),
    await askMessages(gateway, secret, body, { authorization: 'Bearer another' }),
  ]

  assert.deepEqual(
    answers.map(({ status, body: { type, error } }) => [status, type, (error as Fields).type, (error as Fields).code]),
    [
      [401, 'error', 'authentication_error', 'invalid_api_key'],
      [402, 'error', 'billing_error', 'insufficient_credits'],
      [403, 'error', 'permission_error', 'insufficient_scope'],
      [404, 'error', 'not_found_error', 'model_not_found'],
      [429, 'error', 'rate_limit_error', 'daily_limit_exceeded'],
      [503, 'error', 'overloaded_error', 'provider_unavailable'],
      [404, 'error', 'not_found_error', 'not_found'],
      [400, 'error', 'invalid_request_error', 'duplicate_authorization'],
    ],
  )
})

test('a body that is too large is refused by its announced length', async () => {
  using connection = await openRaw(gateway.port)

  connection.send(
    `POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${secret}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${17 * 1024 * 1024}\r\n\r\n{`,
  )
  await connection.closed(10_000)

  assert.match(String(connection.received), /^HTTP\/1\.1 413 /)
  assert.match(String(connection.received), /"type":"error","error":\{"type":"request_too_large"/)
})

test('an explicit null means absent', async () => {
  const nothing = { system: null, tools: null, thinking: null, metadata: null, stop_sequences: null, tool_choice: null }
  const content = [{ type: 'text', text: 'Say hello', cache_control: null }]

  const answer = await askMessages(gateway, secret, { ...plain(), ...nothing, messages: [{ role: 'user', content }] })

  assert.equal(answer.status, 200, answer.text)
})

function plain(): Fields {
  return { model: 'test/m1', max_tokens: 512, messages: [{ role: 'user', content: 'Say hello' }] }
}

const WORDS: readonly (readonly [Fields, string])[] = [
  [{ messages: 'Hello' }, 'messages must be an array.'],
  [{ messages: [] }, 'messages must not be empty.'],
  [{ temperature: 2 }, 'temperature must be at most 1.'],
  [{ stream: 'yes' }, 'stream must be true or false.'],
  [{ service_tier: 'gold' }, 'service_tier must be one of auto, standard_only.'],
]
for (const [fields, words] of WORDS) {
  test(`the message is: ${words}`, async () => {
    const answer = await askMessages(gateway, secret, { model: 'test/m1', max_tokens: 10, ...user(), ...fields })

    assert.deepEqual([answer.status, (answer.body.error as Fields).message], [400, words])
  })
}

test('a base URL with one /v1 too many, or without it, is answered with what is wrong', async () => {
  const twice = await askMessages(gateway, secret, {}, {}, '/v1/v1/messages')
  const without = await askMessages(gateway, secret, {}, {}, '/messages')

  const message = (answer: typeof twice) => String((answer.body.error as Fields).message)
  assert.deepEqual([twice.status, without.status], [404, 404])
  assert.match(message(twice), /base URL to the gateway without \/v1/)
  assert.match(message(without), /The API is under \/v1/)
})
