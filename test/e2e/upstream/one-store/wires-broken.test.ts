// Vendors that break, stall, send invalid data or never end, and callers that disconnect or do not read, with the AI
// SDK's providers: the same results as with OpenAI-compatible ones.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import * as anthropic from '../../../fixtures/wires/anthropic.ts'
import * as bedrock from '../../../fixtures/wires/bedrock.ts'
import * as cohere from '../../../fixtures/wires/cohere.ts'
import * as google from '../../../fixtures/wires/google.ts'
import { startGateway } from '../../../support/gateway.ts'
import { MIB } from '../../../support/memory.ts'
import { openRaw } from '../../../support/raw-http.ts'
import { assertRefusal } from '../../../support/refusal.ts'
import { assertErrorChunk } from '../../../support/schemas.ts'
import { standardModel } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import { settledRow } from '../../../support/usage.ts'
import { amazonAnswer, jsonAnswer, sseAnswer, startVendor, type VendorAnswer } from '../../../support/vendor.ts'
import { WIRES, wiresConfig } from '../../../support/wires.ts'

// The contract allows 100 ms; a busy machine gets more.
const AT_ONCE_MS = 1_000
const SDK = WIRES.filter(({ kind }) => kind !== 'openai').map(({ kind }) => kind as keyof typeof STREAMS)
const STREAMS = {
  anthropic: sseAnswer(anthropic.stream, true),
  google: sseAnswer(google.stream, false),
  vertex: sseAnswer(google.stream, false),
  bedrock: amazonAnswer(bedrock.stream),
  cohere: sseAnswer(cohere.stream, true),
}
// Up to the first word and one more, without an end.
const BEGUN = 3

const vendor = await startVendor()
const config = wiresConfig(vendor.origin) as { providers: object[]; models: object[] }
const timeouts = { connect: 1, first_byte_stream: 0.6, first_byte_json: 0.6, idle: 0.6 }
const nobody = { id: 'nobody', kind: 'anthropic', api_key: 'k', base_url: 'http://127.0.0.1:1' }
const gateway = await startGateway({
  config: {
    providers: [...config.providers.map(provider => ({ ...provider, timeouts })), nobody],
    models: [
      ...config.models,
      standardModel({ id: 'test/nobody', targets: [{ provider: 'nobody', model: 'claude-opus-4-7' }] }),
      standardModel({
        id: 'test/two',
        targets: [
          { provider: 'anthropic', model: 'claude-opus-4-7', priority: 0 },
          { provider: 'cohere', model: 'command-a-03-2025', priority: 1 },
        ],
      }),
    ],
  },
})
after(async () => {
  const { ok, output } = await gateway.audit()
  await gateway[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
  assert.ok(ok, `the audit found: ${JSON.stringify(output)}`)
})

const begun = (answer: VendorAnswer, more: Partial<VendorAnswer> = {}): VendorAnswer => ({
  ...answer,
  pieces: answer.pieces.slice(0, BEGUN + 2),
  ...more,
})
const ask = (kind: string, more: object = {}) => gateway.chat({ model: `test/${kind}`, ...more })

for (const kind of SDK) {
  for (const [how, last] of [
    ['dies', 'die'],
    ['falls silent', 'hang'],
    ['ends as if it were complete', undefined],
  ] as const) {
    test(`${kind}: a stream that ${how} midway ends with an error event, and the row has it`, async () => {
      vendor.next(begun(STREAMS[kind], last === undefined ? {} : { last }))

      const answer = await ask(kind, { stream: true })

      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.sse.done, true)
      assertErrorChunk(answer.sse.chunks.at(-1))
      const row = await settledRow(gateway, answer.headers['x-request-id'])
      assert.deepEqual([row.outcome, row.usage_source], ['upstream_broke', 'estimate'])
    })
  }

  test(`${kind}: a disconnect cancels the upstream call at once`, async () => {
    // It is never silent, so that no timeout cancels it.
    const { pieces } = STREAMS[kind]
    const more = Array.from({ length: 200 }, () => pieces[3]!)
    vendor.next({ ...STREAMS[kind], pieces: [...pieces.slice(0, 4), ...more], pieceDelayMs: 30 })
    const stream = await gateway.openChat({ model: `test/${kind}` })
    await stream.nextChunk()
    const entry = vendor.requests.at(-1)!

    const leftAt = Date.now()
    stream.abort()

    await until("the vendor's call is cancelled", () => entry.closedAt !== undefined, AT_ONCE_MS)
    assert.ok((entry.closedAt ?? 0) - leftAt < AT_ONCE_MS)
    assert.equal((await settledRow(gateway, stream.headers['x-request-id'])).outcome, 'client_left')
  })

  test(`${kind}: silence before the first byte is a timeout, as JSON and as a stream`, async () => {
    for (const stream of [false, true]) {
      vendor.next({ ...STREAMS[kind], pieces: [], last: 'hang' })

      assertRefusal(await ask(kind, { stream }), 'upstream_timeout')
    }
  })

  test(`${kind}: an endless event is not buffered`, async () => {
    const isFramed = kind === 'bedrock'
    const head = isFramed ? Buffer.from([0x7f, 0xff, 0xff, 0xff]) : 'data: "'
    vendor.next({ ...STREAMS[kind], pieces: [head], endless: 'x'.repeat(65_536) })

    const answer = await ask(kind, { stream: true })

    await assertTooLarge(answer)
    assert.ok((vendor.requests.at(-1)?.bytes ?? 0) < 8 * 1024 * 1024)
  })

  test(`${kind}: HTML instead of an answer is an invalid response, as JSON and as a stream`, async () => {
    for (const stream of [false, true]) {
      vendor.next({ type: 'text/html', pieces: ['<html>Welcome</html>'] })

      const answer = await ask(kind, { stream })

      assertRefusal(answer, 'all_providers_failed')
      const row = await settledRow(gateway, answer.headers['x-request-id'])
      assert.deepEqual([row.attempts[0]?.outcome, row.cost], ['invalid_response', '0'])
    }
  })

  test(`${kind}: a redirect is not followed`, async () => {
    vendor.next({ status: 302, headers: { location: `${vendor.origin}/elsewhere` }, pieces: [] })

    assertRefusal(await ask(kind), 'all_providers_failed')

    assert.notEqual(vendor.requests.at(-1)?.path, '/elsewhere')
  })
}

const ERRORS = [
  ['anthropic', sseAnswer([{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }], true)],
  ['google', sseAnswer([{ error: { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED' } }], false)],
  ['bedrock', amazonAnswer([{ throttlingException: { message: 'Too many requests' } }])],
] as const
for (const [kind, answer] of ERRORS) {
  test(`${kind}: an error inside a stream means the same as before it`, async () => {
    vendor.next(answer)

    assertRefusal(await ask(kind, { stream: true }), 'provider_unavailable')
  })
}

test('anthropic: a stream that ends before its first content is an invalid response', async () => {
  vendor.next({ ...STREAMS.anthropic, pieces: STREAMS.anthropic.pieces.slice(0, 1) })

  const answer = await ask('anthropic', { stream: true })

  assertRefusal(answer, 'all_providers_failed')
  assert.equal((await settledRow(gateway, answer.headers['x-request-id'])).attempts[0]?.outcome, 'interrupted')
})

test("google: a rejected key is an upstream error, not the caller's", async () => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }]
  const error = { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT', details }
  vendor.next({ status: 400, pieces: [JSON.stringify({ error })] })

  const answer = await ask('google')

  assertRefusal(answer, 'all_providers_failed')
  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.equal(row.attempts[0]?.outcome, 'credential')
})

test('an answer over its bound is cut off', async () => {
  vendor.next({ pieces: ['{"id":"'], endless: 'x'.repeat(1_048_576) })

  const answer = await ask('anthropic')

  await assertTooLarge(answer)
})

// It was produced, so it is billed, and not tried elsewhere.
async function assertTooLarge(answer: Awaited<ReturnType<typeof ask>>): Promise<void> {
  assert.equal(answer.status, 502)
  assert.match(answer.text, /larger than this gateway accepts/)
  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.equal(row.outcome, 'upstream_broke')
  assert.equal(row.attempts.length, 1)
  assert.ok(Number(row.cost) > 0)
  assert.equal(answer.headers['x-svc-cost'], row.cost)
}

test('an unrequested content encoding is an invalid response', async () => {
  vendor.next({ ...jsonAnswer(anthropic.json), headers: { 'content-encoding': 'gzip' } })

  assertRefusal(await ask('anthropic'), 'all_providers_failed')
})

test('an unreachable vendor is recorded as refused in the row', async () => {
  const answer = await ask('nobody')

  assertRefusal(answer, 'all_providers_failed')
  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.equal(row.attempts[0]?.outcome, 'refused')
})

test('a vendor that fails before its first content fails over to another kind of provider', async () => {
  vendor.next({ status: 500, pieces: ['{}'] })
  vendor.next(STREAMS.cohere)

  const answer = await ask('two', { stream: true })

  assert.equal(answer.sse.content, 'Let me look.')
  assert.equal(answer.headers['x-svc-provider'], 'cohere')
})

test('a caller that does not read slows the vendor down without buffering', async () => {
  const word = { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'x'.repeat(1000) } }
  const { pieces } = STREAMS.anthropic
  const endless = sseAnswer([word], true).pieces[0]!
  vendor.next({ type: 'text/event-stream', pieces: [pieces[0]!, pieces[7]!], endless })
  const { secret } = await gateway.createKey()
  using connection = await openRaw(gateway.port)
  const body = JSON.stringify({ model: 'test/anthropic', stream: true, messages: [{ role: 'user', content: 'hi' }] })
  connection.send(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await until('the first words come', () => connection.received.includes('xxx'))
  const entry = vendor.requests.at(-1)!

  connection.pause()
  for (let before = -1; before !== entry.bytes; ) {
    before = entry.bytes
    await setTimeout(1000)
  }

  // It stands still, except for the kernel's socket buffers on both sides of the gateway.
  assert.equal(entry.closedAt, undefined)
  assert.ok(entry.bytes < 16 * MIB, `the vendor sent ${Math.round(entry.bytes / MIB)} MiB`)
})
