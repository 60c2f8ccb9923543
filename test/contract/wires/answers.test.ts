// The contract of every provider protocol: the same request gives the same answer in OpenAI's format. The vendors are
// simulated by @copilotkit/aimock, a third-party mock that journals what it understood.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Fixture } from '@copilotkit/aimock'
import { startAimock } from '../../support/aimock.ts'
import { startGateway } from '../../support/gateway.ts'
import type { Loose } from '../../support/http-call.ts'
import { assertRefusal } from '../../support/refusal.ts'
import { assertChatCompletion, assertChunk } from '../../support/schemas.ts'
import type { StreamChunk } from '../../support/sse.ts'
import { settledRow } from '../../support/usage.ts'
import { WIRES, type Wire, wiresConfig } from '../../support/wires.ts'

const TEXT = 'The quick brown fox jumps over the lazy dog.'
const usage = { prompt_tokens: 12, completion_tokens: 10, total_tokens: 22 }
const weather = { name: 'weather', arguments: '{"city":"Oslo","days":2}', id: 'call_1' }
const time = { name: 'time', arguments: '{"zone":"CET"}', id: 'call_2' }
const error = (status: number, message: string, more: object = {}) => ({
  error: { message, type: 'an_error' },
  status,
  ...more,
})
const FIXTURES: Fixture[] = [
  { match: { toolResultContains: 'minus four' }, response: { content: 'It is cold.', usage } },
  { match: { userMessage: 'say it' }, response: { content: TEXT, usage } },
  { match: { userMessage: 'say as JSON' }, response: { content: '{"city":"Oslo"}', usage } },
  { match: { userMessage: 'say too much' }, response: { content: TEXT, usage, finishReason: 'length' } },
  { match: { userMessage: 'call a tool' }, response: { toolCalls: [weather], usage } },
  { match: { userMessage: 'call two tools' }, response: { toolCalls: [weather, time], usage } },
  { match: { userMessage: 'think' }, response: { content: TEXT, reasoning: 'A fox, then a dog.', usage } },
  { match: { userMessage: 'be wrong' }, response: error(400, 'temperature is too hot, ask https://vendor.example/x') },
  { match: { userMessage: 'know me not' }, response: error(401, 'who are you') },
  { match: { userMessage: 'be limited' }, response: error(429, 'slow down', { retryAfter: 7 }) },
  { match: { userMessage: 'be busy' }, response: error(503, 'busy') },
  { match: { userMessage: 'fall over' }, response: error(500, 'oh no') },
]
const tools = [weather, time].map(({ name }) => ({
  type: 'function',
  function: { name, description: `the ${name}`, parameters: { type: 'object', properties: {} } },
}))

const GEMINI = [
  'odd',
  'logprobs',
  'parallel_tool_calls',
  'user',
  'session_id',
  'messages.name',
  'messages.content.cache_control',
]
const IGNORED: Readonly<Record<Wire['kind'], readonly string[]>> = {
  openai: ['odd'],
  anthropic: [...['odd', 'logprobs', 'seed', 'session_id', 'response_format', 'messages.name']],
  google: GEMINI,
  vertex: GEMINI,
  bedrock: [...['odd', 'logprobs', 'seed', 'top_k', 'user', 'session_id', 'response_format', 'messages.name']],
  cohere: GEMINI,
}

const aimock = await startAimock(FIXTURES)
const gateway = await startGateway({
  config: wiresConfig(aimock.url.replace(/\/v1$/, '')),
})
after(async () => {
  const { ok, output } = await gateway.audit()
  await gateway[Symbol.asyncDispose]()
  await aimock[Symbol.asyncDispose]()
  assert.ok(ok, `the audit found: ${JSON.stringify(output)}`)
})

for (const { kind, model } of WIRES) {
  const ask = (content: string, more: object = {}) =>
    gateway.chat({ model: `test/${kind}`, messages: [{ role: 'user', content }], max_tokens: 2000, ...more })
  const streamed = { stream: true, stream_options: { include_usage: true } }
  const understood = () => aimock.requests.at(-1)?.body as unknown as Loose & { readonly messages: readonly Loose[] }

  test(`${kind}: an answer as JSON`, async () => {
    const answer = await ask('say it')

    assert.equal(answer.status, 200, answer.text)
    assertChatCompletion(answer.body)
    const { choices, usage: counted } = answer.body as unknown as Completion
    assert.equal(choices[0]?.message.content, TEXT)
    assert.equal(choices[0]?.finish_reason, 'stop')
    assert.deepEqual(countsOf(counted), [12, 10, 22])
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.deepEqual([row.prompt_tokens, row.completion_tokens, row.usage_source], [12, 10, 'upstream'])
    assert.equal(answer.headers['x-svc-provider'], kind)
    assert.equal(answer.headers['x-svc-cost'], '0.00013')
    assert.ok(decodeURIComponent(String(understood().model)).includes(model))
  })

  test(`${kind}: an answer as a stream, with its count and its cost`, async () => {
    const answer = await ask('say it', streamed)

    assert.equal(answer.status, 200, answer.text)
    const { chunks, content, done } = answer.sse
    for (const chunk of chunks) assertChunk(chunk)
    assert.ok(chunks.length > 4, 'it arrived in pieces')
    assert.deepEqual([content, done, finishOf(chunks)], [TEXT, true, 'stop'])
    assert.deepEqual(countsOf(chunks.at(-1)?.usage), [12, 10, 22])
    assert.equal(answer.trailers['x-svc-cost'], '0.00013')
    assert.equal(understood().stream, true)
  })

  test(`${kind}: system and developer messages arrive as system instructions, and the output cap arrives`, async () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
      { role: 'user', content: [{ type: 'text', text: 'say it' }] },
    ]

    const { status, text } = await ask('', { messages, max_tokens: 77 })

    assert.equal(status, 200, text)
    const heard = JSON.stringify(understood().messages)
    assert.match(heard, /Be brief\..*Be kind\..*say it/s)
    assert.equal(understood().messages.filter(({ role }) => role !== ('user' as unknown)).length >= 1, true)
    if (kind !== 'bedrock') assert.equal(understood().max_tokens, 77)
  })

  test(`${kind}: a tool call, and its result in the next request`, async () => {
    const asked = await ask('call a tool', { tools, tool_choice: 'auto' })

    assert.equal(asked.status, 200, asked.text)
    assertChatCompletion(asked.body)
    const { message, finish_reason } = (asked.body as unknown as Completion).choices[0]!
    const call = message.tool_calls?.[0]
    assert.equal(finish_reason, 'tool_calls')
    assert.deepEqual([call?.type, call?.function.name], ['function', 'weather'])
    assert.deepEqual(JSON.parse(call?.function.arguments ?? ''), { city: 'Oslo', days: 2 })

    const told = await ask('', {
      tools,
      messages: [
        { role: 'user', content: 'call a tool' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: call?.id, content: 'minus four' },
      ],
    })

    assert.equal(told.status, 200, told.text)
    assert.equal((told.body as unknown as Completion).choices[0]?.message.content, 'It is cold.')
  })

  test(`${kind}: two tool calls in a stream have their own indexes, names and arguments`, async () => {
    const { status, sse, text } = await ask('call two tools', { ...streamed, tools })

    assert.equal(status, 200, text)
    for (const chunk of sse.chunks) assertChunk(chunk)
    assert.equal(finishOf(sse.chunks), 'tool_calls')
    const calls = callsOf(sse.chunks)
    assert.deepEqual(
      calls.map(({ name, text }) => [name, JSON.parse(text)]),
      [
        ['weather', { city: 'Oslo', days: 2 }],
        ['time', { zone: 'CET' }],
      ],
    )
    assert.equal(new Set(calls.map(({ id }) => id)).size, 2)
  })

  test(`${kind}: an answer that follows a schema`, async () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    }
    const response_format = { type: 'json_schema', json_schema: { name: 'place', schema } }

    const { status, body, text } = await ask('say as JSON', { response_format })

    assert.equal(status, 200, text)
    assert.deepEqual(JSON.parse((body as unknown as Completion).choices[0]?.message.content ?? ''), { city: 'Oslo' })
  })

  test(`${kind}: an answer cut off by its cap has finish_reason length`, async () => {
    const whole = await ask('say too much')
    const stream = await ask('say too much', streamed)

    assert.equal((whole.body as unknown as Completion).choices[0]?.finish_reason, 'length', whole.text)
    assert.equal(finishOf(stream.sse.chunks), 'length')
  })

  // aimock's Cohere sends reasoning in a block that Cohere does not have; the real format is in wires-recorded.test.ts.
  if (kind !== 'cohere') {
    test(`${kind}: reasoning is separated from content`, async () => {
      const whole = await ask('think', { reasoning_effort: 'low' })
      const { status, sse, text } = await ask('think', { ...streamed, reasoning_effort: 'low' })

      assert.equal(status, 200, text)
      assert.equal(whole.status, 200, whole.text)
      const { message } = (whole.body as unknown as Completion).choices[0]!
      assert.deepEqual([message.content, message.reasoning_content], [TEXT, 'A fox, then a dog.'])
      const thoughts = sse.chunks.map(chunk => (chunk.choices[0]?.delta as Delta | undefined)?.reasoning_content ?? '')
      assert.deepEqual([sse.content, thoughts.join('')], [TEXT, 'A fox, then a dog.'])
    })
  }

  for (const form of [{}, { stream: true }]) {
    const name = 'stream' in form ? 'a stream' : 'JSON'

    test(`${kind}: ${name} that the upstream rejects is the caller's error, with the upstream's message without addresses`, async () => {
      const answer = await ask('be wrong', form)

      assertRefusal(answer, 'upstream_rejected')
      assert.match(answer.text, /temperature is too hot, ask \[address\]/)
    })

    test(`${kind}: ${name} from an upstream that rejects our key, is rate-limited, overloaded or failing`, async () => {
      assertRefusal(await ask('know me not', form), 'all_providers_failed')
      const limited = await ask('be limited', form)
      assertRefusal(limited, 'provider_unavailable')
      assert.equal(limited.headers['retry-after'], '7')
      assertRefusal(await ask('be busy', form), 'provider_unavailable')
      assertRefusal(await ask('fall over', form), 'all_providers_failed')
    })
  }

  test(`${kind}: unsupported parameters are reported, as JSON and as a stream`, async () => {
    const content = [{ type: 'text', text: 'say it', cache_control: { type: 'ephemeral', ttl: '5m' } }]
    const messages = [{ role: 'user', name: 'bob', content }]
    const asked = { logprobs: true, seed: 1, top_k: 5, user: 'u', session_id: 's', parallel_tool_calls: false, odd: 1 }

    const whole = await ask('', { ...asked, messages, response_format: { type: 'json_object' } })
    const stream = await ask('', { ...asked, messages, stream: true })

    assert.equal(whole.status, 200, whole.text)
    assert.deepEqual(ignoredOf(whole.headers), IGNORED[kind].toSorted())
    assert.deepEqual(ignoredOf(stream.headers), IGNORED[kind].filter(name => name !== 'response_format').toSorted())
  })

  test(`${kind}: a one-hour cache has no price and is refused before any upstream call`, async () => {
    const before = aimock.requests.length
    const content = [{ type: 'text', text: 'say it', cache_control: { type: 'ephemeral', ttl: '1h' } }]

    const answer = await ask('', { messages: [{ role: 'system', content }] })

    assertRefusal(answer, 'unsupported_value', 'messages.0.content.0.cache_control')
    assert.equal(aimock.requests.length, before)
  })

  if (kind !== 'openai') {
    test(`${kind}: several choices are refused before any upstream call`, async () => {
      const before = aimock.requests.length

      const answer = await ask('say it', { n: 2 })

      assertRefusal(answer, 'upstream_rejected')
      assert.match(answer.text, /n must be 1 for this model's provider/)
      assert.equal(aimock.requests.length, before)
    })
  }
}

function ignoredOf(headers: Readonly<Record<string, unknown>>): readonly string[] {
  return String(headers['x-svc-ignored-fields']).split(', ').sort()
}

type Delta = { readonly reasoning_content?: string }
type ToolCall = { readonly id: string; readonly type: string; readonly function: { name: string; arguments: string } }
type Completion = {
  readonly choices: readonly {
    readonly message: { content: string | null; reasoning_content?: string; tool_calls?: readonly ToolCall[] }
    readonly finish_reason: string
  }[]
  readonly usage: Counts
}
type Counts = { prompt_tokens: number; completion_tokens: number; total_tokens: number } | null | undefined

function countsOf(usage: Counts): unknown {
  return [usage?.prompt_tokens, usage?.completion_tokens, usage?.total_tokens]
}

function finishOf(chunks: readonly StreamChunk[]): unknown {
  return chunks.map(chunk => chunk.choices[0]?.finish_reason).findLast(reason => typeof reason === 'string')
}

function callsOf(chunks: readonly StreamChunk[]): readonly { id: string; name: string; text: string }[] {
  const calls: { id: string; name: string; text: string }[] = []
  for (const piece of chunks.flatMap(chunk => chunk.choices[0]?.delta.tool_calls ?? [])) {
    const call = calls[piece.index] ?? { id: '', name: '', text: '' }
    calls[piece.index] = call
    call.id += piece.id ?? ''
    call.name += piece.function?.name ?? ''
    call.text += piece.function?.arguments ?? ''
  }
  return calls
}
