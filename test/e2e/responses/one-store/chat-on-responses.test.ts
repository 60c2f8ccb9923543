// A chat caller on a provider whose model needs the Responses API: the request is translated, and the caller sees chat
// completions.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import { askMessages, eventsOf } from '../../../support/messages.ts'
import { answersAs, callItem, textItem, USAGE } from '../../../support/responses-upstream.ts'
import { assertChatCompletion, assertChunk } from '../../../support/schemas.ts'
import { standardModel, standardProvider } from '../../../support/standard-config.ts'
import { nano, settledRow } from '../../../support/usage.ts'

const { gateway, upstream } = await openFixture(url => ({
  providers: [
    standardProvider(url, { preset: 'openai' }),
    standardProvider(url, { id: 'only', api: 'responses' }),
    standardProvider(url, { id: 'plain' }),
  ],
  models: [
    standardModel({ targets: [{ provider: 'only', model: 'm1' }] }),
    standardModel({ id: 'gpt-5', targets: [{ provider: 'up', model: 'gpt-5' }] }),
    standardModel({ id: 'gpt-5.6', targets: [{ provider: 'up', model: 'gpt-5.6' }] }),
    standardModel({ id: 'gpt-5-codex', targets: [{ provider: 'up', model: 'gpt-5-codex' }] }),
    standardModel({ id: 'plain/gpt-5', targets: [{ provider: 'plain', model: 'gpt-5' }] }),
  ],
}))

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } } }
const TOOLS = [{ type: 'function', function: { name: 'weather', parameters: PARAMETERS } }]
const CHAT = '/v1/chat/completions'
const RESPONSES = '/v1/responses'

const ROUTES: readonly (readonly [what: string, body: object, path: string])[] = [
  ['tools with an effort', { model: 'gpt-5', tools: TOOLS, reasoning_effort: 'high' }, RESPONSES],
  ['tools without an effort', { model: 'gpt-5', tools: TOOLS }, CHAT],
  ['tools without reasoning', { model: 'gpt-5', tools: TOOLS, reasoning_effort: 'none' }, CHAT],
  ['an effort without tools', { model: 'gpt-5', reasoning_effort: 'high' }, CHAT],
  ['tools for a model that always reasons', { model: 'gpt-5.6', tools: TOOLS }, RESPONSES],
  ['a model that only Responses has', { model: 'gpt-5-codex' }, RESPONSES],
  ['several choices', { model: 'gpt-5', tools: TOOLS, reasoning_effort: 'high', n: 2 }, CHAT],
  ['a provider that has only chat completions', { model: 'plain/gpt-5', tools: TOOLS, reasoning_effort: 'high' }, CHAT],
  ['a provider that has only Responses', {}, RESPONSES],
]

for (const [what, body, path] of ROUTES) {
  test(`${what}: sent to ${path}`, async () => {
    if (path === RESPONSES) upstream.next(answersAs({ output: [textItem('Hello')] }))

    const answer = await gateway.chat(body)

    assert.equal(answer.status, 200, answer.text)
    assert.equal(upstream.journal.at(-1)?.path, path)
  })
}

const CONVERSATION = {
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      name: 'bob',
      content: [
        { type: 'text', text: 'Weather?', cache_control: { type: 'ephemeral' } },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      reasoning_details: [
        { type: 'reasoning.encrypted', format: 'openai-responses-v1', id: 'rs_1', data: 'gAAAA' },
        { type: 'reasoning.text', text: 'of another vendor', signature: 's' },
      ],
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'Sunny' },
  ],
  tools: TOOLS,
  tool_choice: { type: 'function', function: { name: 'weather' } },
  response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' }, strict: true } },
  max_tokens: 100,
  temperature: 0.5,
  reasoning_effort: 'low',
  verbosity: 'low',
  stop: ['END'],
  top_k: 5,
}

test('the request is translated with its tools, images, results and encrypted reasoning', async () => {
  upstream.next(answersAs({ output: [textItem('Hello')] }))

  const model = standardModel({ id: 'seeing', input_modalities: ['text', 'image'], media_max_tokens: 1000 })
  const seeing = { ...model, targets: [{ provider: 'plain', model: 'm1' }] }
  assert.equal(
    (await gateway.admin('POST', '/models', { ...seeing, targets: [{ provider: 'only', model: 'm1' }] })).status,
    201,
  )
  const answer = await gateway.chat({ model: 'seeing', ...CONVERSATION })

  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers['x-svc-ignored-fields'], 'stop, top_k, messages.name, messages.content.cache_control')
  assert.deepEqual(upstream.journal.at(-1)?.body, {
    model: 'm1',
    temperature: 0.5,
    input: [
      { type: 'message', role: 'system', content: 'Be brief.' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Weather?' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' },
        ],
      },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' },
      { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Rome"}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'Sunny' },
    ],
    tools: [{ type: 'function', name: 'weather', parameters: PARAMETERS, strict: false }],
    tool_choice: { type: 'function', name: 'weather' },
    text: {
      format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true },
      verbosity: 'low',
    },
    reasoning: { effort: 'low' },
    max_output_tokens: 100,
    store: false,
  })
})

const OUTPUT = [
  { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'I think.' }], encrypted_content: 'gAAAA' },
  textItem('Let me see.'),
  callItem('weather', '{"city":"Rome"}'),
]

test('a JSON answer is a chat completion with calls, reasoning and the usage of a chat', async () => {
  upstream.next(answersAs({ output: OUTPUT }))

  const answer = await gateway.chat({ tools: TOOLS })

  assertChatCompletion(answer.body)
  const { choices, usage } = answer.body as unknown as {
    choices: [{ message: Record<string, unknown>; finish_reason: string }]
    usage: { prompt_tokens: number; prompt_tokens_details: object; cost: number }
  }
  const [{ message, finish_reason }] = choices
  assert.equal(finish_reason, 'tool_calls')
  assert.deepEqual([message.content, message.reasoning_content], ['Let me see.', 'I think.'])
  assert.deepEqual(message.tool_calls, [
    { id: 'call_up_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
  ])
  assert.deepEqual([usage.prompt_tokens, usage.prompt_tokens_details], [20, { cached_tokens: 4 }])
  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.equal(nano(row.cost), 16n * 2500n + 4n * 1250n + 6n * 10_000n)
})

for (const atEnd of [false, true]) {
  const how = atEnd ? 'an answer that comes with the last event only' : 'a stream'
  test(`${how} is a stream of chat chunks`, async () => {
    upstream.next(answersAs({ output: OUTPUT, atEnd }))

    const stream = await gateway.openChat({ tools: TOOLS, stream_options: { include_usage: true } })
    const sse = await stream.rest()

    for (const chunk of sse.chunks) assertChunk(chunk)
    assert.equal(sse.content, 'Let me see.')
    assert.equal(sse.done, true)
    const calls = sse.chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
    assert.deepEqual([calls[0]?.id, calls[0]?.function?.name], ['call_up_1', 'weather'])
    assert.equal(calls.map(call => call.function?.arguments ?? '').join(''), '{"city":"Rome"}')
    const details = sse.chunks.flatMap(({ choices }) => reasoningOf(choices[0]?.delta))
    assert.deepEqual(details, [
      { type: 'reasoning.encrypted', format: 'openai-responses-v1', id: 'rs_1', data: 'gAAAA' },
    ])
    assert.equal(sse.chunks.at(-2)?.choices[0]?.finish_reason, 'tool_calls')
    assert.equal(sse.chunks.at(-1)?.usage?.completion_tokens, 6)
  })

  test(`${how} is a message with its blocks to a caller of Messages`, async () => {
    upstream.next(answersAs({ output: OUTPUT, atEnd }))
    const { secret } = await gateway.createKey()

    const body = { model: 'test/m1', max_tokens: 100, stream: true, messages: [{ role: 'user', content: 'Weather?' }] }
    const events = eventsOf((await askMessages(gateway, secret, body)).text)

    const deltas = events.map(({ delta }) => (delta ?? {}) as Record<string, unknown>)
    assert.equal(deltas.map(({ text = '' }) => text).join(''), 'Let me see.')
    assert.equal(deltas.map(({ partial_json = '' }) => partial_json).join(''), '{"city":"Rome"}')
    assert.ok(deltas.some(({ stop_reason }) => stop_reason === 'tool_use'))
  })
}

test('a refusal that comes with the last event only reaches the caller', async () => {
  const content = [{ type: 'refusal', refusal: 'I will not.' }]
  upstream.next(answersAs({ output: [{ ...textItem(''), content }], atEnd: true }))

  const sse = await (await gateway.openChat({})).rest()

  assert.equal(sse.chunks.map(({ choices }) => choices[0]?.delta.refusal ?? '').join(''), 'I will not.')
})

test('an answer without deltas is not repeated by the last event', async () => {
  const item = textItem('Hello')
  const response = { id: 'resp_1', status: 'completed', output: [item], usage: USAGE }
  const events = [
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  ]
  upstream.next({ rawFrames: events.map(event => `data: ${JSON.stringify(event)}\n\n`) })

  const sse = await (await gateway.openChat({})).rest()

  assert.equal(sse.content, 'Hello')
})

function reasoningOf(delta: object | undefined): readonly unknown[] {
  const { reasoning_details: details = [] } = (delta ?? {}) as { readonly reasoning_details?: readonly unknown[] }
  return details
}
