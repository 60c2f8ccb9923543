// Events reach endpoints over real HTTP: signed by the Standard Webhooks specification, in order, retried, filtered, in Slack's
// format.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withBounds } from '../../support/bounds.ts'
import { openFixture } from '../../support/fixture.ts'
import type { Loose } from '../../support/http-call.ts'
import { standardConfig } from '../../support/standard-config.ts'
import { until } from '../../support/until.ts'
import { type Receiver, startReceiver, verified } from '../../support/webhook-receiver.ts'

// It is woken by events: nothing here waits for the next look.
const QUICK = {
  webhookRetryMsMin: 50,
  webhookRetryMsMax: 100,
  webhookTimeoutMs: 1000,
  webhooksPolledEveryMs: 600_000,
  webhooksIdlePolledEveryMs: 600_000,
}
const options = withBounds(QUICK)
const { gateway } = await openFixture(standardConfig, {
  ...options,
  env: { ...options.env, TURNPIKE_WEBHOOKS_ALLOW_PRIVATE: '1' },
})

type Delivery = Readonly<Record<'id' | 'status' | 'error' | 'event_id', string>> &
  Readonly<Record<'attempts' | 'response_status', number>>

async function subscribe(receiver: Receiver, fields: object = {}): Promise<Loose> {
  const made = await gateway.admin('POST', '/webhooks', { url: receiver.url, events: ['*'], ...fields })
  assert.equal(made.status, 201, made.text)
  return made.body
}

async function unsubscribe({ id }: Loose): Promise<void> {
  assert.equal((await gateway.admin('DELETE', `/webhooks/${id}`)).status, 204)
}

const deliveriesOf = async ({ id }: Loose) =>
  (await gateway.admin<{ data: readonly Delivery[] }>('GET', `/webhooks/${id}/deliveries?limit=100`)).body.data

test('an event arrives signed, with its id, and the package of the specification verifies it', async () => {
  await using receiver = await startReceiver()
  const webhook = await subscribe(receiver)
  assert.match(String(webhook.secret), /^whsec_[A-Za-z0-9+/]{43}=$/)

  const { id } = await gateway.createKey()
  await until('the event arrives', () => receiver.dataOf('key.created').length === 1)

  const received = receiver.received.find(({ body }) => body.type === 'key.created')!
  assert.equal(received.path, '/hooks?token=1')
  assert.equal(received.headers['content-type'], 'application/json')
  const event = verified(received, String(webhook.secret))
  assert.deepEqual(Object.keys(event), ['type', 'timestamp', 'data'])
  assert.equal((event.data as { key_id: string }).key_id, id)
  assert.ok(Math.abs(Date.parse(String(event.timestamp)) - Date.now()) < 60_000)
  assert.throws(() => verified({ ...received, text: received.text.replace('key', 'kez') }, String(webhook.secret)))
  assert.throws(() => verified(received, `whsec_${Buffer.alloc(32).toString('base64')}`))
  const [listed] = await deliveriesOf(webhook)
  assert.deepEqual(
    [listed?.status, listed?.attempts, listed?.response_status, listed?.event_id],
    ['delivered', 1, 200, received.headers['webhook-id']],
  )
  await unsubscribe(webhook)
})

test('after a rotation both secrets sign for a day, also if it is rotated again soon', async () => {
  await using receiver = await startReceiver()
  const webhook = await subscribe(receiver, { events: ['key.created'] })
  const rotated = (await gateway.admin('POST', `/webhooks/${webhook.id}/rotate-secret`, {})).body

  await gateway.createKey()
  await until('the event arrives', () => receiver.received.length === 1)

  const again = (await gateway.admin('POST', `/webhooks/${webhook.id}/rotate-secret`, {})).body
  await gateway.createKey()
  await until('the next event arrives', () => receiver.received.length === 2)

  assert.notEqual(rotated.secret, webhook.secret)
  for (const { secret } of [again, rotated, webhook]) verified(receiver.received[1]!, String(secret))
  for (const secret of [rotated.secret, webhook.secret]) verified(receiver.received[0]!, String(secret))
  assert.match(String(receiver.received[0]?.headers['webhook-signature']), /^v1,\S+ v1,\S+$/)
  const inMs = Date.parse(String(rotated.previous_secret_expires_at)) - Date.now()
  assert.ok(inMs > 86_000_000 && inMs <= 86_400_000)
  await unsubscribe(webhook)
})

test('events arrive in order: the next waits while one is retried after 500, a timeout and a redirect', async () => {
  await using receiver = await startReceiver()
  await using elsewhere = await startReceiver()
  const webhook = await subscribe(receiver, { events: ['credits.added'] })
  const { id } = await gateway.createAccount()
  const faults = [
    { status: 500 },
    'silent',
    { status: 302, headers: { location: elsewhere.url } },
    { status: 404 },
  ] as const
  receiver.reply((_, index) => faults[index] ?? { status: 204 })

  for (const amount of ['1', '2', '3']) await gateway.addCredits(id, amount)
  await until('all have arrived', () => receiver.received.length === 7)

  assert.deepEqual(
    receiver.dataOf('credits.added').map(({ amount }) => amount),
    ['1', '1', '1', '1', '1', '2', '3'],
  )
  const [first, second] = receiver.received
  assert.equal(first?.headers['webhook-id'], second?.headers['webhook-id'])
  await until('the results are stored', async () =>
    (await deliveriesOf(webhook)).every(({ status }) => status === 'delivered'),
  )
  assert.deepEqual(
    (await deliveriesOf(webhook)).map(({ attempts }) => attempts),
    [1, 1, 5],
  )
  assert.equal(elsewhere.received.length, 0, 'a redirect is not followed')
  await unsubscribe(webhook)
})

test('while it fails, the webhook and its delivery say so', async () => {
  await using receiver = await startReceiver()
  const webhook = await subscribe(receiver, { events: ['credits.added'] })
  let isBroken = true
  receiver.reply(() => (isBroken ? { status: 302, headers: { location: '/' } } : { status: 200 }))
  const { id } = await gateway.createAccount()

  await gateway.addCredits(id, '1')
  await until('an attempt has failed', async () => typeof (await deliveriesOf(webhook))[0]?.error === 'string')
  const failing = (await gateway.admin('GET', `/webhooks/${webhook.id}`)).body
  const [delivery] = await deliveriesOf(webhook)
  assert.ok(typeof failing.failing_since === 'string')
  assert.deepEqual([delivery?.status, delivery?.error], ['pending', 'status 302: redirects are not followed'])
  isBroken = false
  await until('it is delivered', async () => (await deliveriesOf(webhook))[0]?.status === 'delivered')

  assert.equal((await gateway.admin('GET', `/webhooks/${webhook.id}`)).body.failing_since, null)
  await unsubscribe(webhook)
})

test('an answer without end is cut after 64 kB, and its status counts', async () => {
  await using receiver = await startReceiver()
  const webhook = await subscribe(receiver, { events: ['key.created'] })
  receiver.reply(() => 'endless')

  await gateway.createKey()
  await until('it is delivered', async () => (await deliveriesOf(webhook))[0]?.status === 'delivered')

  assert.equal(receiver.received.length, 1)
  // What is in the buffers of the system was sent, but not read.
  assert.ok(receiver.endlessBytes() < 16 * 1024 * 1024, `${receiver.endlessBytes()} bytes`)
  await unsubscribe(webhook)
})

test('a slow endpoint delays no other, and gets one request at a time', async () => {
  await using slow = await startReceiver()
  await using fast = await startReceiver()
  const webhooks = [
    await subscribe(slow, { events: ['credits.added'] }),
    await subscribe(fast, { events: ['credits.added'] }),
  ]
  slow.reply(() => ({ status: 200, afterMs: 700 }))
  const { id } = await gateway.createAccount()

  const from = performance.now()
  for (let i = 1; i <= 4; i++) await gateway.addCredits(id, String(i))
  await until('the fast one has all', () => fast.received.length === 4)
  const tookMs = performance.now() - from
  assert.ok(slow.received.length < 4, `${slow.received.length} after ${tookMs} ms`)
  await until('the slow one has all', () => slow.received.length === 4)

  assert.equal(slow.openMax(), 1)
  for (const webhook of webhooks) await unsubscribe(webhook)
})

test('patterns and accounts decide what an endpoint gets', async () => {
  await using receiver = await startReceiver()
  const { id: accountId } = await gateway.createAccount()
  const webhook = await subscribe(receiver, { events: ['key.*'], account_id: accountId })

  await gateway.createKey()
  const { id } = await gateway.createKey({ account_id: accountId })
  await gateway.addCredits(accountId, '5')
  await gateway.admin('POST', `/keys/${id}/rotate`, {})
  await gateway.admin('POST', `/keys/${id}/end-grace`, {})
  await gateway.admin('POST', `/keys/${id}/revoke`, {})
  await until('the last arrives', () => receiver.dataOf('key.revoked').length === 1)

  assert.deepEqual(
    receiver.received.map(({ body }) => [body.type, body.data.key_id]),
    ['key.created', 'key.rotated', 'key.grace_ended', 'key.revoked'].map(type => [type, id]),
  )
  await unsubscribe(webhook)
})

test('Slack gets a readable sentence, escaped', async () => {
  await using receiver = await startReceiver()
  const webhook = await subscribe(receiver, { events: ['credits.added'], format: 'slack' })
  const { id } = await gateway.createAccount({ name: '<Acme> & Co' })

  await gateway.addCredits(id, '12.5')
  await until('it arrives', () => receiver.received.length === 1)

  assert.deepEqual(receiver.received[0]?.body, {
    text: `12.5 credits were added to account "&lt;Acme&gt; &amp; Co" (${id}); 12.5 are available.`,
  })
  verified(receiver.received[0]!, String(webhook.secret))
  await unsubscribe(webhook)
})

test('a test sends a sample at once and reports the result', async () => {
  await using receiver = await startReceiver()
  const webhook = await subscribe(receiver, { events: ['webhook.disabled'], enabled: false })

  const sent = await gateway.admin('POST', `/webhooks/${webhook.id}/test`, {})
  receiver.reply(() => ({ status: 503 }))
  const failed = await gateway.admin('POST', `/webhooks/${webhook.id}/test`, { type: 'budget.threshold' })
  receiver.reply(() => 'silent')
  const late = await gateway.admin('POST', `/webhooks/${webhook.id}/test`, {})

  assert.deepEqual([sent.status, sent.body.delivered, sent.body.response_status], [200, true, 200])
  assert.equal(verified(receiver.received[0]!, String(webhook.secret)).type, 'webhook.test')
  assert.deepEqual([failed.body.delivered, failed.body.error], [false, 'status 503'])
  assert.equal(receiver.received[1]?.body.data.spent, '20.4')
  assert.match(String(late.body.error), /no complete answer within 1000 ms/)
  assert.deepEqual(await deliveriesOf(webhook), [])
  await unsubscribe(webhook)
})

test('a delivery can be sent again, with the same id', async () => {
  await using receiver = await startReceiver()
  const webhook = await subscribe(receiver, { events: ['key.created'] })
  await gateway.createKey()
  await until('it is delivered', async () => (await deliveriesOf(webhook))[0]?.status === 'delivered')
  const [delivery] = await deliveriesOf(webhook)

  const again = await gateway.admin('POST', `/webhooks/${webhook.id}/deliveries/${delivery?.id}/resend`, {})
  await until('it arrives again', () => receiver.received.length === 2)

  assert.deepEqual([again.status, again.body.status], [201, 'pending'])
  assert.equal(receiver.received[1]?.headers['webhook-id'], receiver.received[0]?.headers['webhook-id'])
  assert.equal(receiver.received[1]?.text, receiver.received[0]?.text)
  const unknown = await gateway.admin('POST', `/webhooks/${webhook.id}/deliveries/whd_none/resend`, {})
  assert.equal(unknown.status, 404)
  await unsubscribe(webhook)
})

test('a chat that makes a balance low, or uses it up, is told at once', async () => {
  await using receiver = await startReceiver()
  const { id, secret, accountId } = await gateway.createKey({ credits: '0.2' })
  await gateway.admin('PATCH', `/accounts/${accountId}`, { low_balance: '0.1999999' })
  const webhook = await subscribe(receiver, { events: ['balance.*', 'budget.*'] })
  const budgets = [{ amount: '0.00000001', window: 'day', action: 'alert' }]
  assert.equal((await gateway.admin('PATCH', `/keys/${id}`, { budgets })).status, 200)

  for (let i = 0; i < 3; i++) assert.equal((await gateway.chat({}, { key: secret })).status, 200)
  await until('the events arrive', () => receiver.received.length >= 3)

  const types = receiver.received.map(({ body }) => body.type).sort()
  assert.deepEqual(types, ['balance.low', 'budget.exhausted', 'budget.threshold'])
  assert.equal(receiver.dataOf('balance.low')[0]?.account_id, accountId)
  await unsubscribe(webhook)
})
