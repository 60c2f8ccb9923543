// The allowance for counting unpaid prompts: bounded in time, in size, in concurrency and per minute, separately for
// each account.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promptCounts } from '../../src/admit/count-tokens.ts'
import { parseChat } from '../../src/chat/parse-request.ts'
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

function counting(count: () => Promise<TokenCount>) {
  const asked: (number | undefined)[] = []
  const clock = { nowMs: 0, now: () => clock.nowMs, monotonic: () => clock.nowMs }
  const counter = {
    count(_texts: string | readonly string[], _owner: string, capMs?: number) {
      asked.push(capMs)
      return count()
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
