// The charge for a caller that disconnects midway, compared with the upstream's own journal: forty times at random
// points, off by at most one chunk (figure S19).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { openFixture, warmTokenizer } from '../../support/fixture.ts'
import { nano, settledRow } from '../../support/usage.ts'

const { gateway, upstream } = await openFixture()
await warmTokenizer({ gateway, upstream })
const PROMPT_ESTIMATE = 2 + 4 + 3
// So slow that a busy machine does not merge two chunks.
const CHUNK_MS = 120

test('40 disconnects are billed for what the upstream produced, within one chunk', async () => {
  upstream.script({ chunks: 10_000, chunkDelayMs: CHUNK_MS, usage: 'none' })
  const chance = seeded(19)
  const ends = Array.from({ length: 40 }, () => ({ words: Math.ceil(chance() * 8), ms: chance() * CHUNK_MS }))

  const bills = [
    ...(await Promise.all(ends.slice(0, 20).map(hangUp))),
    ...(await Promise.all(ends.slice(20).map(hangUp))),
  ]

  const differences = bills.map(({ billed, produced }) => produced - billed)
  const far = differences.filter(difference => Math.abs(difference) > 1)
  assert.deepEqual(far, [], `produced minus billed: ${differences.join(' ')}`)
  for (const { row, seen, billed } of bills) {
    assert.ok(billed >= seen, `${seen} chunks reached the caller, ${billed} were billed`)
    assert.deepEqual([row.outcome, row.prompt_tokens], ['client_left', PROMPT_ESTIMATE])
    assert.equal(nano(row.cost), BigInt(PROMPT_ESTIMATE) * 2500n + BigInt(billed) * 10_000n)
  }
})

async function hangUp(after: { readonly words: number; readonly ms: number }) {
  const stream = await gateway.openChat()
  let seen = 0
  while (seen < after.words) if ((await stream.nextChunk())?.choices[0]?.delta.content) seen += 1
  await setTimeout(after.ms)
  stream.abort()
  const row = await settledRow(gateway, stream.headers['x-request-id'])
  const entry = upstream.journal.find(candidate => candidate.requestId === row.request_id)
  return { row, seen, billed: row.completion_tokens, produced: entry?.tokens.completion ?? 0 }
}

// The same numbers in every run (mulberry32).
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
