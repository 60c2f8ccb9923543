// The independent checkers of the test support: OpenAI's own types distinguish valid answers from invalid ones, and
// aimock plays the four important cases.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AIMOCK_CASES, AIMOCK_TEXT, startAimock } from '../support/aimock.ts'
import { httpCall } from '../support/http-call.ts'
import { assertChatCompletion, assertChunk, assertErrorChunk, assertModel } from '../support/schemas.ts'
import { openStream } from '../support/sse.ts'

const CHOICE = {
  index: 0,
  message: { role: 'assistant', content: 'Hi', refusal: null },
  logprobs: null,
  finish_reason: 'stop',
}
const COMPLETION = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [CHOICE] }
const CHUNK = {
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }],
}

test('a valid completion, chunk and model pass, with extra properties', () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, cost: 0.5 }
  const model = { id: 'a/b', object: 'model', created: 1, owned_by: 'a', pricing: {} }

  assertChatCompletion({ ...COMPLETION, usage })
  assertChunk({ ...CHUNK, usage: null })
  assertChunk({ ...CHUNK, choices: [], usage })
  assertModel(model)
})

test('an invalid completion is refused, and the message has its path', () => {
  const wrong = [
    [{ ...COMPLETION, id: undefined }, /must have required property 'id'/],
    [{ ...COMPLETION, object: 'chat.completion.chunk' }, /\/object must be equal to constant/],
    [{ ...COMPLETION, choices: [{ ...CHOICE, finish_reason: 'error' }] }, /\/choices\/0\/finish_reason .*"stop"/],
    [{ ...COMPLETION, choices: [{ ...CHOICE, message: { role: 'assistant', content: 'Hi' } }] }, /'refusal'/],
    [{ ...COMPLETION, usage: { prompt_tokens: 1.5, completion_tokens: 1, total_tokens: 2 } }, /must be integer/],
    [{ ...COMPLETION, usage: { prompt_tokens: -1, completion_tokens: 1, total_tokens: 0 } }, /must be >= 0/],
  ] as const
  for (const [value, message] of wrong) assert.throws(() => assertChatCompletion(value), message)
  assert.throws(() => assertChunk(COMPLETION), /not a ChatCompletionChunk/)
})

test('the error chunk of a broken stream is a chunk except for its finish_reason', () => {
  const error = { message: 'm', type: 'upstream_error', param: null, code: 'all_providers_failed' }
  const chunk = { ...CHUNK, choices: [{ index: 0, delta: {}, finish_reason: 'error' }], error }

  assertErrorChunk(chunk)
  assert.throws(() => assertChunk(chunk))
  assert.throws(() => assertErrorChunk(CHUNK))
})

test('aimock answers normally, without usage, with 429, and breaks off', async () => {
  await using aimock = await startAimock()
  const url = `${aimock.url}/chat/completions`
  const body = (content: string) => ({ model: 'm', messages: [{ role: 'user', content }] })
  const streaming = (content: string) => ({ ...body(content), stream: true, stream_options: { include_usage: true } })

  const json = await httpCall(url, { body: body(AIMOCK_CASES.happy) })
  const happy = (await httpCall(url, { body: streaming(AIMOCK_CASES.happy) })).sse
  const silent = (await httpCall(url, { body: streaming(AIMOCK_CASES.noUsage) })).sse
  const limited = await httpCall(url, { body: body(AIMOCK_CASES.limited) })
  using broken = await openStream(url, { body: streaming(AIMOCK_CASES.breaks) })
  for (let i = 0; i < 4; i++) assertChunk(await broken.nextChunk())

  await assert.rejects(broken.nextChunk())
  assertChatCompletion(json.body)
  for (const chunk of [...happy.chunks, ...silent.chunks]) assertChunk(chunk)
  assert.equal(happy.content, AIMOCK_TEXT)
  assert.equal(happy.chunks.at(-1)?.usage?.completion_tokens, 10)
  assert.ok(silent.chunks.every(chunk => chunk.usage == null))
  assert.equal(limited.status, 429)
  assert.equal(limited.headers['retry-after'], '7')
  assert.equal(aimock.requests.length, 5)
})
