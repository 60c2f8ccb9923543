// Messages translated to a chat and back keep what both can say, whatever the conversation; and an answer is the same as a
// stream and as a whole.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { messagesWhole } from '../../src/dialects/messages/json.ts'
import { parseMessages } from '../../src/dialects/messages/parse.ts'
import { messagesStream } from '../../src/dialects/messages/stream.ts'
import type { Chat } from '../../src/domain/chat.ts'
import { type Message, type Part, spokenTexts } from '../../src/domain/prompt.ts'
import { eventsOf } from '../support/messages.ts'

type Block = { readonly type: string; readonly [field: string]: unknown }
type Turn = { readonly role: string; readonly content: string | readonly Block[] }

const words = fc.string({ minLength: 1, maxLength: 12 })
const mark = fc.constantFrom({}, {}, { cache_control: { type: 'ephemeral' } })
const textBlock = fc.tuple(words, mark).map(([text, more]): Block => ({ type: 'text', text, ...more }))
const imageBlock = fc
  .tuple(fc.constantFrom('image/png', 'image/jpeg'), fc.uint8Array({ minLength: 1, maxLength: 9 }))
  .map(([media_type, bytes]): Block => {
    return { type: 'image', source: { type: 'base64', media_type, data: Buffer.from(bytes).toString('base64') } }
  })
const thought = fc.oneof(
  fc.tuple(words, words).map(([thinking, signature]): Block => ({ type: 'thinking', thinking, signature })),
  words.map((data): Block => ({ type: 'redacted_thinking', data })),
)
const call = fc.tuple(
  words,
  fc.dictionary(words, fc.oneof(words, fc.integer(), fc.boolean()), { noNullPrototype: true }),
)

// Turns of a user, each followed by the model's thoughts, texts and calls, whose results open the next turn.
const conversation = fc
  .array(
    fc.record({
      said: fc.array(fc.oneof(textBlock, imageBlock), { minLength: 1, maxLength: 3 }),
      thoughts: fc.array(thought, { maxLength: 2 }),
      texts: fc.array(textBlock, { maxLength: 2 }),
      calls: fc.array(call, { maxLength: 2 }),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map(rounds => {
    const turns: Turn[] = []
    let results: Block[] = []
    for (const [round, { said, thoughts, texts, calls }] of rounds.entries()) {
      turns.push({ role: 'user', content: [...results, ...said] })
      const uses = calls.map(([name, input], at): Block => ({ type: 'tool_use', id: `t${round}_${at}`, name, input }))
      const content = [...thoughts, ...texts, ...uses]
      if (content.length === 0) break
      turns.push({ role: 'assistant', content })
      results = uses.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: `result of ${String(id)}` }))
    }
    return turns
  })

test('instructions in the course of a conversation stay where they are', () => {
  const messages = [
    { role: 'user', content: 'Hello' },
    { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
    { role: 'system', content: 'And kind.' },
  ]

  const chat = parseMessages({ model: 'm', max_tokens: 100, system: 'Help.', messages: structuredClone(messages) }, {})

  assert.deepEqual(chat.messages, [
    { role: 'system', content: 'Help.' },
    { role: 'user', content: 'Hello' },
    { role: 'system', content: 'Be brief.' },
    { role: 'system', content: 'And kind.' },
  ])
  assert.deepEqual(chat.native?.messages, messages)
})

test('a conversation translated to a chat and back is the same', () => {
  fc.assert(
    fc.property(conversation, fc.option(words, { nil: undefined }), (messages, system) => {
      const given = { model: 'm', max_tokens: 100, messages, ...(system === undefined ? {} : { system }) }

      const chat = parseMessages(structuredClone(given), {})

      assert.deepEqual(backOf(chat.messages), { messages, ...(system === undefined ? {} : { system }) })
      assert.deepEqual(chat.native, { messages, ...(system === undefined ? {} : { system }) })
    }),
  )
})

test('the measured prompt is never smaller than what is read of it, passed through or translated', () => {
  fc.assert(
    fc.property(conversation, messages => {
      const hasImage = messages.some(({ content }) => (content as Block[]).some(({ type }) => type === 'image'))
      const chat = parseMessages({ model: 'm', max_tokens: 100, messages: structuredClone(messages) }, {})

      const read = [...spokenTexts(chat.messages)].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
      assert.ok(chat.promptBytes >= read)
      if (!hasImage) assert.ok(chat.promptBytes >= Buffer.byteLength(chat.nativeJson ?? ''))
    }),
  )
})

// A test's own reverse of the translation.
function backOf(messages: readonly Message[]): { readonly messages: readonly Turn[]; readonly system?: unknown } {
  const turns: { role: string; content: Block[] }[] = []
  let system: unknown
  for (const message of messages) {
    const { role } = message
    if (role === 'system') system = message.content
    else if (role === 'tool') {
      const result = { type: 'tool_result', tool_use_id: message.tool_call_id, content: message.content }
      const last = turns.at(-1)
      if (last?.role === 'user') last.content.push(result)
      else turns.push({ role: 'user', content: [result] })
    } else {
      const details = (message.reasoning_details ?? []) as readonly Record<string, unknown>[]
      const calls = (message.tool_calls ?? []) as readonly {
        id: string
        function: { name: string; arguments: string }
      }[]
      const content = [
        ...details.map(
          ({ text, signature, data }): Block =>
            data === undefined ? { type: 'thinking', thinking: text, signature } : { type: 'redacted_thinking', data },
        ),
        ...partsOf(message.content),
        ...calls.map(
          ({ id, function: { name, arguments: json } }): Block => ({
            type: 'tool_use',
            id,
            name,
            input: JSON.parse(json),
          }),
        ),
      ]
      const last = turns.at(-1)
      if (role === 'user' && last?.role === 'user') last.content.push(...content)
      else turns.push({ role, content })
    }
  }
  return { messages: turns, ...(system === undefined ? {} : { system }) }
}

function partsOf(content: unknown): readonly Block[] {
  if (content === null || content === '') return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return (content as Part[]).map(part => {
    if (part.type === 'text') return part
    const [, media_type, data] = /^data:([^;]+);base64,(.*)$/.exec((part.image_url as { url: string }).url) ?? []
    return { type: 'image', source: { type: 'base64', media_type, data } }
  })
}

const answer = fc.record({
  thoughts: fc.array(words, { maxLength: 3 }),
  texts: fc.array(words, { maxLength: 4 }),
  calls: fc.array(fc.tuple(words, fc.dictionary(words, words, { noNullPrototype: true })), { maxLength: 3 }),
  pieces: fc.integer({ min: 1, max: 5 }),
  finish: fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter'),
})

test('a chat answer gives the same blocks and reason as a stream and as a whole', () => {
  fc.assert(
    fc.property(answer, ({ thoughts, texts, calls, pieces, finish }) => {
      const message = {
        role: 'assistant',
        content: texts.join('') === '' ? null : texts.join(''),
        ...(thoughts.length === 0 ? {} : { reasoning_content: thoughts.join('') }),
        tool_calls: calls.map(([name, input], index) => {
          return { index, id: `c${index}`, type: 'function', function: { name, arguments: JSON.stringify(input) } }
        }),
      }
      const whole = messagesWhole(OPENED)
      whole.whole({ choices: [{ index: 0, message, finish_reason: finish }], usage: undefined, fingerprint: undefined })
      const { content, stop_reason: reason } = JSON.parse(String(whole.body(BY, RECEIPT)))

      const stream = messagesStream(OPENED)
      stream.served(BY)
      const deltas = [
        ...thoughts.map(reasoning_content => ({ reasoning_content })),
        ...texts.map(text => ({ content: text })),
        ...message.tool_calls.flatMap(made => [
          { tool_calls: [{ ...made, function: { name: made.function.name, arguments: '' } }] },
          ...cut(made.function.arguments, pieces).map(json => ({
            tool_calls: [{ index: made.index, function: { arguments: json } }],
          })),
        ]),
      ]
      const chunks = deltas.map(delta => ({
        choices: [{ index: 0, delta, finish_reason: null }],
        usage: undefined,
        fingerprint: undefined,
      }))
      const last = {
        choices: [{ index: 0, delta: {}, finish_reason: finish }],
        usage: undefined,
        fingerprint: undefined,
      }
      const events = eventsOf(stream.chunks([...chunks, last]) + stream.completed(RECEIPT))

      assert.deepEqual(assembled(events), content)
      assert.partialDeepStrictEqual(events.at(-2)?.delta, { stop_reason: reason })
    }),
  )
})

test('calls whose pieces alternate stay whole, one after another', () => {
  const stream = messagesStream(OPENED)
  const piece = (index: number, name: string | undefined, args: string) => ({
    tool_calls: [{ index, ...(name === undefined ? {} : { id: name }), function: { name, arguments: args } }],
  })
  const deltas = [
    piece(0, 'a', '{"x":'),
    piece(1, 'b', '{"x":'),
    piece(2, 'c', ''),
    piece(0, undefined, '0}'),
    piece(2, undefined, '{"x":2}'),
    piece(1, undefined, '1}'),
    { content: 'done' },
  ]

  const raw = stream.chunks(
    deltas.map(delta => ({
      choices: [{ index: 0, delta, finish_reason: null }],
      usage: undefined,
      fingerprint: undefined,
    })),
  )

  const blocks = assembled(eventsOf(raw + stream.completed(RECEIPT)))
  assert.deepEqual(
    blocks.map(({ name, input, text }) => [name ?? text, input]),
    [
      ['a', { x: 0 }],
      ['b', { x: 1 }],
      ['c', { x: 2 }],
      ['done', undefined],
    ],
  )
})

const CHAT = { forwarded: {} } as unknown as Chat
const OPENED = { requestId: 'r', receivedAt: 0, chat: CHAT, model: 'm', explain: false }
const BY = { model: 'm', provider: 'p', ignored: [], considered: [] }
const RECEIPT = {
  tokens: { prompt: 1, cached: 0, cacheWrite: 0, cacheWrite1h: 0, image: 0, audio: 0, completion: 1, reasoning: 0 },
  usageSource: 'upstream',
  cost: 1n,
  outcome: 'completed',
} as const

function cut(text: string, pieces: number): readonly string[] {
  const size = Math.ceil(text.length / pieces)
  return Array.from({ length: pieces }, (_, at) => text.slice(at * size, (at + 1) * size)).filter(piece => piece !== '')
}

// As a client puts the blocks together; each must begin and end once, in order.
function assembled(events: ReturnType<typeof eventsOf>): readonly Block[] {
  const blocks: (Record<string, unknown> & { type: string })[] = []
  let open: unknown
  for (const event of events) {
    const delta = (event.delta ?? {}) as Readonly<Record<string, string>>
    if (event.type === 'content_block_start') {
      assert.deepEqual([open, event.index], [undefined, blocks.length])
      open = event.index
      blocks.push({ ...(event.content_block as Block) })
    } else if (event.type === 'content_block_stop') {
      assert.equal(event.index, open)
      open = undefined
    } else if (event.type === 'content_block_delta') {
      assert.equal(event.index, open)
      const block = blocks.at(-1) as Record<string, unknown>
      if (delta.type === 'text_delta') block.text = `${block.text}${delta.text}`
      else if (delta.type === 'thinking_delta') block.thinking = `${block.thinking}${delta.thinking}`
      else if (delta.type === 'input_json_delta') block.json = `${block.json ?? ''}${delta.partial_json}`
    }
  }
  return blocks.map(({ json, ...block }) =>
    json === undefined ? block : { ...block, input: JSON.parse(String(json)) },
  )
}
