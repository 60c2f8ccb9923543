// The two cases where letting the upstream go would lose the count: an answer that is finished but for its usage, and
// reasoning that nobody sees. There the upstream is read on without the caller, a bounded number at a time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { settledRow } from '../kit/bookings.ts'
import { openScene } from '../kit/scene.ts'
import { standardConfig, standardModel } from '../kit/standard-config.ts'
import type { JournalEntry } from '../kit/upstream-journal.ts'

const { gateway, upstream } = await openScene(url =>
  standardConfig(url, {
    models: [
      standardModel(),
      standardModel({ id: 'test/thinker', hidden_reasoning: true, targets: [{ provider: 'up', model: 'thinker' }] }),
    ],
  }),
)
const usage = { prompt_tokens: 50, completion_tokens: 700, completion_tokens_details: { reasoning_tokens: 690 } }

test('a caller that leaves between the finish reason and the usage is billed by the usage', async () => {
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

test('of two choices one has finished and one still speaks: a caller that leaves lets both go, and pays for what both said', async () => {
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

  const row = await settledRow(gateway, stream.headers['x-request-id'], 3_000)
  assert.deepEqual([row.outcome, row.finish_reason, row.usage_source], ['client_left', null, 'estimate'])
  assert.ok(row.completion_tokens >= 2)
  await upstream.idle(1_000)
})

for (const stream of [false, true]) {
  test(`a model that reasons in hiding is read on before its first byte, asked for ${stream ? 'a stream' : 'JSON'}`, async () => {
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

test('a model that reasons in hiding is read on midway', async () => {
  upstream.next({ chunkDelayMs: 30, usage })
  const stream = await gateway.openChat({ model: 'test/thinker' })
  await stream.nextChunk()
  await stream.nextChunk()
  stream.abort()

  const row = await settledRow(gateway, stream.headers['x-request-id'])
  assert.deepEqual([row.outcome, row.finish_reason, row.completion_tokens], ['client_left', 'stop', 700])
})

test('a model that reasons in hiding and fails after its caller left costs nothing', async () => {
  upstream.next({ delayMs: 300, status: 500 })

  const entry = await leftBeforeFirstByte(true)

  const row = await settledRow(gateway, entry.requestId)
  assert.equal(row.cost, '0')
})

test('at most sixteen of an account are read on at once; more are let go, and billed for their prompt', async () => {
  const going = Promise.withResolvers<void>()
  upstream.script(() => going.promise.then(() => ({ usage })), 'thinker')

  const entries = await Promise.all(Array.from({ length: 20 }, () => leftBeforeFirstByte(true)))
  const letGo = () => entries.filter(entry => entry.closedByPeerAt !== undefined).length
  for (let i = 0; i < 500 && letGo() < 4; i++) await setTimeout(10)
  going.resolve()

  const rows = await Promise.all(entries.map(entry => settledRow(gateway, entry.requestId)))
  assert.equal(rows.filter(row => row.usage_source === 'upstream').length, 16)
  assert.equal(rows.filter(row => row.usage_source === 'estimate' && row.completion_tokens === 0).length, 4)
  assert.equal(letGo(), 4)

  upstream.script({ delayMs: 300, usage }, 'thinker')
  const again = await leftBeforeFirstByte(true)
  assert.equal((await settledRow(gateway, again.requestId)).usage_source, 'upstream')
})

// Each caller has a word of its own, so that its call can be told from others in the journal.
async function leftBeforeFirstByte(stream: boolean): Promise<JournalEntry> {
  const word = crypto.randomUUID()
  const leaving = new AbortController()
  const body = { model: 'test/thinker', messages: [{ role: 'user', content: word }], stream }
  gateway.chat(body, { signal: leaving.signal }).catch(() => {})
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
