// Prices by the length of the prompt: all tokens of a request have the price of its tier, in the answer, the header, the row
// and the ledger; holds, refusals and quotes are for the most expensive tier that the prompt may reach.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PATIENT_COUNTS, withBounds } from '../../support/bounds.ts'
import { countedBound } from '../../support/counted-bound.ts'
import { openFixture } from '../../support/fixture.ts'
import { httpCall, type Loose } from '../../support/http-call.ts'
import { standardConfig, standardModel } from '../../support/standard-config.ts'
import { chargedTo, credits, nano, promptBound, settledRow } from '../../support/usage.ts'

// In nano-credits per token.
const BASE = { prompt: 1000n, completion: 10_000n, read: 100n }
const LONG = { prompt: 2000n, completion: 15_000n, read: 200n }
const LONGEST = { prompt: 5000n, completion: 40_000n, read: 5000n }
const pricing = {
  prompt: credits(BASE.prompt),
  completion: credits(BASE.completion),
  input_cache_read: credits(BASE.read),
  request: '0.000001',
  tiers: [
    {
      above_prompt_tokens: 1000,
      prompt: credits(LONG.prompt),
      completion: credits(LONG.completion),
      input_cache_read: credits(LONG.read),
    },
    { above_prompt_tokens: 5000, prompt: credits(LONGEST.prompt), completion: credits(LONGEST.completion) },
  ],
}
const REQUEST = 1000n
const cost = {
  prompt: '0.0000005',
  completion: '0',
  tiers: [{ above_prompt_tokens: 2000, prompt: '0.000001', completion: '0' }],
}
const { gateway, upstream } = await openFixture(
  url =>
    standardConfig(url, {
      models: [
        standardModel({ pricing, targets: [{ provider: 'up', model: 'm1', cost }] }),
        standardModel({
          id: 'test/other',
          pricing: {
            prompt: '0.000003',
            completion: '0.00001',
            tiers: [{ above_prompt_tokens: 500, prompt: '0.000009', completion: '0.00003' }],
          },
          targets: [{ provider: 'up2', model: 'other' }],
        }),
      ],
    }),
  withBounds(PATIENT_COUNTS),
)

const CASES = [
  { prompt: 1000, rates: BASE, upstreamRate: 500n },
  { prompt: 1001, rates: LONG, upstreamRate: 500n },
  { prompt: 5000, rates: LONG, upstreamRate: 1000n },
  { prompt: 5001, rates: LONGEST, upstreamRate: 1000n },
]

for (const stream of [false, true]) {
  test(`${stream ? 'a stream' : 'a JSON answer'}: every number has the price of the tier, from the upstream's count`, async () => {
    for (const { prompt, rates, upstreamRate } of CASES) {
      const caller = await gateway.createKey({ credits: '100' })
      upstream.next({
        usage: { prompt_tokens: prompt, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 900 } },
      })

      const answer = await gateway.chat(
        { stream, ...(stream ? { stream_options: { include_usage: true } } : {}) },
        { key: caller.secret },
      )
      const row = (await settledRow(gateway, answer.headers['x-request-id'])) as unknown as Loose

      const paid = BigInt(prompt - 900) * rates.prompt + 900n * rates.read + 7n * rates.completion + REQUEST
      const told = stream ? answer.trailers['x-svc-cost'] : answer.headers['x-svc-cost']
      assert.deepEqual([nano(row.cost), nano(told), await chargedTo(gateway, caller.accountId)], [paid, paid, paid])
      assert.match(answer.text, new RegExp(`"cost":${String(row.cost).replace('.', '\\.')}\\b`))
      assert.equal(nano(row.upstream_cost), BigInt(prompt) * upstreamRate)
      assert.deepEqual(
        row.price?.tiers?.[0],
        pricing.tiers[0] && { ...pricing.tiers[0], input_cache_write: pricing.tiers[0].prompt },
      )
    }
  })
}

test('failover to a model with other tiers is billed at its own, and its snapshot is on the row', async () => {
  upstream.reset()
  upstream.script({ status: 404 }, 'm1')
  upstream.script({ usage: { prompt_tokens: 501, completion_tokens: 3 } }, 'other')

  const { headers } = await gateway.chat({ models: ['test/other'] })
  const row = (await settledRow(gateway, headers['x-request-id'])) as unknown as Loose

  upstream.reset()
  assert.deepEqual([row.model_served, nano(row.cost)], ['test/other', 501n * 9000n + 3n * 30_000n])
  assert.equal(row.price?.tiers?.[0]?.above_prompt_tokens, 500)
})

const SHORT = [{ role: 'user', content: 'Say hello' }]
// About two characters a token: above a tier by its bytes, not by its tokens.
const WORDS = [{ role: 'user', content: 'ab '.repeat(400) }]
const TEN_KIB = [{ role: 'user', content: 'x '.repeat(5120) }]

test('the hold is for the most expensive tier that the bytes of the prompt can reach, and a quote says the same', async () => {
  const caller = await gateway.createKey({ credits: '100' })
  for (const [messages, rates] of [
    [SHORT, BASE],
    [WORDS, LONG],
    [TEN_KIB, LONGEST],
  ] as const) {
    const { body } = await httpCall<Loose>(`${gateway.url}/v1/chat/completions/quote`, {
      headers: { authorization: `Bearer ${caller.secret}` },
      body: { model: 'test/m1', messages, max_tokens: 9 },
    })
    const answer = await gateway.chat({ messages, max_tokens: 9 }, { key: caller.secret })
    const row = await settledRow(gateway, answer.headers['x-request-id'])

    const hold = BigInt(promptBound(messages)) * rates.prompt + 9n * rates.completion + REQUEST
    assert.deepEqual([nano(row.hold), nano(body.hold), nano((body.cost as Loose).worst_case)], [hold, hold, hold])
  }
})

test('402 counts the prompt: its figures are those of the tier that the count can reach', async () => {
  const counted = BigInt(countedBound(WORDS))
  assert.ok(counted <= 1000n && promptBound(WORDS) > 1000)
  const base = counted * BASE.prompt + REQUEST
  const caller = await gateway.createKey({ credits: credits(base + 40n * BASE.completion) })

  const refused = await gateway.chat({ messages: WORDS, max_tokens: 41 }, { key: caller.secret })
  const taken = await gateway.chat({ messages: WORDS, max_tokens: 40 }, { key: caller.secret })

  assert.equal(refused.status, 402)
  assert.equal(refused.body.error?.metadata?.required, credits(base + 41n * BASE.completion))
  assert.equal(refused.body.error?.metadata?.affordable_max_tokens, 40)
  assert.equal(taken.status, 200)
})

test('/v1/models lists the tiers', async () => {
  const { secret } = await gateway.createKey()

  const { body } = await gateway.get('/v1/models/test/m1', secret)

  const listed = (body.pricing as Loose).tiers as unknown as Loose[]
  assert.deepEqual(
    listed.map(tier => [tier.above_prompt_tokens, tier.prompt, tier.completion, tier.input_cache_read]),
    [
      [1000, '0.000002', '0.000015', '0.0000002'],
      [5000, '0.000005', '0.00004', '0.000005'],
    ],
  )
})
