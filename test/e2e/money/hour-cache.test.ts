// Cache writes for one hour: refused without a price of their own, billed at it with one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import type { Loose } from '../../support/http-call.ts'
import { standardConfig, standardModel } from '../../support/standard-config.ts'
import { nano, settledRow } from '../../support/usage.ts'

const pricing = {
  prompt: '0.000003',
  completion: '0.000015',
  input_cache_read: '0.0000003',
  input_cache_write: '0.00000375',
  input_cache_write_1h: '0.000006',
}
const cost = { ...pricing, input_cache_write_1h: '0.000005' }
const { gateway, upstream } = await openFixture(url =>
  standardConfig(url, {
    models: [
      standardModel(),
      standardModel({ id: 'test/long', pricing, targets: [{ provider: 'up', model: 'm1', cost }] }),
    ],
  }),
)
const caller = await gateway.createKey({ credits: '100' })
const marked = (ttl: string) => [
  { role: 'user', content: [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral', ttl } }] },
]
const usage = {
  prompt_tokens: 1000,
  completion_tokens: 10,
  prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 500, cache_write_1h_tokens: 300 },
}
const PAID = 400n * 3000n + 100n * 300n + 200n * 3750n + 300n * 6000n + 10n * 15_000n

for (const stream of [false, true]) {
  test(`${stream ? 'a stream' : 'a JSON answer'}: both lifetimes are billed at their price`, async () => {
    upstream.next({ usage })

    const answer = await gateway.chat({ model: 'test/long', messages: marked('1h'), stream }, { key: caller.secret })

    assert.equal(answer.status, 200, answer.text)
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    const { cache_write_1h_tokens: long, price, upstream_cost } = row as unknown as Loose
    assert.deepEqual([row.cache_write_tokens, long, nano(row.cost)], [500, 300, PAID])
    assert.equal(price?.input_cache_write_1h, '0.000006')
    assert.equal(nano(String(upstream_cost)), PAID - 300n * 1000n)
    const sent = upstream.journal.at(-1)?.body as unknown as Loose
    assert.match(JSON.stringify(sent), /"ttl":"1h"/)
  })
}

test('writes of unknown lifetime are billed as those that were requested', async () => {
  const told = { ...usage, prompt_tokens_details: { cache_write_tokens: 500 } }
  upstream.next({ usage: told }, { usage: told })

  const long = await gateway.chat({ model: 'test/long', messages: marked('1h') }, { key: caller.secret })
  const short = await gateway.chat({ model: 'test/long', messages: marked('5m') }, { key: caller.secret })

  const rows = [long, short].map(({ headers }) => settledRow(gateway, headers['x-request-id']))
  const [first, second] = (await Promise.all(rows)) as unknown as Loose[]
  assert.deepEqual([first?.cache_write_1h_tokens, second?.cache_write_1h_tokens], [500, 0])
})

test('without a price it is refused, for the model that was requested', async () => {
  const part = await gateway.chat({ messages: marked('1h') }, { key: caller.secret })
  const tools = [{ type: 'function', function: { name: 'f' }, cache_control: { type: 'ephemeral', ttl: '1h' } }]
  const tool = await gateway.chat({ tools }, { key: caller.secret })
  const short = await gateway.chat({ messages: marked('5m') }, { key: caller.secret })
  const other = await gateway.chat({ model: 'test/long', messages: marked('2h') }, { key: caller.secret })

  const errors = [part, tool, other].map(({ status, body }) => [status, body.error?.code, body.error?.param])
  assert.deepEqual(errors, [
    [400, 'unsupported_value', 'messages.0.content.0.cache_control'],
    [400, 'unsupported_value', 'tools.0.cache_control'],
    [400, 'unsupported_value', 'messages.0.content.0.cache_control'],
  ])
  assert.equal(short.status, 200)
})

test('Messages: the model decides about the cache of one hour', async () => {
  const body = (model: string) => ({ model, max_tokens: 10, messages: marked('1h') })
  const call = (model: string) =>
    fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      body: JSON.stringify(body(model)),
      headers: { 'x-api-key': caller.secret, 'content-type': 'application/json' },
    })

  const refused = await call('test/m1')
  const served = await call('test/long')

  assert.deepEqual([refused.status, served.status], [400, 200])
  await served.text()
})

test('the hold covers the whole prompt at the highest price, and /v1/models lists it', async () => {
  const listed = await gateway.get('/v1/models/test/long', caller.secret)
  upstream.next({ usage })
  const answer = await gateway.chat({ model: 'test/long', max_tokens: 1 }, { key: caller.secret })

  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.equal(listed.body.pricing?.input_cache_write_1h, '0.000006')
  assert.equal((nano(row.hold) - 15_000n) % 6000n, 0n)
})
