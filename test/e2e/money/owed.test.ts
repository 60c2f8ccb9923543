// When an upstream reports more than was held: the whole cost is booked, the part above the balance is owed, and debts
// are paid first.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import { balanceOf, credits, nano, settledRow } from '../../support/usage.ts'

const { gateway, upstream } = await openFixture()
const messages = [{ role: 'user', content: 'Say hello' }]

test('a cost above the hold is taken from the balance, and the rest is owed until a top-up pays it', async () => {
  const caller = await gateway.createKey({ credits: '0.1' })
  upstream.next({ usage: { prompt_tokens: 100_000, completion_tokens: 10 } })

  const dear = await gateway.chat({ messages, max_tokens: 10 }, { key: caller.secret })
  assert.equal(dear.status, 200)
  assert.equal(dear.headers['x-svc-cost'], '0.2501')
  assert.deepEqual(await balanceOf(gateway, caller.accountId), {
    available: '0',
    held: '0',
    spent: '0.2501',
    owed: '0.1501',
  })

  const refused = await gateway.chat({ messages, max_tokens: 1 }, { key: caller.secret })
  assert.equal(refused.status, 402)
  assert.equal(refused.body.error?.code, 'insufficient_credits')
  assert.equal(refused.body.error?.metadata?.owed, '0.1501')

  await gateway.addCredits(caller.accountId, '0.15')
  assert.equal((await balanceOf(gateway, caller.accountId)).owed, '0.0001')
  const still = await gateway.chat({ messages, max_tokens: 1 }, { key: caller.secret })
  assert.equal(still.status, 402)

  await gateway.addCredits(caller.accountId, '1')
  assert.deepEqual(await balanceOf(gateway, caller.accountId), {
    available: '0.9999',
    held: '0',
    spent: '0.2501',
    owed: '0',
  })
  const after = await gateway.chat({ messages, max_tokens: 1 }, { key: caller.secret })
  assert.equal(after.status, 200)
})

test("a released hold pays the account's debt first", async () => {
  const caller = await gateway.createKey({ credits: '0.2' })
  const going = Promise.withResolvers<void>()
  upstream.journal.length = 0
  upstream.next(async () => {
    await going.promise
    return { usage: { prompt_tokens: 4, completion_tokens: 10 } }
  })
  const slow = gateway.chat({ messages, max_tokens: 4096 }, { key: caller.secret })
  await upstream.received(1)
  upstream.next({ usage: { prompt_tokens: 70_000, completion_tokens: 1 } })

  await gateway.chat({ messages, max_tokens: 1 }, { key: caller.secret })
  const indebted = await balanceOf(gateway, caller.accountId)
  going.resolve()
  await slow

  const cost = 70_000n * 2500n + 10_000n
  assert.equal(nano(indebted.owed), cost - (nano('0.2') - nano(indebted.held)))
  const settled = await balanceOf(gateway, caller.accountId)
  const both = cost + 4n * 2500n + 10n * 10_000n
  assert.deepEqual(settled, { available: credits(nano('0.2') - both), held: '0', spent: credits(both), owed: '0' })
})

test('usage of twice the maximum is clamped, and an alarm is raised', async () => {
  const caller = await gateway.createKey({ credits: '1' })
  upstream.next({ usage: { prompt_tokens: 10, completion_tokens: 100 } })

  const answer = await gateway.chat({ messages, max_tokens: 50 }, { key: caller.secret })

  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.equal(row.completion_tokens, 50)
  assert.equal(row.usage_source, 'upstream')
  assert.equal(nano(row.cost), 10n * 2500n + 50n * 10_000n)
  const { text } = await gateway.get('/metrics')
  assert.match(text, /turnpike_alarms_total\{alarm="usage_clamped"\} 1\b/)
})

test('a prompt count above the context is clamped to it, and the output cap applies per choice', async () => {
  const caller = await gateway.createKey({ credits: '10' })
  upstream.next({ usage: { prompt_tokens: 9_000_000, completion_tokens: 101 } })

  const answer = await gateway.chat({ messages, max_tokens: 50, n: 2 }, { key: caller.secret })

  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.deepEqual([row.prompt_tokens, row.completion_tokens], [128_000, 100])
})
