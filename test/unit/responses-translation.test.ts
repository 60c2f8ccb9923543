// Between chat completions and Responses, in both directions: what both can say survives, for any request, any answer and any
// split of a stream's bytes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseChat } from '../../src/chat/parse-request.ts'
import type { OpenedAnswer } from '../../src/dialects/dialect.ts'
import { responsesWhole } from '../../src/dialects/responses/json.ts'
import { parseResponses } from '../../src/dialects/responses/parse.ts'
import { responsesStream } from '../../src/dialects/responses/stream.ts'
import { toolNames } from '../../src/dialects/responses/tool-names.ts'
import type { Chat } from '../../src/domain/chat.ts'
import type { Nano } from '../../src/domain/credits.ts'
import type { Chunk, ChunkChoice, Receipt } from '../../src/domain/handoff.ts'
import { streamReader } from '../../src/upstream/openai/readers.ts'
import { responsesFrames } from '../../src/upstream/openai/responses/events.ts'
import { responsesRequestWriter } from '../../src/upstream/openai/responses/request.ts'
import { provider } from '../support/catalog.ts'
import { eventsOf } from '../support/responses.ts'
import { answersAs, callItem, textItem } from '../support/responses-upstream.ts'
import type { JournalEntry } from '../support/upstream-journal.ts'

type Fields = Record<string, unknown>

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
const name = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9_-]{0,20}$/)
const parts = fc.array(
  fc.oneof(
    text.map(said => ({ type: 'text', text: said })),
    fc.constant({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } }),
    fc.constant({ type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } }),
  ),
  { minLength: 1, maxLength: 3 },
)
const spoken = fc.record({
  role: fc.constantFrom('system', 'developer', 'user'),
  content: fc.oneof(text, parts),
})

// A turn of the model, and the results of its calls. Two turns without a message between them would be one.
const turn = fc
  .record({
    content: fc.option(text),
    calls: fc.array(fc.record({ name, arguments: text }), { maxLength: 3 }),
    refusal: fc.option(text, { nil: undefined }),
    encrypted: fc.option(text, { nil: undefined }),
  })
  .filter(({ content, calls, refusal }) => content !== null || calls.length > 0 || refusal !== undefined)

const conversation = fc
  .array(fc.tuple(spoken, turn), { minLength: 1, maxLength: 4 })
  .map(turns => turns.flatMap(([message, said], place) => [message, ...messagesOf(said, place)]))

type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never

function messagesOf({ content, calls, refusal, encrypted }: Turn, place: number): Fields[] {
  const ids = calls.map((_, index) => `call_${place}_${index}`)
  const details = { type: 'reasoning.encrypted', format: 'openai-responses-v1', data: encrypted }
  const assistant = {
    role: 'assistant',
    content: content ?? (calls.length > 0 ? null : ''),
    ...(refusal === undefined ? {} : { refusal }),
    ...(encrypted === undefined ? {} : { reasoning_details: [details] }),
    ...(calls.length === 0
      ? {}
      : { tool_calls: calls.map((called, index) => ({ id: ids[index], type: 'function', function: called })) }),
  }
  return [assistant, ...ids.map(id => ({ role: 'tool', tool_call_id: id, content: `of ${id}` }))]
}

const options = fc.record(
  {
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    top_p: fc.double({ min: 0, max: 1, noNaN: true }),
    parallel_tool_calls: fc.boolean(),
    reasoning_effort: fc.constantFrom('none', 'low', 'high'),
    verbosity: fc.constantFrom('low', 'high'),
    metadata: fc.dictionary(name, text, { maxKeys: 3 }),
    response_format: fc.constantFrom<Fields>(
      { type: 'json_object' },
      { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' }, strict: true } },
    ),
    tool_choice: fc.constantFrom<unknown>('required', 'none', { type: 'function', function: { name: 'known' } }),
  },
  { requiredKeys: [] },
)
const TOOLS = [
  {
    type: 'function',
    function: { name: 'known', description: 'Known', parameters: { type: 'object' }, strict: false },
  },
]

test('a chat that is sent as a Responses request, and read back, is the same chat', () => {
  const writer = responsesRequestWriter(provider('a'))
  fc.assert(
    fc.property(conversation, options, (messages, given) => {
      const chat = parseChat(structuredClone({ model: 'm', messages, tools: TOOLS, ...given }) as Fields)

      const sent = JSON.parse(writer.body(requestOf(chat), false)) as Fields
      const back = parseResponses(sent)

      assert.deepEqual(back.messages, chat.messages)
      assert.deepEqual(back.forwarded, chat.forwarded)
      assert.equal(sent.store, false)
    }),
    { numRuns: 300 },
  )
})

test('the hold covers what a passed-through request sends', () => {
  fc.assert(
    fc.property(conversation, messages => {
      const chat = parseChat(structuredClone({ model: 'm', messages }) as Fields)
      const { input } = JSON.parse(responsesRequestWriter(provider('a')).body(requestOf(chat), false)) as Fields

      const { promptBytes, media, native } = parseResponses({ model: 'm', input: structuredClone(input) })

      if (media.length === 0) assert.ok(promptBytes >= Buffer.byteLength(JSON.stringify(native?.input)))
    }),
    { numRuns: 100 },
  )
})

test('any split of the bytes of a stream gives the same chunks', async () => {
  const reasoning = { type: 'reasoning', id: 'rs', summary: [{ type: 'summary_text', text: 'Ich überlege 🤔' }] }
  const output = [reasoning, textItem('Grüße 👋 aus Köln'), callItem('weather', '{"city":"Köln"}')]
  const plan = answersAs({ output })({ body: {}, stream: true } as JournalEntry)
  const bytes = Buffer.from((plan.rawFrames ?? []).join(''))
  for (const isPassed of [true, false]) {
    const whole = chunksOf([bytes], isPassed)
    assert.equal(whole.failure, undefined)

    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 30, size: 'max' }), cuts => {
        const at = [0, ...cuts.sort((a, b) => a - b), bytes.length]
        const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end))
        assert.deepEqual(chunksOf(pieces, isPassed), whole)
      }),
      { numRuns: 100 },
    )
  }
})

const delta = fc.oneof(
  text.map(content => ({ content })),
  text.map(refusal => ({ refusal })),
  text.map(reasoning_content => ({ reasoning_content })),
)
const answered = fc.record({
  deltas: fc.array(delta, { maxLength: 8 }),
  calls: fc.array(fc.record({ name, city: text }), { maxLength: 3 }),
  finish: fc.constantFrom('stop', 'length', 'content_filter'),
})

test('the events of any answer are numbered, every item and part is closed, and the terminal event repeats them', () => {
  fc.assert(
    fc.property(answered, ({ deltas, calls, finish }) => {
      const writer = responsesStream(opened())
      const pieces = calls.flatMap((called, index) => callDeltas(called, index))

      let raw = writer.chunks([...deltas, ...pieces].map(each => chunkOf(each)))
      raw += writer.chunks([chunkOf({}, finish)])
      raw += writer.completed(RECEIPT)

      const events = eventsOf(raw) as unknown as Fields[]
      const last = events.at(-1) as { type: string; response: { output: Fields[]; status: string } }
      const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
      const added = events.filter(({ type }) => type === 'response.output_item.added')
      assert.deepEqual(last.response.output, done)
      assert.equal(added.length, done.length)
      assert.equal(last.type, finish === 'stop' ? 'response.completed' : 'response.incomplete')
      const written = (type: string) => events.filter(event => event.type === type).map(event => String(event.delta))
      assert.equal(written('response.output_text.delta').join(''), deltas.map(each => textIn(each, 'content')).join(''))
      assert.equal(written('response.refusal.delta').join(''), deltas.map(each => textIn(each, 'refusal')).join(''))
      const thoughts = deltas.map(each => textIn(each, 'reasoning_content')).join('')
      assert.equal(written('response.reasoning_summary_text.delta').join(''), thoughts)
      const called = done.filter(item => (item as Fields).type === 'function_call') as {
        name: string
        arguments: string
      }[]
      assert.deepEqual(
        called.map(each => [each.name, JSON.parse(each.arguments)]),
        calls.map(each => [each.name, { city: each.city }]),
      )
    }),
    { numRuns: 300 },
  )
})

test('a whole answer has the items of a stream that says the same', () => {
  const message = {
    role: 'assistant',
    content: 'Hello',
    reasoning_content: 'I think.',
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }],
  }
  const whole = responsesWhole(opened())
  const stream = responsesStream(opened())

  whole.whole({
    choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
    usage: undefined,
    fingerprint: undefined,
  })
  const { role: _, tool_calls: calls, ...said } = message
  const deltas = [
    { reasoning_content: said.reasoning_content },
    { content: said.content },
    { tool_calls: calls.map((call, index) => ({ index, ...call })) },
  ]
  const raw = stream.chunks(deltas.map(each => chunkOf(each))) + stream.completed(RECEIPT)

  const by = { model: 'm', provider: 'p', ignored: [], considered: [] }
  const { output } = JSON.parse(whole.body(by, RECEIPT) as string) as { output: unknown }
  assert.deepEqual(lastOutput(raw), output)
})

test('calls whose pieces alternate stay whole', () => {
  const stream = responsesStream(opened())
  const begin = (index: number) => ({
    tool_calls: [{ index, id: `c${index}`, type: 'function', function: { name: 'f', arguments: '{"a":' } }],
  })
  const more = (index: number) => ({ tool_calls: [{ index, function: { arguments: `${index}}` } }] })

  const raw = stream.chunks([begin(0), begin(1), more(1), more(0)].map(each => chunkOf(each)))

  const output = lastOutput(raw + stream.completed(RECEIPT)) as { call_id: string; arguments: string }[]
  assert.deepEqual(
    output.map(item => [item.call_id, item.arguments]),
    [
      ['c0', '{"a":0}'],
      ['c1', '{"a":1}'],
    ],
  )
})

test('log probabilities are repeated in the terminal event, unless they are very long', () => {
  for (const [tokens, isRepeated] of [
    [900, true],
    [1000, false],
  ] as const) {
    const stream = responsesStream(opened())
    const alternatives = Array.from({ length: 20 }, (_, i) => ({
      token: `token ${i}`,
      logprob: -i,
      bytes: [1, 2, 3, 4],
    }))
    const logprobs = { content: [{ token: 'word ', logprob: -0.5, bytes: [5], top_logprobs: alternatives }] }
    const chunk = { choices: [{ index: 0, delta: { content: 'word ' }, logprobs, finish_reason: null }] }

    const raw =
      stream.chunks(Array.from({ length: tokens }, () => ({ ...chunkOf({}), ...chunk }))) + stream.completed(RECEIPT)

    const events = eventsOf(raw) as unknown as Fields[]
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta')
    const [message] = lastOutput(raw) as { content: { text: string; logprobs: unknown[] }[] }[]
    const [part] = message?.content ?? []
    assert.ok(deltas.every(delta => (delta.logprobs as unknown[]).length === 1))
    assert.deepEqual([deltas.length, part?.text.length], [tokens, 5 * tokens])
    assert.equal(part?.logprobs.length, isRepeated ? tokens : 0)
  }
})

test('reasoning that the provider expects back is carried, unless it is very long', () => {
  for (const [details, isCarried] of [
    [30, true],
    [50, false],
  ] as const) {
    const stream = responsesStream(opened({ include: ['reasoning.encrypted_content'] }))
    const detail = { type: 'reasoning.encrypted', format: 'unknown', data: 'x'.repeat(100_000) }

    const raw = stream.chunks(Array.from({ length: details }, () => chunkOf({ reasoning_details: [detail] })))

    const [item] = lastOutput(raw + stream.completed(RECEIPT)) as { type: string; encrypted_content?: string }[]
    assert.equal(item?.type, 'reasoning')
    assert.equal((item?.encrypted_content?.length ?? 0) > details * 100_000, isCarried)
    assert.equal(item?.encrypted_content === undefined, !isCarried)
  }
})

test('the tools of namespaces have distinct names that every provider takes, and are found by them', () => {
  const anyName = fc.oneof(name, text, fc.stringMatching(/^[ab_]{1,5}$/), fc.string({ minLength: 60, maxLength: 80 }))
  const spaces = fc.uniqueArray(
    fc.record({ name: anyName, tools: fc.uniqueArray(anyName, { minLength: 1, maxLength: 4 }) }),
    {
      selector: space => space.name,
      minLength: 1,
      maxLength: 4,
    },
  )
  fc.assert(
    fc.property(spaces, fc.uniqueArray(name, { maxLength: 3 }), (namespaces, plain) => {
      const tools = [
        ...plain.map(each => ({ type: 'function', name: each })),
        ...namespaces.map(space => ({
          type: 'namespace',
          name: space.name,
          tools: space.tools.map(each => ({ type: 'function', name: each })),
        })),
      ]

      const names = toolNames(tools.map(tool => ({ tool, path: '' })))

      const flat = names.tools.map(tool => tool.flat)
      assert.equal(new Set(flat).size, flat.length)
      for (const tool of names.tools) {
        if (tool.namespace === undefined) continue
        assert.match(tool.flat, /^[\w-]{1,64}$/)
        assert.equal(names.flat(tool.name, tool.namespace), tool.flat)
        assert.deepEqual(names.called(tool.flat), tool)
      }
    }),
    { numRuns: 500 },
  )
})

test('an event whose name is not one line is not passed on', () => {
  const writer = responsesStream(opened())
  const native = { type: 'x\n\ndata: {"type":"response.completed"}', y: 1 }

  const raw = writer.chunks([{ choices: [], native, usage: undefined, fingerprint: undefined }])

  assert.equal(raw, '')
})

test('events that are passed through are numbered from 0, whatever numbers the provider gave them', () => {
  const numbers = fc.array(fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }), {
    minLength: 1,
    maxLength: 6,
  })
  fc.assert(
    fc.property(numbers, text, (given, delta) => {
      const sent = given.map(sequence_number => ({ type: 'response.output_text.delta', sequence_number, delta }))
      const bytes = sent.map(event => `data: ${JSON.stringify(event, null, 1).replaceAll('\n', '\ndata: ')}\n\n`)
      const { chunks } = chunksOf([Buffer.from(bytes.join(''))], true)

      const events = eventsOf(responsesStream(opened()).chunks(chunks))

      assert.deepEqual(
        events,
        sent.map((event, place) => ({ ...event, sequence_number: place })),
      )
    }),
    { numRuns: 100 },
  )
})

const RECEIPT: Receipt = {
  tokens: { prompt: 1, completion: 1, cached: 0, cacheWrite: 0, reasoning: 0 } as Receipt['tokens'],
  usageSource: 'upstream',
  cost: 1n as Nano,
  outcome: 'completed',
}

function opened(more: object = {}): OpenedAnswer {
  const chat = parseResponses({ model: 'm', input: 'Hello', stream: true, ...more })
  return { requestId: 'r1', receivedAt: 0, chat, model: 'm', explain: false }
}

function lastOutput(raw: string): unknown {
  return eventsOf(raw).at(-1)?.response?.output
}

function chunkOf(said: object, finish: string | null = null): Chunk {
  const choice = { index: 0, delta: said as ChunkChoice['delta'], finish_reason: finish }
  return { choices: [choice], usage: undefined, fingerprint: undefined }
}

function callDeltas({ name: called, city }: { name: string; city: string }, index: number): Fields[] {
  const given = JSON.stringify({ city })
  const first = {
    index,
    id: `call_${index}`,
    type: 'function',
    function: { name: called, arguments: given.slice(0, 5) },
  }
  return [{ tool_calls: [first] }, { tool_calls: [{ index, function: { arguments: given.slice(5) } }] }]
}

function textIn(said: object, field: string): string {
  return String((said as Fields)[field] ?? '')
}

function requestOf(chat: Chat) {
  return {
    requestId: 'r1',
    accountId: 'a',
    chat,
    credential: undefined,
    model: 'm',
    outputTokens: null,
    outputBound: 100,
    identifiers: {},
    accountMark: 'mark',
    totalMsMax: 1000,
    onSent: () => undefined,
  }
}

function chunksOf(pieces: readonly Buffer[], isPassed: boolean) {
  const chunks: Chunk[] = []
  let failure: unknown
  const listener = {
    chunks: (more: readonly Chunk[]) => void chunks.push(...more),
    whole: () => undefined,
    end(why: unknown) {
      failure = why
    },
  }
  const setup = { sseEventBytesMax: 1024 * 1024, endAfterDoneMs: 1000, unsaid: [] }
  const reader = streamReader(listener, setup, { upstreamId: null }, () => undefined, responsesFrames([], isPassed))
  for (const piece of pieces) reader.data(piece)
  reader.end(undefined)
  return { chunks, failure }
}
