// Endless upstream answers: lines, events and answers that never end are cut at their bound, and the gateway's memory
// does not grow.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import type { Loose } from '../../../support/http-call.ts'
import { MIB, residentBytes } from '../../../support/memory.ts'
import { settledRow, type UsageRow } from '../../../support/usage.ts'

// With so small a heap, buffering an endless answer ends the process.
const { gateway, upstream } = await openFixture(undefined, { nodeArgs: ['--max-old-space-size=96'] })
await gateway.chat({ stream: true })
const before = await residentBytes(gateway)

test('an endless line is a 502 after 1 MiB, with any number at once', async () => {
  upstream.script({ endlessLine: true })

  const answers = await Promise.all(Array.from({ length: 8 }, () => gateway.chat({ stream: true })))

  for (const answer of answers) {
    assert.equal(answer.status, 502)
    assertBilled(await settledRow(gateway, answer.headers['x-request-id']))
  }
  assert.equal(upstream.journal.length, 1 + 8, 'it was tried elsewhere')
  await upstream.idle()
  for (const entry of upstream.journal) assert.ok(entry.bytes < 32 * MIB, `${entry.bytes} bytes were read`)
})

test('an event under 1 MiB is forwarded, and a larger one breaks the stream', async () => {
  const event = (bytes: number) =>
    `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(bytes)}"},"finish_reason":null}]}\n\n`
  const end = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
  upstream.script({ rawFrames: [event(MIB - 1000), end] })
  const whole = await (await gateway.openChat()).rest()
  upstream.script({ rawFrames: [event(5), event(MIB), end] })
  const broken = await (await gateway.openChat()).rest()

  assert.equal(whole.content.length, MIB - 1000)
  assert.equal(broken.content, 'xxxxx')
  assert.equal(broken.chunks.at(-1)?.error?.code, 'all_providers_failed')
  assert.equal(broken.done, true)
})

test('an endless JSON answer or error body is cut', async () => {
  const body = Buffer.alloc(200 * MIB, ' ')
  upstream.script({ body })
  const seen = upstream.journal.length
  const whole = await gateway.chat<Loose>()
  assert.equal(upstream.journal.length, seen + 1, 'it was tried elsewhere')
  upstream.script({ status: 500, body })
  const error = await gateway.chat()

  assert.deepEqual([whole.status, error.status], [502, 502])
  assert.match(String(whole.body.error?.message), /larger than this gateway accepts/)
  assertBilled(await settledRow(gateway, whole.headers['x-request-id']))
  assert.equal(whole.headers['x-svc-cost'], (await settledRow(gateway, whole.headers['x-request-id'])).cost)
  assert.equal((await settledRow(gateway, error.headers['x-request-id'])).cost, '0')
  for (const entry of upstream.journal.slice(-2)) assert.ok(entry.bytes <= body.length)
  await upstream.idle()
  assert.ok((upstream.journal.at(-1)?.closedByPeerAt ?? 0) > 0)
})

test('answers past the bound do not count as failures of their target', async () => {
  upstream.script({ body: Buffer.alloc(33 * MIB, ' ') })
  for (let i = 0; i < 12; i++) assert.equal((await gateway.chat()).status, 502)
  upstream.script({})

  assert.equal((await gateway.chat()).status, 200)
  const { text } = await gateway.get('/metrics')
  assert.doesNotMatch(text, /breaker_opened"?\} [1-9]/)
})

test('a gzip bomb is not unpacked', async () => {
  upstream.script({ gzipBomb: 1024 * MIB })

  const [json, stream] = await Promise.all([gateway.chat(), gateway.chat({ stream: true })])

  assert.deepEqual([json.status, stream.status], [502, 502])
})

test('a million empty lines and 200,000 empty deltas before the first content are tolerated', async () => {
  upstream.script({ emptyLines: 1_000_000 })
  const lines = await (await gateway.openChat()).rest()
  upstream.script({ words: [...Array.from({ length: 200_000 }, () => ''), 'Hi'] })
  const deltas = await (await gateway.openChat()).rest()

  assert.ok(lines.content.startsWith('Hello'))
  assert.equal(deltas.content, 'Hi')
  assert.ok(deltas.chunks.length < 1000, `${deltas.chunks.length} chunks`)
})

test("after all that the gateway's memory has not grown", async () => {
  upstream.script({})
  const answer = await gateway.chat()

  const grown = (await residentBytes(gateway)) - before
  assert.equal(answer.status, 200)
  assert.ok(grown < 200 * MIB, `resident memory grew by ${Math.round(grown / MIB)} MiB`)
})

// The output cannot be counted: the prompt and the maximum output are billed.
function assertBilled(row: UsageRow): void {
  assert.ok(row.prompt_tokens > 0)
  assert.equal(row.completion_tokens, 4096)
  assert.equal(row.usage_source, 'estimate')
  assert.equal(row.outcome, 'upstream_broke')
  assert.equal(row.provider, 'up')
}
