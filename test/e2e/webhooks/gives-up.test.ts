// An endpoint that is down is retried in order; one that stays down is disabled with an event, and its events are canceled.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withBounds } from '../../support/bounds.ts'
import { openFixture } from '../../support/fixture.ts'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import { until } from '../../support/until.ts'
import { startReceiver } from '../../support/webhook-receiver.ts'

const allow = { TURNPIKE_WEBHOOKS_ALLOW_PRIVATE: '1' }
const quick = withBounds({ webhookRetryMsMin: 20, webhookRetryMsMax: 100, webhookRetriedForMs: 1500 })
const { gateway } = await openFixture(standardConfig, { ...quick, env: { ...quick.env, ...allow } })

type Delivery = { readonly id: string; readonly status: string; readonly error: string | null }
const deliveriesOf = async (id: unknown) =>
  (await gateway.admin<{ data: readonly Delivery[] }>('GET', `/webhooks/${id}/deliveries`)).body.data

test('after the retry time it is disabled, others are told, and it continues where an operator starts it again', async () => {
  await using broken = await startReceiver()
  await using watching = await startReceiver()
  broken.reply(() => ({ status: 500 }))
  const fields = { url: broken.url, events: ['credits.added'] }
  const { id } = (await gateway.admin('POST', '/webhooks', fields)).body
  const other = (await gateway.admin('POST', '/webhooks', { url: watching.url, events: ['webhook.*'] })).body
  const account = (await gateway.createAccount()).id
  for (const amount of ['1', '2', '3']) await gateway.addCredits(account, amount)

  await until(
    'it is disabled',
    async () => (await gateway.admin('GET', `/webhooks/${id}`)).body.enabled === (false as never),
  )
  await until('the other is told', () => watching.received.length === 1)

  const webhook = (await gateway.admin('GET', `/webhooks/${id}`)).body
  assert.equal(webhook.disabled_reason, 'the endpoint failed for too long')
  assert.deepEqual(
    (await deliveriesOf(id)).map(({ status }) => status),
    ['canceled', 'canceled', 'failed'],
  )
  const [told] = watching.dataOf('webhook.disabled')
  assert.deepEqual([told?.webhook_id, told?.host], [id, new URL(broken.url).host])
  const attempts = broken.received.length
  assert.ok(attempts > 5, `${attempts} attempts`)
  assert.deepEqual([...new Set(broken.dataOf('credits.added').map(({ amount }) => amount))], ['1'])

  broken.reply(() => ({ status: 200 }))
  await gateway.admin('PATCH', `/webhooks/${id}`, { enabled: true })
  await gateway.addCredits(account, '4')
  const [, , first] = (await deliveriesOf(id)).slice(-3)
  await gateway.admin('POST', `/webhooks/${id}/deliveries/${first?.id}/resend`, {})
  await until('both arrive', () => broken.received.length === attempts + 2)
  assert.deepEqual(
    broken
      .dataOf('credits.added')
      .slice(attempts)
      .map(({ amount }) => amount),
    ['4', '1'],
  )
  for (const each of [id, other.id]) await gateway.admin('DELETE', `/webhooks/${each}`)
})

test('what a replaced address answers says nothing about the new one', async () => {
  await using old = await startReceiver()
  await using next = await startReceiver()
  old.reply((_, i) => ({ status: i === 0 ? 200 : 410, afterMs: 300 }))
  const fields = { url: old.url, events: ['credits.added'] }
  const { id } = (await gateway.admin('POST', '/webhooks', fields)).body
  const account = (await gateway.createAccount()).id
  for (const amount of ['1', '2', '3', '4']) await gateway.addCredits(account, amount)
  await until('the second is under way', () => old.received.length === 2)

  await gateway.admin('PATCH', `/webhooks/${id}`, { url: next.url })
  await until('the others arrive', () => next.received.length === 3)

  assert.deepEqual(
    next.dataOf('credits.added').map(({ amount }) => amount),
    ['2', '3', '4'],
  )
  assert.equal(old.received.length, 2)
  assert.equal((await gateway.admin('GET', `/webhooks/${id}`)).body.enabled, true)
  await gateway.admin('DELETE', `/webhooks/${id}`)
})

test('410 Gone disables an endpoint at once', async () => {
  await using receiver = await startReceiver()
  receiver.reply(() => ({ status: 410 }))
  const { id } = (await gateway.admin('POST', '/webhooks', { url: receiver.url, events: ['*'] })).body

  await gateway.createAccount().then(account => gateway.addCredits(account.id, '1'))
  await until(
    'it is disabled',
    async () => (await gateway.admin('GET', `/webhooks/${id}`)).body.enabled === (false as never),
  )

  assert.equal(receiver.received.length, 1)
  await gateway.admin('DELETE', `/webhooks/${id}`)
})

test('a receiver that was down for long gets everything in order, once, when it is back', async () => {
  const patient = withBounds({ webhookRetryMsMin: 20, webhookRetryMsMax: 100 })
  await using own = await startGateway({
    ...patient,
    env: { ...patient.env, ...allow },
    config: standardConfig('http://127.0.0.1:1'),
  })
  const receiver = await startReceiver()
  await own.admin('POST', '/webhooks', { url: receiver.url, events: ['credits.added'] })
  const { id } = await own.createAccount()
  const { port } = new URL(receiver.url)
  await receiver[Symbol.asyncDispose]()

  const amounts = Array.from({ length: 60 }, (_, i) => String(i + 1))
  for (const amount of amounts) await own.addCredits(id, amount)
  await until('it is retried', () => own.logs.filter(line => String(line.msg) === 'webhook delivery failed').length > 5)
  await using again = await startReceiver(Number(port))
  await until('all have arrived', () => again.received.length >= 60)

  assert.deepEqual(
    again.dataOf('credits.added').map(({ amount }) => amount),
    amounts,
  )
})
