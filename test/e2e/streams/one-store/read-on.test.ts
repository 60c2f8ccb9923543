// Cases in which cancelling the upstream call would lose the usage: an answer that lacks only its usage, a whole
// answer, and hidden reasoning. The upstream is then read to its end without the caller, and the request keeps its
// slot.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { openFixture } from '../../../support/fixture.ts'
import { openRaw } from '../../../support/raw-http.ts'
import { standardConfig, standardModel, standardProvider } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import type { JournalEntry } from '../../../support/upstream-journal.ts'
import { nano, settledRow, type UsageRow } from '../../../support/usage.ts'

const LIMIT = 40
const { gateway, upstream } = await openFixture(url =>
  standardConfig(url, {
    providers: [
      standardProvider(url, { passthrough: ['reasoning', 'include_reasoning', 'reasoning_format'] }),
      standardProvider(url, { id: 'hasty', timeouts: { total: 1, idle: 1, first_byte_json: 1, first_byte_stream: 1 } }),
    ],
    models: [
      standardModel(),
      standardModel({ id: 'test/thinker', hidden_reasoning: true, targets: [{ provider: 'up', model: 'thinker' }] }),
      standardModel({ id: 'openai/o3-2025-04-16', targets: [{ provider: 'up', model: 'deployment' }] }),
      standardModel({ id: 'test/named', targets: [{ provider: 'up', model: 'openai/o4-mini-2025-04-16' }] }),
      standardModel({
        id: 'test/stated',
        hidden_reasoning: false,
        targets: [{ provider: 'up', model: 'o3-mini' }],
      }),
      standardModel({ id: 'test/hasty', targets: [{ provider: 'hasty', model: 'o3' }] }),
    ],
  }),
)
const usage = { prompt_tokens: 50, completion_tokens: 700, completion_tokens_details: { reasoning_tokens: 690 } }

test('a disconnect between finish reason and usage is billed by the usage', async () => {
  const frame = (delta: object, finish_reason: string | null) => ({ choices: [{ index: 0, delta, finish_reason }] })
  const frames = [frame({ content: 'Hi' }, null), frame({}, 'stop'), { choices: [], usage }]
  upstream.next({
    rawFrames: [...frames.map(data => `data: ${JSON.stringify(data)}\n\n`), 'data: [DONE]\n\n'],
    chunkDelayMs: 200,
  })

  const stream = await gateway.openChat()
  while ((await stream.nextChunk())?.choices[0]?.finish_reason !== 'stop');
  stream.abort()

  const row = await settledRow(gateway, stream.headers['x-request-id'])
  assert.deepEqual(
    [row.outcome, row.prompt_tokens, row.completion_tokens, row.reasoning_tokens, row.usage_source],
    ['client_left', 50, 700, 690, 'upstream'],
  )
  assert.equal(upstream.journal.at(-1)?.closedByPeerAt, undefined)
})

test('a disconnect with one of two choices finished cancels both and bills both', async () => {
  const frame = (index: number, content: string, finish_reason: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index, delta: { content }, finish_reason }] })}\n\n`
  upstream.next({
    rawFrames: [
      frame(1, ' there', null),
      frame(0, 'Hello', 'stop'),
      ...Array<string>(200).fill(frame(1, ' you', null)),
    ],
    chunkDelayMs: 50,
  })

  const stream = await gateway.openChat({ n: 2 })
  while ((await stream.nextChunk())?.choices[0]?.finish_reason !== 'stop');
  stream.abort()

  const row = await settledRow(gateway, stream.headers['x-request-id'], 6_000)
  assert.deepEqual([row.outcome, row.finish_reason, row.usage_source], ['client_left', null, 'estimate'])
  assert.ok(row.completion_tokens >= 2)
  await upstream.idle(1_000)
})

for (const stream of [false, true]) {
  test(`a model with hidden reasoning is read to its end before the first byte, with ${stream ? 'a stream' : 'JSON'}`, async () => {
    upstream.next({ delayMs: 400, usage })

    const entry = await leftBeforeFirstByte(stream)

    const row = await settledRow(gateway, entry.requestId)
    assert.deepEqual(
      [row.outcome, row.prompt_tokens, row.completion_tokens, row.usage_source],
      ['client_left', 50, 700, 'upstream'],
    )
    assert.equal(entry.closedByPeerAt, undefined)
  })
}

test('a model with hidden reasoning is read to its end midway', async () => {
  upstream.next({ chunkDelayMs: 30, usage })
  const stream = await gateway.openChat({ model: 'test/thinker' })
  await stream.nextChunk()
  await stream.nextChunk()
  stream.abort()

  const row = await settledRow(gateway, stream.headers['x-request-id'])
  assert.deepEqual([row.outcome, row.finish_reason, row.completion_tokens], ['client_left', 'stop', 700])
})

test('a model with hidden reasoning that fails after the disconnect costs nothing', async () => {
  upstream.next({ delayMs: 300, status: 500 })

  const entry = await leftBeforeFirstByte(true)

  const row = await settledRow(gateway, entry.requestId)
  assert.equal(row.cost, '0')
})

for (const model of ['openai/o3-2025-04-16', 'test/named']) {
  test(`${model} is known to reason and is read to its end without configuration`, async () => {
    upstream.next({ chunkDelayMs: 30, usage })

    assert.equal((await leftMidway({ model })).completion_tokens, 700)
  })
}

test("the operator's setting takes precedence over the known models", async () => {
  upstream.next({ chunks: 400, chunkDelayMs: 30, usage })

  const row = await leftMidway({ model: 'test/stated' })

  assert.ok(row.completion_tokens < 400, `${row.completion_tokens}`)
  await upstream.idle(1_000)
})

for (const hidden of [
  { reasoning: { exclude: true } },
  { include_reasoning: false },
  { reasoning_format: 'hidden' },
  { reasoning_effort: 'high' },
]) {
  test(`a request with ${JSON.stringify(hidden)} is read to its end with any model`, async () => {
    upstream.next({ chunkDelayMs: 30, usage })

    assert.equal((await leftMidway(hidden)).completion_tokens, 700)
  })
}

test('a plain stream is cancelled, and a JSON call of the same model is read to its end', async () => {
  upstream.next({ chunks: 400, chunkDelayMs: 30, usage })
  assert.ok((await leftMidway({})).completion_tokens < 400)
  upstream.next({ delayMs: 400, usage })

  const entry = await leftBeforeFirstByte(false, 'test/m1')

  const row = await settledRow(gateway, entry.requestId)
  assert.deepEqual([row.outcome, row.completion_tokens, row.usage_source], ['client_left', 700, 'upstream'])
})

test('without usage a caller that disconnected pays the cap, not only the visible output', async () => {
  upstream.next({ chunkDelayMs: 30, usage: 'none' })
  assert.equal((await leftMidway({ model: 'test/thinker', max_tokens: 900 })).completion_tokens, 900)
  upstream.next({ delayMs: 5_000, usage })

  const entry = await leftBeforeFirstByte(false, 'test/hasty')

  const row = await settledRow(gateway, entry.requestId)
  assert.deepEqual([row.outcome, row.completion_tokens, row.usage_source], ['client_left', 4096, 'estimate'])
  assert.ok(nano(row.cost) <= nano(row.hold))
})

test('many concurrent disconnects are each billed and keep their slot until they are settled', async () => {
  const caller = await gateway.createKey({ max_concurrent: LIMIT })
  const going = Promise.withResolvers<void>()
  upstream.script(() => going.promise.then(() => ({ usage })), 'thinker')

  const entries = await Promise.all(
    Array.from({ length: LIMIT }, () => leftBeforeFirstByte(true, 'test/thinker', caller.secret)),
  )
  const refused = await gateway.chat({}, { key: caller.secret })
  going.resolve()

  assert.equal(refused.body.error?.code, 'concurrency_exceeded')
  const rows = await Promise.all(entries.map(entry => settledRow(gateway, entry.requestId)))
  assert.equal(rows.filter(row => row.usage_source === 'upstream' && row.completion_tokens === 700).length, LIMIT)
  assert.equal(entries.filter(entry => entry.closedByPeerAt !== undefined).length, 0)
  await until('the slots are free', async () => (await gateway.chat({}, { key: caller.secret })).status === 200)
})

for (const [what, model, stream] of [
  ['a JSON call', 'test/m1', false],
  ['hidden reasoning', 'test/thinker', true],
] as const) {
  test(`the slot of ${what} is kept while it is read to its end after the disconnect`, async () => {
    const caller = await gateway.createKey({ max_concurrent: 1 })
    const going = Promise.withResolvers<void>()
    upstream.next(() => going.promise.then(() => ({ usage })))
    const before = upstream.journal.length
    using connection = await openRaw(gateway.port)
    const chat = JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Hello' }] })
    connection.send(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${caller.secret}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${chat.length}\r\n\r\n${chat}`,
    )
    await upstream.received(before + 1)
    connection.halfClose()
    // It closes its side once it has noticed.
    assert.equal(await connection.closed(30_000), true)

    const refused = await gateway.chat({}, { key: caller.secret })
    going.resolve()

    assert.equal(refused.body.error?.code, 'concurrency_exceeded')
    const row = await settledRow(gateway, upstream.journal[before]?.requestId)
    assert.deepEqual([row.outcome, row.completion_tokens], ['client_left', 700])
    await until('the slot is free', async () => (await gateway.chat({}, { key: caller.secret })).status === 200)
  })
}

test('a request that is cut while it is read to its end costs the cap', async () => {
  const caller = await gateway.createKey()
  upstream.next({ delayMs: 20_000, usage })
  const entry = await leftBeforeFirstByte(true, 'test/thinker', caller.secret)

  await gateway.admin('POST', `/keys/${caller.id}/revoke`, { abort_streams: true })

  const row = await settledRow(gateway, entry.requestId)
  assert.deepEqual([row.outcome, row.completion_tokens], ['client_left', 4096])
})

async function leftMidway(body: object): Promise<UsageRow> {
  const stream = await gateway.openChat(body)
  await stream.nextChunk()
  await stream.nextChunk()
  stream.abort()
  return settledRow(gateway, stream.headers['x-request-id'])
}

// Each caller has its own word, so that its call can be identified in the journal.
async function leftBeforeFirstByte(stream: boolean, model = 'test/thinker', key?: string): Promise<JournalEntry> {
  const word = crypto.randomUUID()
  const leaving = new AbortController()
  const body = { model, messages: [{ role: 'user', content: word }], stream }
  gateway.chat(body, { signal: leaving.signal, ...(key === undefined ? {} : { key }) }).catch(() => {})
  for (;;) {
    const entry = upstream.journal.find(candidate => candidate.rawBody.includes(word))
    if (entry === undefined) {
      await setTimeout(5)
      continue
    }
    leaving.abort()
    return entry
  }
}
