// A caller that disconnects: the upstream call is cancelled at once, however the connection ended, and the row is
// settled for the prompt and the output so far.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { openFixture, warmTokenizer } from '../../support/fixture.ts'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import { openRaw } from '../../support/raw-http.ts'
import { until } from '../../support/until.ts'
import type { JournalEntry } from '../../support/upstream-journal.ts'
import { balanceOf, nano, settledRow, type UsageRow } from '../../support/usage.ts'

const { gateway, upstream } = await openFixture()
await warmTokenizer({ gateway, upstream })
const caller = await gateway.createKey()
const body = { model: 'test/m1', messages: [{ role: 'user', content: 'Say hello' }] }
const PROMPT_ESTIMATE = 2 + 4 + 3
// The contract allows 100 ms; a busy machine gets more.
const AT_ONCE_MS = 1_000

test('before the first byte: the upstream call is cancelled at once, and the prompt is billed', async () => {
  const { entry, leave } = await unanswered()

  const leftAt = Date.now()
  leave()

  const row = await settledRow(gateway, entry.requestId)
  await assertLetGo(entry, leftAt)
  assertLeft(row, 0)
})

test('midway: the upstream call is cancelled at once, and the output so far is billed', async () => {
  upstream.next({ chunks: 100_000, chunkDelayMs: 30 })
  const stream = await gateway.openChat(body, { key: caller.secret })
  for (let i = 0; i < 5; i++) await stream.nextChunk()
  const entry = upstream.journal.at(-1)!

  const leftAt = Date.now()
  stream.abort()

  const row = await settledRow(gateway, stream.headers['x-request-id'])
  await assertLetGo(entry, leftAt)
  assert.ok(row.completion_tokens >= 4)
  assertLeft(row, row.completion_tokens)
})

test('a half-closed or reset connection is a disconnect', async () => {
  for (const end of ['halfClose', 'reset'] as const) {
    upstream.next({ chunks: 100_000, chunkDelayMs: 30 })
    using connection = await openRaw(gateway.port)
    connection.send(rawChat({ ...body, stream: true }))
    while (!connection.received.includes('Hello')) await setTimeout(5)
    const entry = upstream.journal.at(-1)!

    const leftAt = Date.now()
    connection[end]()

    const row = await settledRow(gateway, entry.requestId)
    await assertLetGo(entry, leftAt)
    assertLeft(row, row.completion_tokens)
    assert.ok(row.completion_tokens >= 1)
  }
})

test('a caller that does not read and then half-closes has disconnected too', async () => {
  upstream.next({ chunks: 100_000, chunkBytes: 4000 })
  using connection = await openRaw(gateway.port)
  connection.pause()
  connection.send(rawChat({ ...body, stream: true }))
  const entry = await stuck()

  const leftAt = Date.now()
  connection.halfClose()

  const row = await settledRow(gateway, entry.requestId)
  await assertLetGo(entry, leftAt)
  assert.equal(row.outcome, 'client_left')
})

test('a disconnect after the end of the answer changes nothing', async () => {
  const stream = await gateway.openChat(body, { key: caller.secret })
  const { done } = await stream.rest()
  stream.abort()

  const row = await settledRow(gateway, stream.headers['x-request-id'])
  assert.deepEqual([done, row.outcome, row.completion_tokens], [true, 'completed', 10])
})

test('before dispatch no upstream is called and nothing is billed', async () => {
  await using slow = await startGateway({
    config: standardConfig(upstream.url),
    env: { TURNPIKE_FAILPOINTS: 'after_hold=sleep:2000' },
  })
  const key = await slow.createKey({ credits: '1' })
  upstream.journal.length = 0
  const leaving = new AbortController()
  const asked = slow.chat(body, { key: key.secret, signal: leaving.signal })
  while ((await balanceOf(slow, key.accountId)).held === '0');
  leaving.abort()
  await assert.rejects(asked)

  const { body: list } = await slow.admin<{ data: UsageRow[] }>('GET', `/usage?account_id=${key.accountId}`)
  const row = await settledRow(slow, list.data[0]?.request_id)

  assert.deepEqual([row.outcome, row.cost, row.attempts], ['client_left', '0', []])
  assert.deepEqual(await balanceOf(slow, key.accountId), { available: '1', held: '0', spent: '0', owed: '0' })
  assert.equal(upstream.journal.length, 0)
  assert.equal((await slow.audit()).ok, true)
})

// A request that the upstream has received and does not answer.
async function unanswered(): Promise<{ readonly entry: JournalEntry; leave(): void }> {
  const before = upstream.journal.length
  upstream.next({ delayMs: 60_000 })
  const leaving = new AbortController()
  gateway.chat({ ...body, stream: true }, { key: caller.secret, signal: leaving.signal }).catch(() => {})
  await upstream.received(before + 1)
  return { entry: upstream.journal.at(-1)!, leave: () => leaving.abort() }
}

// The upstream's call once it can write no more.
async function stuck(): Promise<JournalEntry> {
  let bytes = -1
  for (;;) {
    await setTimeout(300)
    const entry = upstream.journal.at(-1)
    if (entry !== undefined && entry.bytes > 0 && entry.bytes === bytes) return entry
    bytes = entry?.bytes ?? -1
  }
}

// The upstream runs in this process and may be the last to notice.
async function assertLetGo(entry: JournalEntry, leftAt: number): Promise<void> {
  await until('the upstream call is cancelled', () => entry.closedByPeerAt !== undefined)
  const ms = Number(entry.closedByPeerAt) - leftAt
  assert.ok(ms < AT_ONCE_MS, `the upstream call was cancelled after ${ms} ms`)
}

function assertLeft(row: UsageRow, words: number): void {
  assert.deepEqual(
    [row.outcome, row.prompt_tokens, row.completion_tokens, row.usage_source],
    ['client_left', PROMPT_ESTIMATE, words, 'estimate'],
  )
  assert.equal(nano(row.cost), BigInt(PROMPT_ESTIMATE) * 2500n + BigInt(words) * 10_000n)
}

function rawChat(chat: object): string {
  const json = JSON.stringify(chat)
  return `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${caller.secret}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`
}
