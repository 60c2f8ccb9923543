// The allowance for counting unpaid prompts: bounded in time, in size, in concurrency and per minute, separately for
// each account.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promptCounts } from '../../src/admit/count-tokens.ts'
import { parseChat } from '../../src/chat/parse-request.ts'
import { parseMessages } from '../../src/dialects/messages/parse.ts'
import { parseResponses } from '../../src/dialects/responses/parse.ts'
import type { Chat } from '../../src/domain/chat.ts'
import type { TokenCount } from '../../src/lib/token-counter.ts'

const chat = parseChat({ model: 'm', messages: [{ role: 'user', content: 'hello' }] })
const O200K = new Set(['o200k'] as const)

test('an account that has used up its time gets no counts until some is refilled, and others do', async () => {
  const { counts, clock } = counting(() => Promise.resolve({ tokens: 3, exact: true, workMs: 600 }))

  assert.deepEqual(await counts.count(chat, O200K, 'a'), { tokens: { o200k: 3, cl100k: 0 }, texts: 1 })
  await counts.count(chat, O200K, 'a')
  assert.equal(await counts.count(chat, O200K, 'a'), undefined)
  assert.notEqual(await counts.count(chat, O200K, 'b'), undefined)

  // A second refills a sixtieth of the 1,000 ms; the account is 200 ms in debt.
  clock.nowMs += 11_000
  assert.equal(await counts.count(chat, O200K, 'a'), undefined)
  clock.nowMs += 2_000
  counts.prune()
  assert.notEqual(await counts.count(chat, O200K, 'a'), undefined)
})

test('an account has a limited number of concurrent counts', async () => {
  const going = Promise.withResolvers<TokenCount>()
  const { counts, asked } = counting(() => going.promise)

  const first = [counts.count(chat, O200K, 'a'), counts.count(chat, O200K, 'a')]
  assert.equal(await counts.count(chat, O200K, 'a'), undefined)
  const other = counts.count(chat, O200K, 'b')
  going.resolve({ tokens: 1, exact: true, workMs: 0 })

  assert.equal((await Promise.all([...first, other])).includes(undefined), false)
  assert.notEqual(await counts.count(chat, O200K, 'a'), undefined)
  assert.equal(asked.length, 4)
})

test('a prompt that is too large is not counted, and an inexact count is not used', async () => {
  const { counts, asked } = counting(() => Promise.resolve({ tokens: 1, exact: false, workMs: 1 }))
  const large = parseChat({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(2000) }] })

  assert.equal(await counts.count(large, O200K, 'a'), undefined)
  assert.equal(asked.length, 0)
  assert.equal(await counts.count(chat, O200K, 'a'), undefined)
  assert.deepEqual(asked, [200])
})

const HIDDEN = 'a text that only a provider of the dialect reads'
const HIDING: Readonly<Record<string, Chat>> = {
  'the examples of a tool': parseMessages(
    {
      model: 'm',
      max_tokens: 8,
      messages: [{ role: 'user', content: 'x' }],
      tools: [{ name: 't', input_schema: {}, input_examples: [{ a: HIDDEN }] }],
    },
    {},
  ),
  'the examples of a tool, with an image': parseMessages(
    {
      model: 'm',
      max_tokens: 8,
      messages: [
        {
          role: 'user',
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA'.repeat(400) } }],
        },
      ],
      tools: [{ name: 't', input_schema: {}, input_examples: [{ a: HIDDEN }] }],
    },
    {},
  ),
  'the description of a namespace': parseResponses({
    model: 'm',
    input: 'x',
    tools: [{ type: 'namespace', name: 'n', description: HIDDEN, tools: [{ type: 'function', name: 'f' }] }],
  }),
  'reasoning without an answer': parseResponses({
    model: 'm',
    input: [
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: HIDDEN }] },
      { role: 'user', content: 'x' },
    ],
  }),
}

for (const [name, hiding] of Object.entries(HIDING)) {
  test(`${name} is counted, though its translation does not have it`, async () => {
    const asked: string[] = []
    const { counts } = counting(texts => {
      asked.push(...texts)
      return Promise.resolve({ tokens: [...texts].join('').length, exact: true, workMs: 1 })
    })

    const counted = await counts.count(hiding, O200K, 'a')

    assert.ok(asked.some(text => text.includes(HIDDEN)))
    assert.ok((counted?.tokens.o200k ?? 0) >= HIDDEN.length)
    assert.ok(asked.every(text => !text.includes('AAAA')))
  })
}

function counting(count: (texts: readonly string[]) => Promise<TokenCount>) {
  const asked: (number | undefined)[] = []
  const clock = { nowMs: 0, now: () => clock.nowMs, monotonic: () => clock.nowMs }
  const counter = {
    count(texts: string | readonly string[], _owner: string, capMs?: number) {
      asked.push(capMs)
      return count(typeof texts === 'string' ? [texts] : texts)
    },
  }
  const counts = promptCounts({
    counters: { o200k: counter, cl100k: counter },
    clock,
    holdCountMsMax: 200,
    holdCountBytesMax: 1000,
    holdCountsPerAccountMax: 2,
    holdCountMsPerMinute: 1000,
  })
  return { counts, clock, asked }
}
