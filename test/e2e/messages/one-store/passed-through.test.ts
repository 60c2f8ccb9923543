// A Messages call to a provider that speaks Messages: request and answer pass through unchanged, except for id, model, usage and
// identifiers, and what costs extra is left out.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startGateway } from '../../../support/gateway.ts'
import { askMessages, eventsOf, MESSAGE_START, messageEnd, streamOf } from '../../../support/messages.ts'
import { standardModel } from '../../../support/standard-config.ts'
import { nano, settledRow } from '../../../support/usage.ts'
import { jsonAnswer, startVendor } from '../../../support/vendor.ts'

const vendor = await startVendor()
const gateway = await startGateway({
  config: {
    providers: [{ id: 'claude', kind: 'anthropic', base_url: `${vendor.origin}/v1`, api_key: 'vendor-secret' }],
    models: [
      standardModel({
        id: 'test/claude',
        max_output_tokens: 64_000,
        pricing: {
          prompt: '0.000003',
          completion: '0.000015',
          input_cache_read: '0.0000003',
          input_cache_write: '0.00000375',
        },
        input_modalities: ['text', 'image', 'file'],
        media_max_tokens: 2000,
        targets: [{ provider: 'claude', model: 'claude-real' }],
      }),
    ],
  },
})
after(async () => {
  const { ok, output } = await gateway.audit()
  await gateway[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
  assert.ok(ok, JSON.stringify(output))
})
const { secret } = await gateway.createKey()

// What Claude Code sends, with a history that only Anthropic can read.
const CONTENT = {
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Look', cache_control: { type: 'ephemeral', ttl: '5m' } }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' },
        { type: 'redacted_thinking', data: 'ZW5jcnlwdGVk' },
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x', file_id: 'a word' } },
        {
          type: 'web_search_tool_result',
          tool_use_id: 'srvtoolu_1',
          content: [{ type: 'web_search_result', url: 'x' }],
        },
        { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Oslo', n: 1 } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'clear' }], is_error: true },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
        { type: 'search_result', source: 'https://x', title: 'T', content: [{ type: 'text', text: 'found' }] },
      ],
    },
  ],
  tools: [
    { name: 'weather', input_schema: { type: 'object', properties: {} }, cache_control: { type: 'ephemeral' } },
    { type: 'bash_20250124', name: 'bash' },
  ],
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  stop_sequences: ['a', 'b', 'c', 'd', 'e'],
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  output_config: { effort: 'medium' },
}
const THINKING = { type: 'enabled', budget_tokens: 2048 }

test('the request arrives as it was sent, with our model, credential and identifiers', async () => {
  vendor.next(jsonAnswer(message([{ type: 'text', text: 'Hi' }])))

  const answer = await askMessages(
    gateway,
    secret,
    {
      model: 'test/claude',
      max_tokens: 4096,
      metadata: { user_id: 'user_canary', team: 'x' },
      thinking: THINKING,
      ...CONTENT,
    },
    { 'anthropic-beta': 'interleaved-thinking-2025-05-14, mcp-client-2025-04-04,context-management-2025-06-27' },
  )

  const sent = vendor.requests.at(-1)!
  const { metadata, ...body } = sent.body
  assert.equal(answer.status, 200, answer.text)
  assert.equal(sent.path, '/v1/messages')
  assert.deepEqual(body, { ...CONTENT, thinking: THINKING, model: 'claude-real', max_tokens: 4096 })
  assert.match(String((metadata as { user_id: string }).user_id), /^[\w-]{43}$/)
  assert.deepEqual(
    [sent.headers['x-api-key'], sent.headers['anthropic-version'], sent.headers['anthropic-beta']],
    ['vendor-secret', '2023-06-01', 'interleaved-thinking-2025-05-14,context-management-2025-06-27'],
  )
  assert.equal(answer.headers['x-svc-ignored-fields'], 'metadata.team, anthropic-beta.mcp-client-2025-04-04')
})

test('a JSON answer passes unchanged but for id, model and usage, in the meaning of Anthropic', async () => {
  const content = [
    { type: 'thinking', thinking: 'Let me see.', signature: 'c2ln' },
    { type: 'text', text: 'Hi', citations: null },
    { type: 'tool_use', id: 'toolu_9', name: 'weather', input: { city: 'Oslo' }, caller: { type: 'direct' } },
    { type: 'block_of_the_future', payload: { a: [1, { b: null }] } },
  ]
  vendor.next(jsonAnswer({ ...message(content), stop_reason: 'tool_use', container: null }))

  const answer = await askMessages(gateway, secret, plain())

  const row = await settledRow(gateway, answer.headers['x-request-id'])
  const { usage, ...body } = answer.body
  assert.deepEqual(body, {
    id: `msg_${answer.headers['x-request-id']}`,
    type: 'message',
    role: 'assistant',
    model: 'test/claude',
    content,
    stop_reason: 'tool_use',
    stop_sequence: null,
    container: null,
  })
  assert.partialDeepStrictEqual(usage, {
    input_tokens: 20,
    cache_creation_input_tokens: 100,
    cache_read_input_tokens: 1000,
    output_tokens: 50,
    output_tokens_details: { thinking_tokens: 30 },
    service_tier: 'standard',
    cost: Number(row.cost),
  })
  assert.deepEqual(
    [row.prompt_tokens, row.cached_tokens, row.cache_write_tokens, row.completion_tokens, row.reasoning_tokens],
    [1120, 1000, 100, 50, 30],
  )
  assert.equal(nano(row.cost), 20n * 3000n + 1000n * 300n + 100n * 3750n + 50n * 15_000n)
  assert.deepEqual([row.upstream_id, row.finish_reason], ['msg_vendor', 'tool_calls'])
})

test('the events of a stream pass unchanged, signatures and unknown ones too, and the last two wait for the cost', async () => {
  const middle = [
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'tool_use', id: 't1', name: 'weather', input: {} },
    },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"city":' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '"Oslo"}' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'event_of_the_future', index: 7, more: [1] },
    { type: 'content_block_start', index: 2, content_block: { type: 'block_of_the_future', payload: 'x' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'delta_of_the_future', payload: 'y' } },
    { type: 'content_block_stop', index: 2 },
  ]
  const end = messageEnd({ output_tokens: 40, input_tokens: 20 }, 'tool_use')
  vendor.next(streamOf([MESSAGE_START, { type: 'ping' }], middle, end))

  const answer = await askMessages(gateway, secret, { ...plain(), stream: true })

  const row = await settledRow(gateway, answer.headers['x-request-id'])
  const events = eventsOf(answer.text)
  const [start, ...others] = events
  assert.deepEqual(start, {
    type: 'message_start',
    message: {
      ...(MESSAGE_START.message as object),
      id: `msg_${answer.headers['x-request-id']}`,
      model: 'test/claude',
    },
  })
  assert.deepEqual(others.slice(0, -2), middle)
  assert.partialDeepStrictEqual(others.at(-2), {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: {
      input_tokens: 20,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 1000,
      output_tokens: 40,
      cost: Number(row.cost),
    },
  })
  assert.deepEqual(others.at(-1), { type: 'message_stop' })
  assert.equal(answer.trailers['x-svc-cost'], row.cost)
  assert.deepEqual([row.prompt_tokens, row.completion_tokens, row.usage_source], [1120, 40, 'upstream'])
})

test('tools that run at the provider are left out and named, and refused only if one is forced', async () => {
  const tools = [
    { type: 'web_search_20250305', name: 'web_search' },
    { type: 'code_execution_20250825', name: 'code_execution' },
    { type: 'not_yet_known_20280101', name: 'new' },
    { name: 'weather', input_schema: { type: 'object' } },
  ]
  vendor.next(jsonAnswer(message([{ type: 'text', text: 'Hi' }])))
  const served = await askMessages(gateway, secret, {
    ...plain(),
    tools,
    mcp_servers: [{ type: 'url', url: 'https://x' }],
    container: 'c',
  })
  const forced = await askMessages(gateway, secret, {
    ...plain(),
    tools,
    tool_choice: { type: 'tool', name: 'web_search' },
  })
  const onlyThose = await askMessages(gateway, secret, {
    ...plain(),
    tools: tools.slice(0, 3),
    tool_choice: { type: 'any' },
  })

  assert.deepEqual(vendor.requests.at(-1)!.body.tools, [{ name: 'weather', input_schema: { type: 'object' } }])
  assert.equal(
    served.headers['x-svc-ignored-fields'],
    'mcp_servers, container, tools.web_search_20250305, tools.code_execution_20250825, tools.not_yet_known_20280101',
  )
  for (const { status, body } of [forced, onlyThose])
    assert.deepEqual(
      [status, (body.error as { code: string; param: string }).code, (body.error as { param: string }).param],
      [400, 'unsupported_value', 'tool_choice'],
    )
})

test('a thinking budget never exceeds the maximum that was held', async () => {
  vendor.next(jsonAnswer(message([{ type: 'text', text: 'Hi' }])))

  await askMessages(gateway, secret, {
    ...plain(),
    max_tokens: 3000,
    thinking: { type: 'enabled', budget_tokens: 50_000 },
  })

  const { max_tokens, thinking } = vendor.requests.at(-1)!.body
  assert.deepEqual([max_tokens, thinking], [3000, { type: 'enabled', budget_tokens: 2999 }])
})

test('more results of tools than a chat may have messages pass through', async () => {
  vendor.next(jsonAnswer(message([{ type: 'text', text: 'Hi' }])))
  const ids = Array.from({ length: 3000 }, (_, index) => `toolu_${index}`)
  const messages = [
    { role: 'user', content: 'Go' },
    { role: 'assistant', content: ids.map(id => ({ type: 'tool_use', id, name: 'weather', input: {} })).slice(0, 100) },
    {
      role: 'user',
      content: ids.map((_, index) => ({ type: 'tool_result', tool_use_id: ids[index % 100], content: 'x' })),
    },
  ]

  const answer = await askMessages(gateway, secret, { ...plain(), messages })

  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(vendor.requests.at(-1)?.body.messages, messages)
})

test('count_tokens gives the count of the provider, costs nothing and has a row', async () => {
  vendor.next(jsonAnswer({ input_tokens: 4321 }))
  const { max_tokens: _, ...body } = { ...plain(), temperature: 0.5, metadata: { user_id: 'x' } }

  const answer = await askMessages(gateway, secret, body, {}, '/v1/messages/count_tokens?beta=true')

  const sent = vendor.requests.at(-1)!
  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.deepEqual([answer.status, answer.body], [200, { input_tokens: 4321 }])
  assert.deepEqual(
    [sent.path, sent.body],
    ['/v1/messages/count_tokens', { model: 'claude-real', messages: plain().messages }],
  )
  assert.deepEqual([row.cost, answer.headers['x-svc-cost']], ['0', '0'])
  assert.equal((row as unknown as { endpoint: string }).endpoint, 'messages.count_tokens')
})

test('count_tokens falls back to the tokenizer when the provider has no count', async () => {
  vendor.next({ status: 404, pieces: ['{}'] })

  const answer = await askMessages(gateway, secret, plain(), {}, '/v1/messages/count_tokens')

  // Exact once the tokenizer is loaded, by the bytes until then.
  assert.equal(answer.status, 200, answer.text)
  assert.ok([9, 12].includes(Number(answer.body.input_tokens)), answer.text)
})

test('models are listed in the shape of Anthropic when its version is named', async () => {
  const version = { 'anthropic-version': '2023-06-01' }

  const list = await gateway.get('/v1/models', secret, version)
  const one = await gateway.get('/v1/models/test/claude', secret, version)
  const none = await gateway.get('/v1/models/none', secret, version)
  const ours = await gateway.get('/v1/models', secret)

  const [entry] = list.body.data as unknown as [Record<string, unknown>]
  assert.deepEqual(
    [list.body.has_more, list.body.first_id, list.body.last_id, entry.type, entry.id, entry.max_tokens],
    [false, 'test/claude', 'test/claude', 'model', 'test/claude', 64_000],
  )
  assert.deepEqual(one.body, entry)
  assert.deepEqual([none.status, none.body.type, none.body.error?.type], [404, 'error', 'not_found_error'])
  assert.equal(ours.body.object, 'list')
})

function plain() {
  return { model: 'test/claude', max_tokens: 1024, messages: [{ role: 'user', content: 'Say hello' }] }
}

function message(content: readonly object[]): object {
  return {
    id: 'msg_vendor',
    type: 'message',
    role: 'assistant',
    model: 'claude-vendor',
    content,
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: 20,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 1000,
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 30 },
      service_tier: 'standard',
    },
  }
}
