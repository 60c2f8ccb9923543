// What the dashboard says of a model that is sold for less than it costs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { showInDollars } from '../../web/src/format/currency.ts'
import { lossesOf } from '../../web/src/pages/catalog/losses.ts'

test('a loss names its unit once, in credits and in dollars', t => {
  t.after(() => showInDollars(undefined))
  const model = {
    pricing: { prompt: '0.0003', completion: '0.001' },
    targets: [{ provider: 'openai', model: 'm1', cost: { prompt: '0.0005', completion: '0.001' } }],
  }
  assert.deepEqual(lossesOf(model), ['openai m1: prompt costs 500, clients pay 300 credits per million tokens.'])

  showInDollars('100')

  assert.deepEqual(lossesOf(model), ['openai m1: prompt costs $5, clients pay $3 per million tokens.'])
})
