// Large JSON answers: they arrive unchanged, are billed by their own usage, and neither fill the memory nor block the
// event loop, however many arrive at once.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { FORGETFUL, withBounds } from '../../../support/bounds.ts'
import { openFixture } from '../../../support/fixture.ts'
import { watchHealth } from '../../../support/health-watch.ts'
import type { Loose } from '../../../support/http-call.ts'
import { MIB, residentBytes } from '../../../support/memory.ts'
import { request } from '../../../support/node-http.ts'
import { until } from '../../../support/until.ts'
import { settledRow } from '../../../support/usage.ts'

const { gateway, upstream } = await openFixture(undefined, withBounds(FORGETFUL))
// The limit is 1 s on an idle machine; other tests run at the same time here.
const HEALTH_MS_MAX = 4000
const USAGE = { prompt_tokens: 10, completion_tokens: 4000, total_tokens: 4010 }

test("an answer with large logprobs and a long text arrives unchanged, with the gateway's id, model and cost", async () => {
  const content = 'A "quoted" line\n and – wörld 🌍 \\ '.repeat(20_000)
  const choice = { index: 0, message: message(content), logprobs: logprobs(2000), finish_reason: 'stop' }
  upstream.script({ body: answerText([choice]), headers: { 'content-type': 'application/json' } })

  const { status, body, headers } = await gateway.chat<Answered>()

  assert.equal(status, 200)
  assert.deepEqual(body.choices, [{ ...choice, logprobs: { ...choice.logprobs, refusal: null } }])
  assert.equal(body.id, `chatcmpl-${headers['x-request-id']}`)
  assert.equal(body.model, 'test/m1')
  const row = await settledRow(gateway, headers['x-request-id'])
  assert.equal(row.completion_tokens, 4000)
  assert.equal(row.usage_source, 'upstream')
  assert.equal(row.upstream_id, 'chatcmpl-large')
  assert.equal(String(body.usage.cost), row.cost)
})

test('a large answer without usage is billed by an estimate of its text', async () => {
  const words = ' hello'.repeat(200_000)
  const choice = { index: 0, message: message(words), logprobs: null, finish_reason: 'stop' }
  upstream.script({ body: answerText([choice], { usage: undefined }) })

  const { status, headers } = await gateway.chat()

  assert.equal(status, 200)
  const row = await settledRow(gateway, headers['x-request-id'])
  assert.equal(row.usage_source, 'estimate')
  // More than the maximum output: the cap is billed.
  assert.equal(row.completion_tokens, 4096)
})

test('a large answer that is not JSON or is an error is a 502 and free', async () => {
  const long = 'x'.repeat(2 * MIB)
  for (const body of [
    `{"choices":["${long}"]`,
    `{"error":{"message":"${long}"}}`,
    `"${long}"`,
    `{"choices":[${long}]}`,
  ]) {
    upstream.script({ body })

    const { status, headers } = await gateway.chat()

    assert.equal(status, 502)
    assert.equal((await settledRow(gateway, headers['x-request-id'])).cost, '0')
  }
})

test('endless brackets and members delay nobody', async () => {
  const bodies = [
    '['.repeat(4 * MIB),
    `{"choices":${'['.repeat(2 * MIB)}${']'.repeat(2 * MIB)}}`,
    `{"choices":[{"message":{"x":[${'{},'.repeat(MIB)}{}]}}]}`,
    '['.repeat(MIB - 1000),
    `{"choices":[{"message":{"x":[${'{},'.repeat(300_000)}{}]}}]}`,
  ]
  for (const body of bodies) {
    upstream.script({ body })
    const looks = watchHealth(gateway.url)
    const { status } = await gateway.chat()

    assert.equal(status, 502)
    assert.ok((await looks.stop()) < HEALTH_MS_MAX, 'a call to /health took too long')
  }
})

test('events with endless brackets or members break only their own stream', async () => {
  const deep = `data: {"choices":${'['.repeat(400_000)}${']'.repeat(400_000)}}\n\n`
  const many = `data: {"choices":[{"index":0,"delta":{"x":[${'{},'.repeat(300_000)}{}]}}]}\n\n`
  for (const frame of [deep, many]) {
    upstream.script({ rawFrames: [frame, 'data: [DONE]\n\n'] })

    const answer = await gateway.chat({ stream: true })

    assert.equal(answer.status, 502)
  }
})

test('24 answers of 30 MB at once are under 600 MB resident, and /health answers', async () => {
  const choice = { index: 0, message: message('Hi'), logprobs: logprobs(20_500), finish_reason: 'stop' }
  const body = Buffer.from(answerText([choice]))
  assert.ok(body.length > 30_000_000 && body.length < 32 * MIB, `${body.length} bytes`)
  // Half of them with a length, half without.
  let requests = 0
  upstream.script(() => (requests++ % 2 === 0 ? { body } : { rawFrames: [body], contentType: 'application/json' }))
  // From several accounts, so that the node's bound applies.
  const keys = await Promise.all(Array.from({ length: 6 }, () => gateway.createKey()))
  const looks = watchHealth(gateway.url)
  let resident = 0
  const watching = setInterval(() => {
    void residentBytes(gateway).then(bytes => {
      resident = Math.max(resident, bytes)
    })
  }, 50)

  const answers = await Promise.all(Array.from({ length: 24 }, (_, i) => download(keys[i % 6]?.secret ?? '')))

  clearInterval(watching)
  const longest = await looks.stop()
  const [{ digest }] = answers as [Download, ...Download[]]
  for (const answer of answers) assert.deepEqual([answer.status, answer.digest], [200, digest])
  assert.ok(resident < 600_000_000, `${Math.round(resident / 1e6)} MB resident`)
  assert.ok(longest < HEALTH_MS_MAX, `a call to /health took ${Math.round(longest)} ms`)
  await until('all memory is released', async () => /^turnpike_answer_bytes 0$/m.test(await metrics()))
})

async function metrics(): Promise<string> {
  return (await gateway.get('/metrics')).text
}

type Answered = Loose & { readonly choices: unknown; readonly usage: { readonly cost: number } }

function message(content: string): object {
  return { role: 'assistant', content, refusal: null }
}

function answerText(choices: readonly object[], more: object = {}): string {
  return JSON.stringify({
    id: 'chatcmpl-large',
    object: 'chat.completion',
    created: 1,
    model: 'm1',
    choices,
    usage: USAGE,
    ...more,
  })
}

// As OpenAI sends them, with twenty alternatives for each token.
function logprobs(tokens: number): { readonly content: readonly object[] } {
  const one = { token: ' the', logprob: -0.123456789012345, bytes: [32, 116, 104, 101] }
  const alternatives = Array.from({ length: 20 }, () => one)
  return { content: Array.from({ length: tokens }, () => ({ ...one, top_logprobs: alternatives })) }
}

type Download = { readonly status: number; readonly digest: string }

// Keeps only a digest of the answer's choices, which begin after the parts that differ.
async function download(key: string): Promise<Download> {
  const body = JSON.stringify({ model: 'test/m1', messages: [{ role: 'user', content: 'Hi' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': body.length }
  const outgoing = request(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, agent: false })
  outgoing.end(body)
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  const hash = createHash('sha1')
  let skipped = 0
  for await (const piece of incoming as AsyncIterable<Buffer>) {
    const from = Math.min(piece.length, Math.max(0, SKIPPED_BYTES - skipped))
    skipped += from
    hash.update(piece.subarray(from))
  }
  return { status: incoming.statusCode ?? 0, digest: hash.digest('hex') }
}

// The id and the second of its creation, which ends with byte 101.
const SKIPPED_BYTES = 110
