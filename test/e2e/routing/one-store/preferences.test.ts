// Routing preferences of a request and their cost: preferences that exclude every target are a client error, reported
// before anything is held, and a request makes a bounded number of attempts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import { httpCall } from '../../../support/http-call.ts'
import { assertRefusal } from '../../../support/refusal.ts'
import { standardConfig, standardModel, standardProvider } from '../../../support/standard-config.ts'
import { balanceOf, settledRow } from '../../../support/usage.ts'

const PROVIDERS = ['one', 'two', 'three', 'four']
const { gateway, upstream } = await openFixture(url =>
  standardConfig(url, {
    providers: PROVIDERS.map(id => standardProvider(url, { id })),
    models: [standardModel({ targets: PROVIDERS.map((id, priority) => ({ provider: id, model: id, priority })) })],
  }),
)

const NOBODY: Readonly<Record<string, object>> = {
  'only names no provider of the model': { provider: { only: ['five'] } },
  'ignore names all': { provider: { ignore: PROVIDERS } },
  'order without fallbacks names no provider of it': { provider: { order: ['five'], allow_fallbacks: false } },
  'max_price is below its price': { provider: { max_price: { completion: 0.000001 } } },
  'it does not accept every parameter': { provider: { require_parameters: true }, top_k: 3 },
}

for (const [wish, body] of Object.entries(NOBODY)) {
  test(`${wish}: 400 for provider with a row, without a hold or a call, for the chat and its quote`, async () => {
    upstream.reset()
    // Without credits a hold would end in 402.
    const caller = await gateway.createKey({ credits: '0' })

    const chat = await gateway.chat(body, { key: caller.secret })
    const quote = await httpCall(`${gateway.url}/v1/chat/completions/quote`, {
      headers: { authorization: `Bearer ${caller.secret}` },
      body: { model: 'test/m1', messages: [{ role: 'user', content: 'Say hello' }], ...body },
    })

    for (const answer of [chat, quote]) {
      assertRefusal(answer, 'unsupported_value', 'provider')
      const row = await settledRow(gateway, answer.headers['x-request-id'])
      assert.deepEqual(
        [row.outcome, row.http_status, row.error_code, row.hold, row.cost, row.attempts.length],
        ['refused', 400, 'unsupported_value', '0', '0', 0],
      )
    }
    assert.equal(upstream.journal.length, 0)
    const { held, spent, owed } = await balanceOf(gateway, caller.accountId)
    assert.deepEqual([held, spent, owed], ['0', '0', '0'])
  })
}

test('a request is tried on at most three targets', async () => {
  upstream.reset()
  for (const id of PROVIDERS.slice(0, 3)) upstream.script({ status: 404 }, id)

  const answer = await gateway.chat()
  const row = await settledRow(gateway, answer.headers['x-request-id'])

  assertRefusal(answer, 'all_providers_failed')
  assert.deepEqual(
    row.attempts.map(({ provider }) => provider),
    PROVIDERS.slice(0, 3),
  )
  assert.equal(upstream.journal.length, 3)
})
