// The scripted upstream follows its plans: caller and journal get what the plan defines.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { DEFAULT_WORDS } from '../support/completion-parts.ts'
import { httpCall } from '../support/http-call.ts'
import { request } from '../support/node-http.ts'
import { assertChatCompletion, assertChunk } from '../support/schemas.ts'
import { openStream } from '../support/sse.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import type { Plan } from '../support/upstream-plan.ts'

const CHAT = { model: 'm1', messages: [{ role: 'user', content: 'Say hello now' }] }
const STREAM = { ...CHAT, stream: true, stream_options: { include_usage: true } }

const call = (upstream: Upstream, body: unknown) =>
  httpCall(`${upstream.url}/chat/completions`, { body, headers: { 'x-request-id': 'r1' } })

const rawCall = async (upstream: Upstream, plan: Plan, body: unknown = STREAM) => {
  upstream.next(plan)
  return call(upstream, body)
}

test('the default words are one token each, so that journal and tokenizer agree', () => {
  for (const word of DEFAULT_WORDS) assert.equal(encode(word).length, 1, word)
  assert.equal(encode(DEFAULT_WORDS.join('')).length, DEFAULT_WORDS.length)
})

test('the empty plan answers in JSON with exact usage, and the journal agrees', async () => {
  await using upstream = await startUpstream()

  const answer = await call(upstream, CHAT)

  assertChatCompletion(answer.body)
  assert.deepEqual(answer.body.usage?.prompt_tokens, 6)
  assert.deepEqual(answer.body.usage?.completion_tokens, 10)
  const [entry] = upstream.journal
  assert.deepEqual(entry?.tokens, { prompt: 6, completion: 10, reasoning: 0 })
  assert.equal(entry?.requestId, 'r1')
  assert.equal(entry?.status, 200)
  assert.equal(entry?.bytes, Buffer.byteLength(answer.text))
  assert.equal(entry?.closedByPeerAt, undefined)
})

test('the empty plan streams valid chunks, with a usage chunk only on request', async () => {
  await using upstream = await startUpstream()

  const asked = (await call(upstream, STREAM)).sse
  const unasked = (await call(upstream, { ...CHAT, stream: true })).sse

  for (const chunk of [...asked.chunks, ...unasked.chunks]) assertChunk(chunk)
  assert.equal(asked.content, DEFAULT_WORDS.join(''))
  assert.equal(asked.doneCount, 1)
  assert.deepEqual(asked.chunks.at(-1)?.choices, [])
  assert.equal(asked.chunks.at(-1)?.usage?.completion_tokens, 10)
  assert.ok(unasked.chunks.every(chunk => chunk.usage === undefined))
})

test('max_tokens cuts the default words', async () => {
  await using upstream = await startUpstream()

  const { sse } = await call(upstream, { ...STREAM, max_tokens: 3 })

  assert.equal(sse.content, 'Hello there,')
  assert.equal(sse.chunks.at(-2)?.choices[0]?.finish_reason, 'length')
  assert.equal(upstream.journal[0]?.tokens.completion, 3)
})

test('the queue takes precedence over the script of a model, and that over the default', async () => {
  await using upstream = await startUpstream()
  upstream.script({ status: 500 })
  upstream.script(entry => ({ words: [String(entry.path)] }), 'm1')
  upstream.next({ status: 429, headers: { 'retry-after': '3' } })

  const queued = await call(upstream, CHAT)
  const byModel = await call(upstream, CHAT)
  const fallback = await call(upstream, { ...CHAT, model: 'other' })

  assert.equal(queued.status, 429)
  assert.equal(queued.headers['retry-after'], '3')
  assert.match(byModel.text, /"content":"\/v1\/chat\/completions"/)
  assert.equal(fallback.status, 500)
})

test('usage can be wrong in every way', async () => {
  await using upstream = await startUpstream()

  const none = await rawCall(upstream, { usage: 'none' })
  const negative = await rawCall(upstream, { usage: { prompt_tokens: -5, completion_tokens: 'many' } })
  const infinite = await rawCall(upstream, { usageText: '{"prompt_tokens":1e999}' })
  const perChunk = await rawCall(upstream, { usage: 'perChunk' })
  const withFinish = await rawCall(upstream, { usage: 'withFinish' })

  assert.ok(none.sse.chunks.every(chunk => chunk.usage === null))
  assert.match(negative.text, /"usage":\{"prompt_tokens":-5,"completion_tokens":"many"\}/)
  assert.match(infinite.text, /"usage":\{"prompt_tokens":1e999\}/)
  assert.deepEqual(
    perChunk.sse.chunks.slice(0, 4).map(chunk => chunk.usage?.completion_tokens),
    [0, 1, 2, 3],
  )
  assert.equal(withFinish.sse.chunks.at(-1)?.choices[0]?.finish_reason, 'stop')
  assert.equal(withFinish.sse.chunks.at(-1)?.usage?.completion_tokens, 10)
})

test('framing follows the plan: line ends, BOM, comments, empty lines, garbage, one byte at a time', async () => {
  await using upstream = await startUpstream()
  const words = ['Zürich', ' 🚀']

  for (const eol of ['\n', '\r\n', '\r'] as const) {
    const { sse } = await rawCall(upstream, { words, eol, oneByteAtATime: true, comments: true, emptyLines: 5 })
    assert.equal(sse.content, 'Zürich 🚀')
    assert.equal(sse.done, true)
    assert.ok(sse.comments.length > 3)
  }
  const bom = await rawCall(upstream, { bom: true })
  const garbage = await rawCall(upstream, { garbageFrame: '{oops' })

  assert.equal(bom.text.charCodeAt(0), 0xfeff)
  assert.match(garbage.text, /data: \{oops\n\n/)
})

test('[DONE] can be missing, early or twice', async () => {
  await using upstream = await startUpstream()

  const missing = await rawCall(upstream, { done: 'missing' })
  const early = await rawCall(upstream, { done: 'early' })
  const twice = await rawCall(upstream, { done: 'twice' })

  assert.equal(missing.sse.done, false)
  assert.ok(early.sse.afterDone > 3)
  assert.equal(twice.sse.doneCount, 2)
})

test('tool calls, reasoning and several choices come in both forms and count as output', async () => {
  await using upstream = await startUpstream()
  const plan: Plan = { toolCalls: [{ name: 'f', arguments: '{"a":1}' }], reasoning: ['hm', ' so'], n: 2 }

  const json = await rawCall(upstream, plan, CHAT)
  const { sse } = await rawCall(upstream, plan)

  assertChatCompletion(json.body)
  for (const chunk of sse.chunks) assertChunk(chunk)
  assert.equal(json.body.choices?.[1]?.finish_reason, 'tool_calls')
  assert.deepEqual(
    upstream.journal.map(entry => entry.tokens),
    Array(2).fill({ prompt: 6, completion: 6, reasoning: 4 }),
  )
})

test('it dies after exactly the given number of bytes or chunks', async () => {
  await using upstream = await startUpstream()

  await assert.rejects(rawCall(upstream, { resetBeforeHeaders: true }), { code: 'ECONNRESET' })
  await assert.rejects(rawCall(upstream, { dieAfterBytes: 700 }), { code: 'ECONNRESET' })
  await assert.rejects(rawCall(upstream, { dieAfterBytes: 100 }, CHAT), { code: 'ECONNRESET' })
  upstream.next({ dieAfterChunks: 2, dieBy: 'reset' })
  using stream = await openStream(`${upstream.url}/chat/completions`, { body: STREAM })
  const contents = [await stream.nextChunk(), await stream.nextChunk(), await stream.nextChunk()]
  await assert.rejects(stream.nextChunk())

  assert.deepEqual(
    contents.map(chunk => chunk?.choices[0]?.delta.content),
    ['', 'Hello', ' there'],
  )
  assert.deepEqual(
    upstream.journal.slice(1).map(entry => [entry.bytes, entry.chunks, entry.closedByPeerAt]),
    [
      [700, 1, undefined],
      [100, 0, undefined],
      [upstream.journal[3]?.bytes, 2, undefined],
    ],
  )
})

test('an error frame ends the stream', async () => {
  await using upstream = await startUpstream()

  const { sse } = await rawCall(upstream, { errorFrameAfterChunks: 2 })

  assert.equal(sse.content, 'Hello there')
  assert.equal(sse.chunks.length, 4)
  assert.equal(sse.done, false)
})

test('a stalled stream hangs until the caller disconnects, and the journal records when', async () => {
  await using upstream = await startUpstream()
  upstream.next({ stallAfterChunks: 3 })
  using stream = await openStream(`${upstream.url}/chat/completions`, { body: STREAM })
  for (let i = 0; i < 4; i++) await stream.nextChunk()
  await setTimeout(30)
  assert.equal(upstream.inFlight, 1)

  const leftAt = Date.now()
  stream.abort()
  await upstream.idle()

  const [entry] = upstream.journal
  assert.equal(entry?.tokens.completion, 3)
  assert.ok((entry?.closedByPeerAt ?? 0) >= leftAt)
  assert.ok((entry?.closedByPeerAt ?? 0) - leftAt < 100)
})

test('headers can be anything: redirects, cookies, HTML, 204, exact bodies and exact frames', async () => {
  await using upstream = await startUpstream()

  const redirect = await rawCall(upstream, { redirectTo: 'http://169.254.169.254/' })
  const cookie = await rawCall(upstream, { setCookie: ['a=1', 'b=2'], extraHeaders: { 'x-svc-cost': '9' } })
  const html = await rawCall(upstream, { body: '<html>', contentType: 'text/html' })
  const nothing = await rawCall(upstream, { status: 204 })
  const frames = await rawCall(upstream, { rawFrames: ['data: {"a"', ':1}\n', '\n'] })

  assert.equal(redirect.status, 302)
  assert.equal(redirect.headers.location, 'http://169.254.169.254/')
  assert.deepEqual(cookie.headers['set-cookie'], ['a=1', 'b=2'])
  assert.equal(cookie.headers['x-svc-cost'], '9')
  assert.equal(html.text, '<html>')
  assert.equal(nothing.status, 204)
  assert.equal(frames.text, 'data: {"a":1}\n\n')
})

test('a gzip bomb is small on the wire and large inside', async () => {
  await using upstream = await startUpstream()
  upstream.next({ gzipBomb: 50_000_000 })

  const outgoing = request(`${upstream.url}/chat/completions`, { method: 'POST' }).end(JSON.stringify(CHAT))
  const [incoming] = await once(outgoing, 'response')
  const wire = Buffer.concat(await incoming.toArray())

  assert.ok(wire.length < 200_000)
  assert.equal(gunzipSync(wire).length, 50_000_000)
})

test('a caller that never reads blocks an endless answer: nothing is buffered', async () => {
  await using upstream = await startUpstream()
  for (const plan of [{ chunks: 1_000_000, chunkBytes: 1024 }, { endlessLine: true }] as const) {
    upstream.next(plan)
    const outgoing = request(`${upstream.url}/chat/completions`, { method: 'POST' }).end(JSON.stringify(STREAM))
    await once(outgoing, 'response')
    await setTimeout(200)
    const early = upstream.journal.at(-1)?.bytes ?? 0
    await setTimeout(200)

    assert.equal(upstream.journal.at(-1)?.bytes, early)
    assert.ok(early < 32_000_000, `${early} bytes written`)
    outgoing.destroy()
    await upstream.idle()
  }
})
