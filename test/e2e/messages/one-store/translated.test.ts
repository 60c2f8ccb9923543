// A Messages call to a provider of another dialect: tools, images, documents and reasoning are translated both ways, and what
// cannot be translated is refused or goes to a provider that speaks Messages.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { dialectConfig } from '../../../support/dialects.ts'
import { openFixture, warmTokenizer } from '../../../support/fixture.ts'
import { askMessages, eventsOf, type Fields } from '../../../support/messages.ts'
import { standardModel } from '../../../support/standard-config.ts'
import { settledRow } from '../../../support/usage.ts'

const { gateway, upstream } = await openFixture(url => ({
  ...dialectConfig(url),
  models: [
    standardModel({ input_modalities: ['text', 'image', 'file'], media_max_tokens: 1000 }),
    standardModel({ id: 'test/reasoner', targets: [{ provider: 'up', model: 'o3' }] }),
    standardModel({ id: 'test/claude', targets: [{ provider: 'claude', model: 'm1' }] }),
    standardModel({
      id: 'test/both',
      targets: [
        { provider: 'up', model: 'm1', priority: 0 },
        { provider: 'claude', model: 'c1', priority: 1 },
      ],
    }),
    standardModel({
      id: 'test/back',
      targets: [
        { provider: 'claude', model: 'c1', priority: 0 },
        { provider: 'up', model: 'm1', priority: 1 },
      ],
    }),
  ],
}))
await warmTokenizer({ gateway, upstream })
const { secret } = await gateway.createKey({ rpm_limit: 1_000_000 })
after(() => upstream.reset())

const TOOL = { name: 'weather', description: 'The weather.', input_schema: { type: 'object', properties: {} } }

test('a conversation with tools, an image and reasoning becomes a chat', async () => {
  const answer = await ask({
    system: [
      { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'Be kind.' },
    ],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?', cache_control: { type: 'ephemeral' } },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' },
            title: 'a.pdf',
          },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Words.' }, title: 'Notes' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Oslo' } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            is_error: true,
            content: [
              { type: 'text', text: 'no sky' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            ],
          },
          { type: 'text', text: 'Go on.' },
        ],
      },
    ],
    tools: [TOOL],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    stop_sequences: ['END'],
    temperature: 0.5,
    top_k: 5,
    metadata: { user_id: 'u1' },
  })

  const { user, ...body } = upstream.journal.at(-1)!.body as Record<string, unknown>
  assert.equal(answer.status, 200, answer.text)
  assert.match(String(user), /^[\w-]{43}$/)
  assert.deepEqual(body, {
    model: 'm1',
    max_tokens: 512,
    messages: [
      {
        role: 'system',
        content: [
          { type: 'text', text: 'Be brief.' },
          { type: 'text', text: 'Be kind.' },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERg==', filename: 'a.pdf' } },
          { type: 'text', text: 'Notes\nWords.' },
        ],
      },
      {
        role: 'assistant',
        content: 'I look.',
        reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', signature: 'c2ln', index: 0 }],
        tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'Error: no sky' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'text', text: 'Go on.' },
        ],
      },
    ],
    tools: [
      { type: 'function', function: { name: 'weather', description: 'The weather.', parameters: TOOL.input_schema } },
    ],
    tool_choice: 'required',
    parallel_tool_calls: false,
    stop: ['END'],
    temperature: 0.5,
    top_k: 5,
  })
})

test('reasoning, text and tool calls come back as blocks, in JSON and as events', async () => {
  const plan = {
    reasoning: ['Let me', ' see'],
    words: ['I', ' look'],
    toolCalls: [call('a', 'Oslo'), call('b', 'Rome')],
  }
  upstream.next(plan, plan)

  const json = await ask({ tools: [TOOL] })
  const stream = await ask({ tools: [TOOL], stream: true })

  const content = [
    { type: 'thinking', thinking: 'Let me see', signature: '' },
    { type: 'text', text: 'I look' },
    { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Oslo' } },
    { type: 'tool_use', id: 'b', name: 'weather', input: { city: 'Rome' } },
  ]
  assert.deepEqual((json.body.content as Fields[]).map(bare), content)
  assert.equal(json.body.stop_reason, 'tool_use')
  assert.deepEqual(assembled(stream.text), content)
  const kinds = eventsOf(stream.text).map(({ type }) => type)
  assert.deepEqual(
    [kinds[0], kinds.at(-2), kinds.at(-1), kinds.filter(kind => kind === 'content_block_stop').length],
    ['message_start', 'message_delta', 'message_stop', 4],
  )
  assert.partialDeepStrictEqual(eventsOf(stream.text).at(-2)?.delta, { stop_reason: 'tool_use', stop_sequence: null })
})

test('the reason to stop is translated', async () => {
  const reasons = { stop: 'end_turn', length: 'max_tokens', content_filter: 'refusal', odd: 'end_turn' }
  for (const [finishReason, expected] of Object.entries(reasons)) {
    upstream.next({ finishReason }, { finishReason })

    const json = await ask({})
    const stream = await ask({ stream: true })

    const delta = eventsOf(stream.text).at(-2)?.delta as { stop_reason: string }
    assert.deepEqual([json.body.stop_reason, delta.stop_reason], [expected, expected])
  }
})

test('a thinking budget becomes an effort for models that reason, and is named as ignored for others', async () => {
  const thinking = { type: 'enabled', budget_tokens: 2048 }

  const reasoner = await ask({ model: 'test/reasoner', max_tokens: 4000, thinking })
  const plain = await ask({ max_tokens: 4000, thinking })

  const [first, second] = upstream.journal.slice(-2).map(entry => entry.body as Record<string, unknown>)
  assert.deepEqual([first?.reasoning_effort, second?.reasoning_effort], ['low', undefined])
  assert.deepEqual(
    [reasoner.headers['x-svc-ignored-fields'], plain.headers['x-svc-ignored-fields']],
    [undefined, 'thinking'],
  )
})

test('an output format becomes a JSON schema', async () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }

  await ask({ output_config: { format: { type: 'json_schema', schema } } })

  const { response_format: format } = upstream.journal.at(-1)!.body as { response_format: unknown }
  assert.deepEqual(format, { type: 'json_schema', json_schema: { name: 'output', schema, strict: true } })
})

test('what only Anthropic can express goes to a provider that speaks it, past one that does not', async () => {
  const content = [
    { type: 'search_result', source: 'https://x', title: 'T', content: [{ type: 'text', text: 'found' }] },
  ]

  const both = await ask({ model: 'test/both', messages: [{ role: 'user', content }] })
  const none = await ask({ messages: [{ role: 'user', content }] })

  assert.deepEqual([both.status, both.headers['x-svc-provider']], [200, 'claude'])
  assert.deepEqual((upstream.journal.at(-1)!.body as Fields).messages, [{ role: 'user', content }])
  assert.deepEqual(
    [none.status, codeOf(none.body), paramOf(none.body)],
    [400, 'unsupported_value', 'messages.0.content.0.type'],
  )
})

test('before the first content a failure goes to a provider of another dialect, in both directions', async () => {
  for (const [model, served] of [
    ['test/both', 'claude'],
    ['test/back', 'up'],
  ] as const) {
    for (const stream of [false, true]) {
      upstream.next({ status: 500 })

      const answer = await ask({ model, stream })

      const row = await settledRow(gateway, answer.headers['x-request-id'])
      assert.deepEqual([answer.status, answer.headers['x-svc-provider'], row.attempts.length], [200, served, 2])
      const text = stream ? assembled(answer.text) : answer.body.content
      assert.equal((text as [{ text: string }])[0].text, 'Hello there, how can I help you today?')
    }
  }
})

test('fallback models and routing preferences work as in a chat', async () => {
  upstream.next({ status: 500 })

  const answer = await ask({ models: ['test/claude'], provider: { order: ['up'] } })
  const excluded = await ask({ provider: { only: ['claude'] } })

  assert.deepEqual([answer.status, answer.body.model, answer.headers['x-svc-provider']], [200, 'test/claude', 'claude'])
  assert.deepEqual([excluded.status, codeOf(excluded.body)], [400, 'unsupported_value'])
  assert.equal((upstream.journal.at(-1)!.body as Fields).models, undefined)
})

test('the tokenizer counts where the provider has no count', async () => {
  const answer = await askMessages(
    gateway,
    secret,
    { model: 'test/m1', messages: [{ role: 'user', content: 'Say hello' }] },
    {},
    '/v1/messages/count_tokens',
  )

  assert.deepEqual([answer.status, answer.body], [200, { input_tokens: 9 }])
})

async function ask(more: Fields) {
  const body = { model: 'test/m1', max_tokens: 512, messages: [{ role: 'user', content: 'Say hello' }], ...more }
  return askMessages(gateway, secret, body)
}

function call(id: string, city: string) {
  return { id, name: 'weather', arguments: JSON.stringify({ city }) }
}

// The blocks of a stream, as a client puts them together.
function assembled(raw: string): readonly Fields[] {
  const blocks: Record<string, unknown>[] = []
  for (const event of eventsOf(raw)) {
    const index = event.index as number
    if (event.type === 'content_block_start') blocks[index] = { ...(event.content_block as object), json: '' }
    const block = blocks[index]
    const delta = (event.delta ?? {}) as Record<string, string>
    if (event.type !== 'content_block_delta' || block === undefined) continue
    if (delta.text !== undefined) block.text = `${block.text}${delta.text}`
    if (delta.thinking !== undefined) block.thinking = `${block.thinking}${delta.thinking}`
    if (delta.partial_json !== undefined) block.json = `${block.json}${delta.partial_json}`
  }
  return blocks.map(({ json, ...block }) => bare(json === '' ? block : { ...block, input: JSON.parse(String(json)) }))
}

// Without the fields that every block of its type has.
function bare({ citations: _, caller: __, ...block }: Fields): Fields {
  return block
}

function codeOf(body: Fields): unknown {
  return (body.error as Fields).code
}

function paramOf(body: Fields): unknown {
  return (body.error as Fields).param
}
