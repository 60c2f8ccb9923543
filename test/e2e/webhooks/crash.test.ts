// A kill -9 at every step of a delivery loses no event: each that was acknowledged arrives at least once, in order.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { withBounds } from '../../support/bounds.ts'
import { type Gateway, standardConfig, startGateway } from '../../support/gateway.ts'
import { until } from '../../support/until.ts'
import { type Receiver, startReceiver, verified } from '../../support/webhook-receiver.ts'

const options = withBounds({
  webhookLeaseMs: 1000,
  webhookTimeoutMs: 900,
  webhookRetryMsMin: 50,
  webhookRetryMsMax: 100,
})
const env = { ...options.env, TURNPIKE_WEBHOOKS_ALLOW_PRIVATE: '1' }
const config = standardConfig('http://127.0.0.1:1')

test('a kill at every step of a delivery', async t => {
  await using receiver = await startReceiver()
  await using gateway = await startGateway({ ...options, env, config })
  const { secret, accountId, added } = await prepared(gateway, receiver)

  const steps = ['webhook_after_fan_out', 'webhook_before_send', 'webhook_after_send', 'webhook_after_report']
  for (const step of steps) {
    await t.test(step, async () => {
      await gateway.restart({ TURNPIKE_FAILPOINTS: `${step}=kill` })
      await addUntilDead(gateway, accountId, added)
      assert.equal(await gateway.exited, null)
      await gateway.restart({ TURNPIKE_FAILPOINTS: undefined })
      await add(gateway, accountId, added)
      await until('all have arrived', () => arrived(receiver).length >= added.length)
      assert.deepEqual(arrived(receiver), added)
    })
  }

  await t.test('between the commit of an event and its fan-out', async () => {
    await gateway.restart({ TURNPIKE_FAILPOINTS: 'webhook_before_fan_out=sleep:60000' })
    for (let i = 0; i < 3; i++) await add(gateway, accountId, added)
    await gateway.kill()
    await gateway.restart({ TURNPIKE_FAILPOINTS: undefined })
    await until('all have arrived', () => arrived(receiver).length >= added.length)
    assert.deepEqual(arrived(receiver), added)
  })
  for (const received of receiver.received) verified(received, secret)
})

test('kills at random moments under load', async () => {
  await using receiver = await startReceiver()
  await using gateway = await startGateway({ ...options, env, config })
  const { accountId, added } = await prepared(gateway, receiver)

  for (let round = 0; round < 5; round++) {
    const killing = sleep(30 + Math.random() * 400).then(() => gateway.kill())
    await addUntilDead(gateway, accountId, added)
    await killing
    await gateway.restart()
    await add(gateway, accountId, added)
  }
  await until('all have arrived', () => arrived(receiver).length >= added.length)

  assert.deepEqual(arrived(receiver), added)
  assert.ok(added.length > 10, `${added.length} events`)
})

// The amounts that were acknowledged, in order. One that was not may have been committed: it is asked for again, with the same
// key, until it is acknowledged.
async function prepared(gateway: Gateway, receiver: Receiver) {
  const made = await gateway.admin('POST', '/webhooks', { url: receiver.url, events: ['credits.added'] })
  const { id } = await gateway.createAccount()
  return { secret: String(made.body.secret), accountId: id, added: [] as string[] }
}

async function add(gateway: Gateway, accountId: string, added: string[]): Promise<boolean> {
  const amount = String(added.length + 1)
  const once = { 'idempotency-key': `amount-${amount}` }
  const answer = await gateway.admin('POST', `/accounts/${accountId}/credits`, { amount }, once).catch(() => undefined)
  if (answer?.status !== 201) return false
  added.push(amount)
  return true
}

async function addUntilDead(gateway: Gateway, accountId: string, added: string[]): Promise<void> {
  for (let i = 0; i < 2000; i++) if (!(await add(gateway, accountId, added))) return
}

// Each once, in the order of first arrival.
function arrived(receiver: Receiver): readonly string[] {
  return [...new Set(receiver.dataOf('credits.added').map(({ amount }) => String(amount)))]
}
