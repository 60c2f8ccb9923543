// A low balance with fallback models: the answer is capped by the most expensive of them, and a model above the held
// amount is not tried.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import type { Loose } from '../../support/http-call.ts'
import { standardConfig, standardModel } from '../../support/standard-config.ts'
import { balanceOf, credits, nano, promptBound, settledRow } from '../../support/usage.ts'

const messages = [{ role: 'user', content: 'Say hello' }]
const PROMPT = BigInt(promptBound(messages))
// In nano-credits per token. The most expensive by its long answers; the one with the expensive prompt costs less than
// it at full length.
const CHEAP = { prompt: 100n, completion: 1000n }
const LONG = { prompt: 100n, completion: 10_000n }
const DEAR_PROMPT = { prompt: 200_000n, completion: 1000n }
const CAP = 300n

const { gateway, upstream } = await openFixture(url =>
  standardConfig(url, {
    models: [
      model('cheap', CHEAP, 4096),
      model('dear_prompt', DEAR_PROMPT, 16),
      model('long', LONG, 4096),
      model('last', CHEAP, 4096),
    ],
  }),
)
const body = { model: 'test/cheap', models: ['test/dear_prompt', 'test/long', 'test/last'], messages }

for (const stream of [false, true]) {
  const form = stream ? 'a stream' : 'a JSON answer'

  test(`${form}: half of the balance caps by the most expensive model, and an unaffordable model is excluded`, async () => {
    upstream.reset()
    for (const name of ['cheap', 'long']) upstream.script({ status: 404 }, name)
    const hold = PROMPT * LONG.prompt + CAP * LONG.completion
    assert.ok(PROMPT * DEAR_PROMPT.prompt > hold)
    const caller = await gateway.createKey({ credits: credits(2n * hold) })

    const answer = await gateway.chat({ ...body, stream }, { key: caller.secret })
    const row = await settledRow(gateway, answer.headers['x-request-id'])

    assert.deepEqual([answer.status, answer.headers['x-svc-output-cap']], [200, String(CAP)])
    assert.equal(nano(row.hold), hold)
    assert.deepEqual(
      upstream.journal.map(entry => [entry.model, (entry.body as Loose).max_tokens]),
      ['cheap', 'long', 'last'].map(name => [name, Number(CAP)]),
    )
    assert.deepEqual(await routingOf(row.request_id), [
      ['test/cheap', 0, 'priority'],
      ['test/long', 1, 'fallback_model'],
      ['test/last', 2, 'fallback_model'],
      ['test/dear_prompt', null, 'unaffordable'],
    ])
    assert.deepEqual(nano((await balanceOf(gateway, caller.accountId)).owed), 0n)
  })
}

test('with enough credits nothing is excluded or capped', async () => {
  upstream.reset()
  upstream.script({ status: 404 }, 'cheap')

  const answer = await gateway.chat(body)

  assert.deepEqual([answer.body.model, answer.headers['x-svc-output-cap']], ['test/dear_prompt', undefined])
})

function model(name: string, prices: { prompt: bigint; completion: bigint }, maxOutputTokens: number) {
  return standardModel({
    id: `test/${name}`,
    max_output_tokens: maxOutputTokens,
    pricing: { prompt: credits(prices.prompt), completion: credits(prices.completion) },
    targets: [{ provider: 'up', model: name }],
  })
}

async function routingOf(requestId: string): Promise<unknown[][]> {
  const { body: row } = await gateway.admin<{ routing: Loose[] }>('GET', `/usage/${requestId}`)
  return row.routing.map(({ model: id, position, reason }) => [id, position, reason])
}
