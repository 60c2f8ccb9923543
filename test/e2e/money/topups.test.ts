// Credits are added while requests are charged: nothing is lost or counted twice, and a repeated call changes nothing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import { balanceOf, credits, ledgerOf, nano } from '../../support/usage.ts'

const { gateway } = await openFixture()
const messages = [{ role: 'user', content: 'Say hello' }]

test('with concurrent top-ups and charges, credits added equal credits spent plus balance', async () => {
  const caller = await gateway.createKey({ credits: '1', rpm_limit: 100_000 })
  const chats = Array.from({ length: 80 }, () => gateway.chat({ messages, max_tokens: 20 }, { key: caller.secret }))
  const topUps = Array.from({ length: 40 }, () => gateway.addCredits(caller.accountId, '0.01'))

  const answers = await Promise.all(chats)
  await Promise.all(topUps)
  assert.equal((await gateway.chat({ model: 'no/such' }, { key: caller.secret })).status, 404)

  const spent = answers.reduce((sum, answer) => sum + nano(answer.headers['x-svc-cost']), 0n)
  const balance = await balanceOf(gateway, caller.accountId)
  const entries = await ledgerOf(gateway, caller.accountId)
  assert.deepEqual([...new Set(answers.map(answer => answer.status))], [200])
  assert.deepEqual(balance, { available: credits(nano('1.4') - spent), held: '0', spent: credits(spent), owed: '0' })
  const charges = entries.filter(entry => String(entry.kind) === 'charge')
  assert.equal(
    charges.reduce((sum, entry) => sum + Number(entry.requests) - Number(entry.errors), 0),
    80,
    'charges are summed by day, and failures are told apart',
  )
  assert.equal(entries.filter(entry => String(entry.kind) === 'topup').length, 41)
  assert.equal(
    entries.reduce((sum, entry) => sum + nano(entry.amount), 0n),
    nano(balance.available),
  )
})

test('a repeated top-up, in sequence or concurrently, is applied once', async () => {
  const account = await gateway.createAccount()
  const send = () => add(account.id, { amount: '3.50', note: 'invoice 7' }, 'pay-7')

  const answers = [await send(), ...(await Promise.all(Array.from({ length: 20 }, send)))]

  assert.deepEqual([...new Set(answers.map(answer => answer.status))], [201])
  assert.equal(new Set(answers.map(answer => answer.text)).size, 1)
  assert.equal((await balanceOf(gateway, account.id)).available, '3.5')
  assert.equal((await ledgerOf(gateway, account.id)).length, 1)
})

test('an idempotency key with another body is refused; on another account it is independent', async () => {
  const [one, other] = [await gateway.createAccount(), await gateway.createAccount()]
  await add(one.id, { amount: '1' }, 'once')

  const mismatch = await add(one.id, { amount: '2' }, 'once')
  const elsewhere = await add(other.id, { amount: '2' }, 'once')
  const keyless = await gateway.admin('POST', `/accounts/${one.id}/credits`, { amount: '1' })

  assert.equal(mismatch.status, 422)
  assert.equal(elsewhere.status, 201)
  assert.equal(keyless.status, 400)
  assert.equal((await balanceOf(gateway, one.id)).available, '1')
})

test('a negative amount removes credits, never below zero and never held ones', async () => {
  const caller = await gateway.createKey({ credits: '1' })

  const tooMuch = await add(caller.accountId, { amount: '-1.000000001' }, 'a')
  const racing = await Promise.all([
    ...Array.from({ length: 10 }, (_, i) => add(caller.accountId, { amount: '-0.15' }, `take-${i}`)),
    ...Array.from({ length: 10 }, () => gateway.chat({ messages, max_tokens: 20 }, { key: caller.secret })),
  ])

  assert.equal(tooMuch.status, 409)
  const taken = racing.slice(0, 10).filter(answer => answer.status === 201).length
  const spent = racing.slice(10).reduce((sum, answer) => sum + nano(answer.headers['x-svc-cost']), 0n)
  const balance = await balanceOf(gateway, caller.accountId)
  assert.equal(taken, 6)
  assert.equal(nano(balance.available), nano('1') - BigInt(taken) * nano('0.15') - spent)
  assert.equal(balance.owed, '0')
})

function add(accountId: string, body: object, idempotencyKey: string) {
  return gateway.admin('POST', `/accounts/${accountId}/credits`, body, { 'idempotency-key': idempotencyKey })
}
