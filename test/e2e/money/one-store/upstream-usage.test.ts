// Upstream usage is trusted only if it is possible; otherwise it is estimated or clamped, each count separately, and
// the row records which.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture, warmTokenizer } from '../../../support/fixture.ts'
import type { Plan } from '../../../support/upstream-plan.ts'
import { nano, settledRow, type UsageRow } from '../../../support/usage.ts'

const { gateway, upstream } = await openFixture()
await warmTokenizer({ gateway, upstream })
// Each of the upstream's default words is one token of o200k, and so is each of these.
const messages = [{ role: 'user', content: 'Say hello' }]
const WORDS = 10
const PROMPT_ESTIMATE = 2 + 4 + 3

type Expected = { readonly prompt: number; readonly completion: number; readonly source: 'upstream' | 'estimate' }
const BOTH_ESTIMATED = { prompt: PROMPT_ESTIMATE, completion: WORDS, source: 'estimate' } as const
const CASES: readonly (readonly [what: string, plan: Plan, expected: Expected])[] = [
  ['believable', { usage: counts(33, 12) }, { prompt: 33, completion: 12, source: 'upstream' }],
  ['missing', { usage: 'none' }, BOTH_ESTIMATED],
  ['empty', { usage: {} }, BOTH_ESTIMATED],
  ['negative', { usage: counts(-5, -7) }, BOTH_ESTIMATED],
  ['fractional', { usage: counts(5.5, 7.25) }, BOTH_ESTIMATED],
  ['text', { usage: { prompt_tokens: '5', completion_tokens: 'many' } }, BOTH_ESTIMATED],
  ['zero', { usage: counts(0, 0) }, BOTH_ESTIMATED],
  ['null', { usage: { prompt_tokens: null, completion_tokens: null } }, BOTH_ESTIMATED],
  ['infinite', { usageText: '{"prompt_tokens":1e999,"completion_tokens":1e999}' }, BOTH_ESTIMATED],
  ['a list', { usageText: '[1,2]' }, BOTH_ESTIMATED],
  ['a number', { usageText: '7' }, BOTH_ESTIMATED],
  ['wrong only in its output', { usage: counts(33, -1) }, { prompt: 33, completion: WORDS, source: 'estimate' }],
  [
    'wrong only in its prompt',
    { usage: counts(0, 12) },
    { prompt: PROMPT_ESTIMATE, completion: 12, source: 'estimate' },
  ],
  ['above every bound', { usage: counts(1e15, 1e15) }, { prompt: 128_000, completion: 4096, source: 'upstream' }],
  [
    'too large for a counter',
    { usageText: '{"prompt_tokens":1e300,"completion_tokens":1e300}' },
    { prompt: 128_000, completion: 4096, source: 'upstream' },
  ],
]

for (const [what, plan, expected] of CASES) {
  for (const stream of [false, true]) {
    test(`usage that is ${what} is treated alike in ${stream ? 'a stream' : 'JSON'}`, async () => {
      upstream.next(plan)

      const answer = await gateway.chat({
        messages,
        stream,
        ...(stream ? { stream_options: { include_usage: true } } : {}),
      })

      assert.equal(answer.status, 200)
      const row = await settledRow(gateway, answer.headers['x-request-id'])
      assert.deepEqual(
        { prompt: row.prompt_tokens, completion: row.completion_tokens, source: row.usage_source },
        expected,
      )
      assert.equal(nano(row.cost), BigInt(expected.prompt) * 2500n + BigInt(expected.completion) * 10_000n)
      const said = stream ? answer.sse.chunks.at(-1)?.usage : answer.body.usage
      assert.equal(Number(said?.prompt_tokens), expected.prompt)
      assert.equal(Number(said?.completion_tokens), expected.completion)
    })
  }
}

test('with usage on every chunk the last one counts', async () => {
  const row = await rowOf({ usage: 'perChunk' }, true)

  assert.deepEqual([row.completion_tokens, row.usage_source], [WORDS, 'upstream'])
})

test('usage that comes with the finish reason counts', async () => {
  const row = await rowOf({ usage: 'withFinish' }, true)

  assert.deepEqual([row.completion_tokens, row.usage_source], [WORDS, 'upstream'])
})

test('more cached tokens than prompt tokens count as none', async () => {
  const row = await rowOf({ usage: { ...counts(20, 5), prompt_tokens_details: { cached_tokens: 21 } } })

  assert.deepEqual([row.prompt_tokens, row.cached_tokens, row.cost], [20, 0, '0.0001'])
})

test('cached and written tokens that together exceed the prompt count as none', async () => {
  const details = { cached_tokens: 11, cache_write_tokens: 10 }
  const row = await rowOf({ usage: { ...counts(20, 5), prompt_tokens_details: details } })

  assert.deepEqual([row.cached_tokens, row.cache_write_tokens, row.cost], [0, 0, '0.0001'])
})

test('more reasoning tokens than output tokens, and negative details, count as none', async () => {
  const over = await rowOf({ usage: { ...counts(20, 5), completion_tokens_details: { reasoning_tokens: 6 } } })
  const negative = await rowOf({ usage: { ...counts(20, 5), prompt_tokens_details: { cached_tokens: -8 } } })

  assert.deepEqual([over.completion_tokens, over.reasoning_tokens], [5, 0])
  assert.deepEqual([negative.cached_tokens, negative.cost], [0, '0.0001'])
})

test('an empty answer with zero completion tokens costs the prompt', async () => {
  const row = await rowOf({ words: [], usage: counts(20, 0) })

  assert.deepEqual([row.completion_tokens, row.usage_source, row.cost], [0, 'upstream', '0.00005'])
})

function counts(prompt: number, completion: number) {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

async function rowOf(plan: Plan, stream = false): Promise<UsageRow> {
  upstream.next(plan)
  const answer = await gateway.chat({ messages, stream })
  return settledRow(gateway, answer.headers['x-request-id'])
}
