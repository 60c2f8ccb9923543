// An upstream that fails after its first words: the caller gets one error chunk, [DONE] and a clean end, and pays for
// the prompt and for what was sent, never for the error text.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture, warmTokenizer } from '../../support/fixture.ts'
import { assertChunk, assertErrorChunk } from '../../support/schemas.ts'
import type { Plan } from '../../support/upstream-plan.ts'
import { nano, settledRow } from '../../support/usage.ts'

const { gateway, upstream } = await openFixture()
await warmTokenizer({ gateway, upstream })

const PROMPT_ESTIMATE = 2 + 4 + 3
const USAGE = { prompt_tokens: 5, completion_tokens: 2 }
const FINISHED = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
const LONG = 'an error message with a great many words in it '.repeat(20)
const CASES: readonly (readonly [what: string, plan: Plan, code: string])[] = [
  ['closes its connection', { dieAfterChunks: 4 }, 'all_providers_failed'],
  [
    'sends an error frame',
    { errorFrameAfterChunks: 4, errorFrame: { error: { message: LONG } } },
    'all_providers_failed',
  ],
  ['sends an error frame and [DONE]', { errorFrameAfterChunks: 4, done: 'normal' }, 'all_providers_failed'],
  [
    'sends the error of a 429',
    { errorFrameAfterChunks: 4, errorFrame: { error: { message: LONG, code: 429 } } },
    'provider_unavailable',
  ],
  ['sends an error in plain text', { errorFrameAfterChunks: 4, errorFrame: { error: LONG } }, 'all_providers_failed'],
  [
    'ends with neither finish reason nor [DONE]',
    { words: ['Hello', ' there', ',', ' how'], finishReason: null, done: 'missing', usage: 'none' },
    'all_providers_failed',
  ],
]

for (const [what, plan, code] of CASES) {
  test(`an upstream that ${what} after four words: the words are billed, the error is reported and free`, async () => {
    upstream.next(plan)

    const stream = await gateway.openChat({ stream_options: { include_usage: true } })
    const sse = await stream.rest()

    assert.equal(sse.content, 'Hello there, how')
    const [last, told] = sse.chunks.slice(-2)
    for (const chunk of sse.chunks.slice(0, -2)) assertChunk(chunk)
    assertErrorChunk(last)
    assert.equal(last?.error?.code, code)
    assert.ok(!sse.raw.includes('great many words'))
    assert.deepEqual([sse.done, sse.doneCount, sse.afterDone], [true, 1, 0])
    const row = await settledRow(gateway, stream.headers['x-request-id'])
    assert.deepEqual(
      [row.outcome, row.http_status, row.error_code, row.prompt_tokens, row.completion_tokens, row.usage_source],
      ['upstream_broke', 200, code, PROMPT_ESTIMATE, 4, 'estimate'],
    )
    assert.equal(nano(row.cost), BigInt(PROMPT_ESTIMATE) * 2500n + 4n * 10_000n)
    assert.equal(stream.trailers['x-svc-cost'], row.cost)
    assert.deepEqual(
      [told?.choices, told?.usage?.prompt_tokens, told?.usage?.completion_tokens],
      [[], row.prompt_tokens, row.completion_tokens],
    )
    assert.ok(sse.raw.includes(`"cost":${row.cost}}`), sse.raw.slice(-400))
  })
}

test('usage reported before the interruption is used if it is higher', async () => {
  upstream.next({ usage: 'perChunk', dieAfterChunks: 4 })
  const same = await broken()
  upstream.next({ rawFrames: [frame({ content: 'Hi' }, { usage: { prompt_tokens: 40, completion_tokens: 900 } })] })
  const higher = await broken()

  assert.deepEqual([same.prompt_tokens, same.completion_tokens, same.usage_source], [5, 4, 'upstream'])
  assert.deepEqual([higher.prompt_tokens, higher.completion_tokens], [40, 900])
})

test('reasoning, refusals and the names and arguments of tools are output too', async () => {
  upstream.next({
    reasoning: ['Hello', ' there'],
    words: [' how', ' can'],
    finishReason: null,
    done: 'missing',
    usage: 'none',
  })
  const reasoned = await broken()
  upstream.next({ rawFrames: [frame({ refusal: 'Hello there' })] })
  const refused = await broken()
  upstream.next({
    rawFrames: [frame({ tool_calls: [{ index: 0, function: { name: 'hello', arguments: ' there' } }] })],
  })
  const called = await broken()

  assert.deepEqual([reasoned.completion_tokens, refused.completion_tokens, called.completion_tokens], [4, 2, 2])
})

test('a reset may drop the last words, and only those that arrived are billed', async () => {
  upstream.next({ dieAfterChunks: 4, dieBy: 'reset', chunkDelayMs: 50 })

  const stream = await gateway.openChat()
  const { chunks, done } = await stream.rest()

  const words = chunks.filter(chunk => chunk.choices[0]?.delta.content).length
  const row = await settledRow(gateway, stream.headers['x-request-id'])
  assert.deepEqual([done, row.outcome, row.completion_tokens], [true, 'upstream_broke', words])
})

for (const [what, rest] of [
  ['its usage frame', 'data: {"choices":[],"usage":{"prompt_tok'],
  ['[DONE]', `data: {"choices":[],"usage":${JSON.stringify(USAGE)}}\n\ndata: [DO`],
] as const) {
  test(`an answer that has finished is complete, also where ${what} is cut off`, async () => {
    upstream.next({ rawFrames: [frame({ content: 'Hello there' }), FINISHED, rest] })

    const stream = await gateway.openChat()
    const sse = await stream.rest()

    assert.deepEqual([sse.content, sse.chunks.some(chunk => chunk.error !== undefined)], ['Hello there', false])
    const row = await settledRow(gateway, stream.headers['x-request-id'])
    assert.deepEqual([row.outcome, row.finish_reason, row.completion_tokens], ['completed', 'stop', 2])
  })
}

test('a connection that is lost in the middle of a frame is reported as lost, not as an invalid response', async () => {
  upstream.next({ dieAfterBytes: 20 })

  const { status, headers } = await gateway.chat({ stream: true })

  const row = await settledRow(gateway, headers['x-request-id'])
  assert.deepEqual([status, row.attempts[0]?.outcome], [502, 'reset'])
})

async function broken() {
  const stream = await gateway.openChat()
  await stream.rest()
  const row = await settledRow(gateway, stream.headers['x-request-id'])
  assert.equal(row.outcome, 'upstream_broke')
  return row
}

function frame(delta: object, more: object = {}): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`
}
