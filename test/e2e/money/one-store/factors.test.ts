// The operator's currency: prices in dollars with a rate and a markup, and the same number wherever a caller sees it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import type { Loose } from '../../../support/http-call.ts'
import { standardConfig, standardModel } from '../../../support/standard-config.ts'
import { chargedTo, nano, promptBound, settledRow } from '../../../support/usage.ts'

const messages = [{ role: 'user', content: 'Say hello' }]
const usage = {
  prompt_tokens: 1000,
  completion_tokens: 7,
  prompt_tokens_details: { cached_tokens: 301, cache_write_tokens: 98 },
}
const pricing = {
  prompt: '0.000000123457',
  completion: '0.000000654321',
  input_cache_read: '0.000000012345',
  input_cache_write: '0.000000154321',
  request: '0.000100000001',
}
// 12.5 credits for a dollar, and 1.111111 of that: 13.8888875 × each, rounded up to a pico-credit.
const FACTORS = { credits_per_usd: '12.5', markup: 1.111111 }
const SAVED = {
  prompt: '0.000001714681',
  completion: '0.000009087791',
  input_cache_read: '0.000000171459',
  input_cache_write: '0.000002143348',
  request: '0.001388888764',
}
const PICO = { prompt: 1_714_681n, completion: 9_087_791n, read: 171_459n, write: 2_143_348n, request: 1_388_888_764n }

const { gateway, upstream } = await openFixture(url => configOf(url, FACTORS))
const caller = await gateway.createKey({ credits: '100' })

test('models are listed at the stored price: dollars times rate times markup, rounded up once', async () => {
  const model = await listed('test/m1')

  assert.deepEqual(model.pricing, { currency: 'credits', unit: 'token', ...SAVED })
})

test('hold, cost, header, body, row and ledger all use the stored price', async () => {
  upstream.next({ usage })
  const before = await chargedTo(gateway, caller.accountId)

  const answer = await gateway.chat({ messages, max_tokens: 77 }, { key: caller.secret })

  const pico = 601n * PICO.prompt + 301n * PICO.read + 98n * PICO.write + 7n * PICO.completion + PICO.request
  const row = (await settledRow(gateway, answer.headers['x-request-id'])) as unknown as Loose
  const cost = answer.headers['x-svc-cost']
  assert.equal(nano(cost), ceil(pico))
  assert.match(answer.text, new RegExp(`"cost":${String(cost).replace('.', '\\.')}[,}]`))
  assert.deepEqual([row.cost, row.price], [cost, SAVED])
  assert.equal(row.price_version, (await listed('test/m1')).price_version)
  assert.equal(nano(row.hold), ceil(BigInt(promptBound(messages)) * PICO.write + 77n * PICO.completion + PICO.request))
  assert.equal((await chargedTo(gateway, caller.accountId)) - before, nano(cost))
})

test('a changed factor makes a new price version; unchanged factors do not', async () => {
  const before = await listed('test/m1')

  await gateway.restart()
  const same = await listed('test/m1')
  await gateway.writeConfig(configOf(upstream.url, { ...FACTORS, markup: '2' }))
  await gateway.restart()
  const pricier = await listed('test/m1')

  assert.equal(same.price_version, before.price_version)
  assert.notEqual(pricier.price_version, before.price_version)
  assert.equal((pricier.pricing as unknown as Loose).prompt, '0.000003086425')
})

async function listed(id: string): Promise<Loose> {
  const { body } = await gateway.get(`/v1/models/${id}`, caller.secret)
  return body
}

function configOf(url: string, factors: object): object {
  return standardConfig(url, { ...factors, models: [standardModel({ pricing })] })
}

function ceil(pico: bigint): bigint {
  return (pico + 999n) / 1000n
}
