// What agents send to a provider that knows only chat completions: functions, namespaces, custom tools and reasoning become a
// chat, and come back under the caller's own names.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import { type Event, eventsOf, respond, typesOf } from '../../../support/responses.ts'
import { assertResponse, assertResponseEvent } from '../../../support/schemas.ts'
import type { JournalEntry } from '../../../support/upstream-journal.ts'

const { gateway, upstream } = await openFixture()
const { secret: key } = await gateway.createKey({ credits: '1000' })

const PARAMETERS = { type: 'object', properties: { target: { type: 'string' } } }
const EXEC = { type: 'function', name: 'exec', strict: false, parameters: PARAMETERS }
const AGENTS = {
  type: 'namespace',
  name: 'agents',
  description: 'Agents',
  tools: [
    { type: 'function', name: 'spawn', parameters: PARAMETERS },
    { type: 'function', name: `close_${'very_'.repeat(12)}long`, parameters: PARAMETERS },
  ],
}
const PATCH = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Patches files.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "*** Begin"' },
}
const WEB = { type: 'web_search', external_web_access: true }

type Sent = {
  readonly messages: readonly Record<string, unknown>[]
  readonly tools: readonly { readonly function: { readonly name: string; readonly description?: string } }[]
  readonly [field: string]: unknown
}

function sent(): Sent {
  return (upstream.journal.at(-1) as JournalEntry).body as Sent
}

// Of events that have the vendor's types.
function itemsOf(events: readonly Event[]): readonly Record<string, unknown>[] {
  for (const event of events) assertResponseEvent(event)
  const { output } = (events.at(-1) as Event).response as unknown as { output: Record<string, unknown>[] }
  return output
}

test('tools are flattened, custom tools become functions, and a provider’s own tools are left out and named', async () => {
  const answer = await respond(gateway, { tools: [EXEC, AGENTS, PATCH, WEB], tool_choice: 'auto' }, { key })

  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers['x-svc-ignored-fields'], 'tools.web_search')
  const names = sent().tools.map(tool => tool.function.name)
  assert.deepEqual([names[0], names[1], names[3]], ['exec', 'agents__spawn', 'apply_patch'])
  assert.ok(names.every(name => /^[\w-]{1,64}$/.test(name)))
  assert.equal(new Set(names).size, 4)
  assert.match(sent().tools[3]?.function.description ?? '', /Patches files[\s\S]*lark grammar[\s\S]*Begin/)
  assert.deepEqual(answer.body.tools, [EXEC, AGENTS, PATCH])
})

test('a call of a flattened function comes back with its name and namespace, as JSON and as a stream', async () => {
  await respond(gateway, { tools: [AGENTS] }, { key })
  const [, long = ''] = sent().tools.map(tool => tool.function.name)
  const toolCalls = [
    { id: 'call_a', name: 'agents__spawn', arguments: '{"target":"a"}' },
    { id: 'call_b', name: long, arguments: '{"target":"b"}' },
  ]
  upstream.next({ toolCalls }, { toolCalls })

  const whole = await respond(gateway, { tools: [AGENTS] }, { key })
  const stream = await respond(gateway, { tools: [AGENTS], stream: true }, { key })

  const events = eventsOf(stream.text)
  for (const output of [whole.body.output as unknown as Record<string, unknown>[], itemsOf(events)]) {
    assert.deepEqual(
      output.map(({ type, call_id, namespace, name, arguments: given, status }) => [
        ...[type, call_id, namespace],
        ...[name, given, status],
      ]),
      [
        ['function_call', 'call_a', 'agents', 'spawn', '{"target":"a"}', 'completed'],
        ['function_call', 'call_b', 'agents', AGENTS.tools[1]?.name, '{"target":"b"}', 'completed'],
      ],
    )
  }
  const call = [
    'response.output_item.added',
    'response.function_call_arguments.delta',
    'response.function_call_arguments.done',
    'response.output_item.done',
  ]
  const begun = ['response.created', 'response.in_progress']
  assert.deepEqual(typesOf(events), [...begun, ...call, ...call, 'response.completed'])
})

test('a call of a custom tool comes back with its plain input', async () => {
  const input = '*** Begin\n"quoted"'
  const toolCalls = [{ id: 'call_a', name: 'apply_patch', arguments: JSON.stringify({ input }) }]
  upstream.next({ toolCalls }, { toolCalls })

  const whole = await respond(gateway, { tools: [PATCH] }, { key })
  assertResponse(whole.body)
  const stream = await respond(gateway, { tools: [PATCH], stream: true }, { key })

  const events = eventsOf(stream.text)
  for (const output of [whole.body.output as unknown as Record<string, unknown>[], itemsOf(events)]) {
    const [{ type, name, input: written } = {}] = output
    assert.deepEqual([output.length, type, name, written], [1, 'custom_tool_call', 'apply_patch', input])
  }
  const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta')
  assert.equal(deltas.map(({ delta }) => String(delta)).join(''), input)
})

test('a turn of the model becomes one message, with its results after it', async () => {
  const history = [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Do it' }] },
    { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'I will.' }] },
    { type: 'function_call', call_id: 'c1', name: 'exec', arguments: '{"target":"x"}' },
    { type: 'function_call', call_id: 'c2', name: 'spawn', namespace: 'agents', arguments: '{}' },
    { type: 'custom_tool_call', call_id: 'c3', name: 'apply_patch', input: 'text' },
    { type: 'function_call_output', call_id: 'c1', output: 'one' },
    { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'two' }] },
    { type: 'custom_tool_call_output', call_id: 'c3', output: 'three' },
    { role: 'user', content: 'And now?' },
  ]

  const answer = await respond(gateway, { input: history, tools: [EXEC, AGENTS, PATCH] }, { key })

  assert.equal(answer.status, 200, answer.text)
  const called = (id: string, name: string, given: string) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  })
  assert.deepEqual(sent().messages, [
    { role: 'user', content: [{ type: 'text', text: 'Do it' }] },
    {
      role: 'assistant',
      content: 'I will.',
      tool_calls: [
        called('c1', 'exec', '{"target":"x"}'),
        called('c2', 'agents__spawn', '{}'),
        called('c3', 'apply_patch', '{"input":"text"}'),
      ],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'one' },
    { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'two' }] },
    { role: 'tool', tool_call_id: 'c3', content: 'three' },
    { role: 'user', content: 'And now?' },
  ])
})

test('reasoning is a summary, and its signature comes back with the next request', async () => {
  const details = [{ type: 'reasoning.text', text: 'I think.', signature: 'signed', index: 0 }]
  const message = { role: 'assistant', content: 'Hello', reasoning_content: 'I think.', reasoning_details: details }
  const completion = { id: 'x', choices: [{ index: 0, message, finish_reason: 'stop' }] }
  const frames = [
    {
      choices: [
        { index: 0, delta: { reasoning_content: 'I th', reasoning_details: [{ ...details[0], text: 'I th' }] } },
      ],
    },
    {
      choices: [
        { index: 0, delta: { reasoning_content: 'ink.', reasoning_details: [{ ...details[0], text: 'ink.' }] } },
      ],
    },
    { choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }] },
  ]
  upstream.next(
    { body: JSON.stringify(completion) },
    { rawFrames: [...frames.map(frame => `data: ${JSON.stringify(frame)}\n\n`), 'data: [DONE]\n\n'] },
  )
  const include = ['reasoning.encrypted_content']

  const whole = await respond(gateway, { include }, { key })
  const stream = await respond(gateway, { include, stream: true }, { key })

  const streamed = itemsOf(eventsOf(stream.text))
  for (const output of [whole.body.output as unknown as Record<string, unknown>[], streamed]) {
    assert.deepEqual([output[0]?.type, output[0]?.summary], ['reasoning', [{ type: 'summary_text', text: 'I think.' }]])
    await respond(gateway, { input: [...output, { role: 'user', content: 'Go on' }] }, { key })
    const [turn] = sent().messages
    assert.deepEqual(turn, message)
  }
})

test('a JSON schema, a limit and sampling are those of a chat', async () => {
  const format = { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true }

  await respond(
    gateway,
    { text: { format }, max_output_tokens: 77, temperature: 0.5, top_p: 0.9, reasoning: { effort: 'low' } },
    { key },
  )

  const { name, schema, strict } = format
  const { response_format, max_tokens, temperature, top_p, reasoning_effort } = sent()
  assert.deepEqual(response_format, { type: 'json_schema', json_schema: { name, schema, strict } })
  assert.deepEqual([max_tokens, temperature, top_p, reasoning_effort], [77, 0.5, 0.9, 'low'])
})

test('an answer cut at its limit is incomplete, as JSON and as a stream', async () => {
  const whole = await respond(gateway, { max_output_tokens: 3 }, { key })
  const stream = await respond(gateway, { max_output_tokens: 3, stream: true }, { key })

  const last = eventsOf(stream.text).at(-1)
  assert.equal(last?.type, 'response.incomplete')
  for (const response of [whole.body, last?.response])
    assert.deepEqual([response?.status, response?.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }])
})

test('a refusal of the model is a part of its own', async () => {
  const message = { role: 'assistant', content: null, refusal: 'I cannot do that.' }
  const frames = [{ refusal: 'I cannot' }, { refusal: ' do that.' }].map(delta => ({ choices: [{ index: 0, delta }] }))
  const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
  upstream.next(
    { body: JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }) },
    { rawFrames: [...[...frames, last].map(frame => `data: ${JSON.stringify(frame)}\n\n`), 'data: [DONE]\n\n'] },
  )

  const whole = await respond(gateway, {}, { key })
  const stream = await respond(gateway, { stream: true }, { key })

  assertResponse(whole.body)
  const streamed = itemsOf(eventsOf(stream.text))
  for (const [item] of [whole.body.output as unknown as Record<string, unknown>[], streamed])
    assert.deepEqual(item?.content, [{ type: 'refusal', refusal: message.refusal }])
})
