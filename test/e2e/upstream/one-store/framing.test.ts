// For any framing by the upstream the caller gets the same clean stream: the standard's line ends and comments, odd
// packets, and every way to end.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_WORDS } from '../../../support/completion-parts.ts'
import { openFixture, warmTokenizer } from '../../../support/fixture.ts'
import { assertChunk } from '../../../support/schemas.ts'
import type { Plan } from '../../../support/upstream-plan.ts'
import { settledRow } from '../../../support/usage.ts'

const { gateway, upstream } = await openFixture()
await warmTokenizer({ gateway, upstream })
const WHOLE = DEFAULT_WORDS.join('')
const UMLAUTS = ['Grüße', ' 你好', ' 🙂', '\u2028']

const SAME: readonly (readonly [what: string, plan: Plan, content?: string])[] = [
  ['lines ended by CRLF', { eol: '\r\n' }],
  ['lines ended by CR', { eol: '\r' }],
  ['a byte order mark', { bom: true }],
  ['one byte at a time', { oneByteAtATime: true, words: UMLAUTS }, UMLAUTS.join('')],
  ['CRLF one byte at a time', { oneByteAtATime: true, eol: '\r\n', words: ['Hi', ' you'] }, 'Hi you'],
  ['comments between the frames', { comments: true }],
  ['a hundred thousand empty lines', { emptyLines: 100_000 }],
  ['no role in the first delta', { roleInFirstDelta: false }],
  ['[DONE] twice', { done: 'twice' }],
  ['[DONE] missing after a finish reason', { done: 'missing' }],
  ['no finish reason, but [DONE]', { finishReason: null }],
]

for (const [what, plan, content = WHOLE] of SAME) {
  test(`a stream with ${what} reaches the caller complete and normalized`, async () => {
    upstream.next(plan)

    const stream = await gateway.openChat({ stream_options: { include_usage: true } })
    const sse = await stream.rest()

    assert.equal(sse.content, content)
    assertClean(sse, stream.headers['x-request-id'])
    const row = await settledRow(gateway, stream.headers['x-request-id'])
    assert.equal(row.outcome, 'completed')
    assert.equal(stream.trailers['x-svc-cost'], row.cost)
  })
}

const frame = (delta: string, finish = 'null') =>
  `{"id":"up","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}`

test('multi-line data and other fields are read as the standard defines', async () => {
  const hello = frame('{"content":"Hello"}')
  const comma = hello.indexOf(',')
  upstream.next({
    rawFrames: [
      'id: 7\nevent: message\nretry: 10\nfoo: bar\n',
      `data:${hello.slice(0, comma)}\ndata: ${hello.slice(comma)}\n\n`,
      'data\n\n:\n\n',
      `data: ${frame('{}', '"stop"')}\n\ndata: [DONE]\n\n`,
    ],
  })

  const stream = await gateway.openChat()
  const sse = await stream.rest()

  assert.equal(sse.content, 'Hello')
  assertClean(sse, stream.headers['x-request-id'])
})

test('a last event without a blank line is read, and characters split over packets are joined', async () => {
  const bytes = Buffer.from(`data: ${frame('{"content":"ß🙂"}')}\n\ndata: ${frame('{}', '"stop"')}`)
  const cut = bytes.indexOf(Buffer.from('🙂')) + 2
  upstream.next({ rawFrames: [bytes.subarray(0, cut), bytes.subarray(cut)] })

  const { content, done } = await (await gateway.openChat()).rest()

  assert.equal(content, 'ß🙂')
  assert.equal(done, true)
})

test('an upstream cut off after the finish reason has answered; only its usage is missing', async () => {
  const rawFrames = [`data: ${frame('{"content":"Hello"}')}\n\n`, `data: ${frame('{}', '"stop"')}\n\n`]
  upstream.next({ rawFrames, dieAfterBytes: Buffer.byteLength(rawFrames.join('')) })

  const stream = await gateway.openChat()
  const sse = await stream.rest()

  assert.equal(sse.content, 'Hello')
  assertClean(sse, stream.headers['x-request-id'])
  const row = await settledRow(gateway, stream.headers['x-request-id'])
  assert.deepEqual([row.outcome, row.completion_tokens, row.usage_source], ['completed', 1, 'estimate'])
})

test('after [DONE] nothing is forwarded or waited for, and what was sent is billed', async () => {
  upstream.next({ done: 'early', neverEnd: true, usage: { prompt_tokens: 1, completion_tokens: 4000 } })

  const stream = await gateway.openChat()
  const sse = await stream.rest()

  assert.equal(sse.content, DEFAULT_WORDS[0])
  assertClean(sse, stream.headers['x-request-id'])
  const row = await settledRow(gateway, stream.headers['x-request-id'])
  assert.deepEqual([row.outcome, row.completion_tokens], ['completed', 1])
  await upstream.idle()
})

test('unknown finish reasons become stop, and irregular deltas are normalized', async () => {
  upstream.next({
    rawFrames: [
      `data: ${frame('{"role":"model","content":"Hi","tool_calls":null,"function_call":null}')}\n\n`,
      `data: ${frame('null', '"eos_token"')}\n\ndata: [DONE]\n\n`,
    ],
  })

  const { chunks } = await (await gateway.openChat()).rest()

  for (const chunk of chunks) assertChunk(chunk)
  assert.deepEqual(chunks[0]?.choices[0]?.delta, { role: 'assistant', content: 'Hi' })
  assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop')
})

function assertClean(
  sse: Awaited<ReturnType<Awaited<ReturnType<typeof gateway.openChat>>['rest']>>,
  id: unknown,
): void {
  assert.deepEqual([sse.doneCount, sse.afterDone, sse.comments, sse.others], [1, 0, [], []])
  for (const chunk of sse.chunks) {
    assertChunk(chunk)
    assert.equal(chunk.id, `chatcmpl-${id}`)
    assert.equal(chunk.model, 'test/m1')
  }
  assert.equal(new Set(sse.chunks.map(chunk => chunk.created)).size, 1)
  assert.equal(sse.chunks[0]?.choices[0]?.delta.role, 'assistant')
  assert.ok(sse.raw.endsWith('data: [DONE]\n\n'))
}
