// A provider of Messages that answers badly: in OpenAI's shape, out of order, twice ended, with counts that shrink, or with an
// error inside a stream.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startGateway } from '../../../support/gateway.ts'
import { httpCall } from '../../../support/http-call.ts'
import {
  askMessages,
  eventsOf,
  type Fields,
  MESSAGE_START,
  type MessageEvent,
  messageEnd,
  streamOf,
  textBlock,
} from '../../../support/messages.ts'
import { standardModel } from '../../../support/standard-config.ts'
import { settledRow } from '../../../support/usage.ts'
import { jsonAnswer, sseAnswer, startVendor, type VendorAnswer } from '../../../support/vendor.ts'

const vendor = await startVendor()
const gateway = await startGateway({
  config: {
    providers: [{ id: 'claude', kind: 'anthropic', base_url: `${vendor.origin}/v1`, api_key: 'vendor-secret' }],
    models: [standardModel({ id: 'test/claude', targets: [{ provider: 'claude', model: 'c' }] })],
  },
})
after(async () => {
  const { ok, output } = await gateway.audit()
  await gateway[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
  assert.ok(ok, JSON.stringify(output))
})

const [BEGIN, DELTA, STOP] = textBlock(0, 'Hello') as [MessageEvent, MessageEvent, MessageEvent]
const END = messageEnd({ output_tokens: 12 })
const errorEvent = (type: string) => ({ type: 'error', error: { type, message: 'broke' } })
const COMPLETION = {
  id: 'x',
  object: 'chat.completion',
  choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }],
}
const CHUNK = {
  id: 'x',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }],
}

const BEFORE_CONTENT: readonly (readonly [string, VendorAnswer, number, string])[] = [
  ["a stream in OpenAI's shape", sseAnswer([CHUNK], false), 502, 'all_providers_failed'],
  ['a block before the message', streamOf([BEGIN, DELTA]), 502, 'all_providers_failed'],
  ['a delta without its block', streamOf([MESSAGE_START, DELTA]), 502, 'all_providers_failed'],
  ['two starts', streamOf([MESSAGE_START, MESSAGE_START, BEGIN, DELTA]), 502, 'all_providers_failed'],
  ['an overloaded error', streamOf([MESSAGE_START, errorEvent('overloaded_error')]), 503, 'provider_unavailable'],
  ['an invalid request', streamOf([errorEvent('invalid_request_error')]), 400, 'upstream_rejected'],
  ['nothing', streamOf([]), 502, 'all_providers_failed'],
  ['only its start', streamOf([MESSAGE_START]), 502, 'all_providers_failed'],
]

for (const [name, planned, status, code] of BEFORE_CONTENT) {
  test(`${name}: an error that costs nothing`, async () => {
    vendor.next(planned)

    const { answer, row } = await ask(true)

    assert.deepEqual([answer.status, (answer.body.error as Fields).code, row.cost], [status, code, '0'])
  })
}

test("a JSON answer in OpenAI's shape is an error that costs nothing", async () => {
  vendor.next(jsonAnswer(COMPLETION))

  const { answer, row } = await ask(false)

  assert.deepEqual([answer.status, (answer.body.error as Fields).code, row.cost], [502, 'all_providers_failed', '0'])
})

const AFTER_CONTENT: readonly (readonly [string, VendorAnswer])[] = [
  ['a block that begins twice', streamOf([MESSAGE_START, BEGIN, DELTA, BEGIN])],
  ['a delta after the end of its block', streamOf([MESSAGE_START, BEGIN, DELTA, STOP, DELTA])],
  ['message_stop without a reason', streamOf([MESSAGE_START, BEGIN, DELTA, STOP, { type: 'message_stop' }])],
  ['an error event', streamOf([MESSAGE_START, BEGIN, DELTA, errorEvent('api_error')])],
  ['an end without a reason', streamOf([MESSAGE_START, BEGIN, DELTA])],
  ["a chunk in OpenAI's shape", sseAnswer([MESSAGE_START, BEGIN, DELTA, CHUNK], false)],
]

for (const [name, planned] of AFTER_CONTENT) {
  test(`${name}: the content, then an error event, billed for what was read`, async () => {
    vendor.next({ ...planned, pieceDelayMs: 20 })

    const { answer, row } = await ask(true)

    const events = eventsOf(answer.text)
    assert.deepEqual(events.slice(1, 3), [BEGIN, DELTA])
    const last = events.at(-1) as MessageEvent
    assert.deepEqual(
      [last.type, (last.error as Fields).code, last.request_id],
      ['error', 'all_providers_failed', row.request_id],
    )
    assert.ok(!events.some(({ type }) => type === 'message_stop' || type === 'message_delta'))
    assert.deepEqual(
      [row.outcome, row.prompt_tokens, answer.trailers['x-svc-cost']],
      ['upstream_broke', 1120, row.cost],
    )
  })
}

test('two message_stop are one, and what follows is ignored', async () => {
  vendor.next(streamOf([MESSAGE_START, BEGIN, DELTA, STOP], END, [{ type: 'message_stop' }, BEGIN, DELTA]))

  const { answer, row } = await ask(true)

  const kinds = eventsOf(answer.text).map(({ type }) => type)
  assert.deepEqual(kinds.slice(-3), ['content_block_stop', 'message_delta', 'message_stop'])
  assert.deepEqual([kinds.filter(kind => kind === 'message_stop').length, row.outcome], [1, 'completed'])
})

const SHRINKING = [
  { type: 'message_delta', delta: { stop_reason: null, stop_sequence: null }, usage: { output_tokens: 30 } },
  ...messageEnd({ input_tokens: 1, cache_read_input_tokens: 0, output_tokens: 12 }),
]
const TRANSLATED = [
  { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'Say hello' }] } },
  { path: '/v1/responses', body: { input: 'Say hello' } },
]

test('a count that shrinks keeps its highest value', async () => {
  vendor.next(streamOf([MESSAGE_START, BEGIN, DELTA, STOP], SHRINKING))

  const { answer, row } = await ask(true)

  const usage = eventsOf(answer.text).at(-2)?.usage as Fields
  assert.deepEqual([row.prompt_tokens, row.cached_tokens, row.completion_tokens], [1120, 1000, 30])
  assert.deepEqual([usage.input_tokens, usage.output_tokens], [20, 30])
})

for (const { path, body } of TRANSLATED) {
  test(`a count that shrinks keeps its highest value for a caller of ${path}`, async () => {
    vendor.next(streamOf([MESSAGE_START, BEGIN, DELTA, STOP], SHRINKING))

    const { headers, row } = await askTranslated(path, body)

    assert.deepEqual([row.outcome, row.usage_source], ['completed', 'upstream'])
    assert.deepEqual([row.prompt_tokens, row.cached_tokens, row.completion_tokens], [1120, 1000, 30])
    assert.equal(headers['x-svc-provider'], 'claude')
  })

  test(`a caller of ${path} is billed the prompt that a stream counted before it broke`, async () => {
    vendor.next({ ...streamOf([MESSAGE_START, BEGIN, DELTA, errorEvent('api_error')]), pieceDelayMs: 20 })

    const { row } = await askTranslated(path, body)

    assert.deepEqual([row.outcome, row.prompt_tokens, row.cached_tokens], ['upstream_broke', 1120, 1000])
  })
}

test('an end without a count is estimated, not billed as the one token of the start', async () => {
  const [, ...long] = textBlock(0, 'The quick brown fox jumps over the lazy dog. '.repeat(20)) as MessageEvent[]
  vendor.next(streamOf([MESSAGE_START, BEGIN, ...long], messageEnd({})))

  const { row } = await ask(true)

  assert.deepEqual([row.outcome, row.usage_source, row.prompt_tokens], ['completed', 'estimate', 1120])
  assert.ok(Number(row.completion_tokens) > 100, `${row.completion_tokens} tokens`)
})

test('a block that never ends is ended with the message', async () => {
  vendor.next(streamOf([MESSAGE_START, BEGIN, DELTA], END))

  const { answer } = await ask(true)

  const kinds = eventsOf(answer.text).map(({ type }) => type)
  assert.deepEqual(kinds.slice(-3), ['content_block_stop', 'message_delta', 'message_stop'])
})

test('a stream that ends after its reason, without message_stop, is complete', async () => {
  vendor.next(streamOf([MESSAGE_START, BEGIN, DELTA, STOP], END.slice(0, 1)))

  const { answer, row } = await ask(true)

  assert.deepEqual([eventsOf(answer.text).at(-1)?.type, row.outcome], ['message_stop', 'completed'])
})

async function ask(stream: boolean) {
  const { secret } = await gateway.createKey()
  const body = { model: 'test/claude', max_tokens: 512, stream, messages: [{ role: 'user', content: 'Say hello' }] }
  const answer = await askMessages(gateway, secret, body)
  return { answer, row: await settledRow(gateway, answer.headers['x-request-id']) }
}

async function askTranslated(path: string, body: object) {
  const { secret } = await gateway.createKey()
  const { headers } = await httpCall(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}` },
    body: { model: 'test/claude', stream: true, ...body },
  })
  return { headers, row: await settledRow(gateway, headers['x-request-id']) }
}
