// The queue of webhooks, on every engine: each event becomes one delivery per matching endpoint, in order, leased to one owner.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OutboxEvent } from '../../../src/domain/events.ts'
import type { NewWebhook } from '../../../src/store/contract/webhooks.ts'
import { emit } from '../../../src/store/sql/outbox.ts'
import { ENGINES, OPERATOR, openRepositories, type Repositories } from '../../support/engines.ts'

const DAY_MS = 86_400_000
const LEASE_MS = 30_000
const GIVE_UP_MS = 3 * DAY_MS
const KEPT = {
  eventsKeptMs: 40 * DAY_MS,
  deliveriesKeptMs: 30 * DAY_MS,
  deliveriesPerWebhookMax: 100,
  waitingPerWebhookMax: 20,
}
const bounds = ({ clock }: Pick<Repositories, 'clock'>) => ({ ...KEPT, now: clock.now() })
let made = 0

for (const { engine, open } of ENGINES) {
  test(`${engine}: events reach the endpoints whose patterns and account match, in order`, async () => {
    await using store = await openRepositories(open)
    await store.accounts.create({ id: 'acct_a', name: 'A' }, OPERATOR)
    const all = await add(store, { events: ['*'] })
    const balances = await add(store, { events: ['balance.*', 'key.revoked'] })
    const ofA = await add(store, { events: ['balance.low'], accountId: 'acct_a' })
    const off = await add(store, { events: ['*'], enabled: false })

    await raise(store, low('acct_a'), low('acct_b'), recovered())
    assert.equal(await store.webhookQueue.fanOut(100), 3)
    assert.equal(await store.webhookQueue.fanOut(100), 0)

    assert.deepEqual(await waiting(store, all), ['balance.low acct_a', 'balance.low acct_b', 'provider.recovered'])
    assert.deepEqual(await waiting(store, balances), ['balance.low acct_a', 'balance.low acct_b'])
    assert.deepEqual(await waiting(store, ofA), ['balance.low acct_a'])
    assert.deepEqual(await waiting(store, off), [])
  })

  test(`${engine}: secrets replaced within the overlap all stay, the newest five, until it is over`, async () => {
    await using store = await openRepositories(open)
    const id = await add(store, {})
    const rotate = (secret: string) => store.webhooks.rotateSecret(id, secret, DAY_MS, OPERATOR)
    const previous = async () => (await store.webhooks.get(id))?.previousSecrets

    for (const secret of ['s1', 's2', 's3', 's4', 's5', 's6']) await rotate(secret)
    assert.deepEqual(await previous(), ['s5', 's4', 's3', 's2', 's1'])
    store.clock.advance(DAY_MS)
    await rotate('s7')
    assert.deepEqual(await previous(), ['s6'])
    assert.equal(await store.webhooks.rotateSecret('wh_nobody', 's', DAY_MS, OPERATOR), undefined)
  })

  test(`${engine}: deliveries keep the order of fan-out, also when the clock is set back and many share a moment`, async () => {
    await using store = await openRepositories(open)
    const id = await add(store, { events: ['*'] })
    const names = Array.from({ length: 250 }, (_, i) => `acct_${i}`)

    await raise(store, ...names.slice(0, 200).map(low))
    while ((await store.webhookQueue.fanOut(90)) > 0);
    store.clock.set(store.clock.now() - 3_600_000)
    await raise(store, ...names.slice(200).map(low))
    while ((await store.webhookQueue.fanOut(90)) > 0);

    assert.deepEqual(
      await waiting(store, id),
      names.map(name => `balance.low ${name}`),
    )
  })

  test(`${engine}: an event that commits late is delivered, after later ones that were committed before it`, async () => {
    await using store = await openRepositories(open)
    const id = await add(store, { events: ['*'] })
    const early = { ...low('acct_early') }

    await raise(store, low('acct_later'))
    await store.webhookQueue.fanOut(100)
    // Its id is that of an earlier time.
    store.clock.set(store.clock.now() - 60_000)
    await raise(store, early)
    await store.webhookQueue.fanOut(100)

    assert.deepEqual(await waiting(store, id), ['balance.low acct_later', 'balance.low acct_early'])
  })

  test(`${engine}: an endpoint is leased to one owner until it reports no more`, async () => {
    await using store = await openRepositories(open)
    const id = await add(store, { events: ['*'] })
    await raise(store, low('a'), low('b'), low('c'))
    await store.webhookQueue.fanOut(100)

    const claims = await Promise.all(['n1', 'n2', 'n3'].map(owner => claim(store, owner)))
    const owner = ['n1', 'n2', 'n3'][claims.findIndex(each => each.webhooks.length > 0)] as string
    assert.equal(claims.flatMap(each => each.webhooks).length, 1)
    assert.ok(claims.filter(each => each.webhooks.length === 0).every(each => each.againInMs === 500))

    const [first] = await report(store, id, owner, [])
    store.clock.advance(LEASE_MS - 1)
    assert.equal((await claim(store, 'other')).webhooks.length, 0)
    const next = await report(store, id, owner, [{ id: first!.id }])
    assert.equal(next.length, 2)
    store.clock.advance(LEASE_MS)
    assert.equal((await claim(store, 'other')).webhooks[0]?.id, id)
    // The lease is lost, but what was sent is stored.
    assert.deepEqual(await report(store, id, owner, [{ id: next[0]!.id }]), [])
    assert.deepEqual(await waiting(store, id, 'other'), ['balance.low c'])
  })

  test(`${engine}: a failure is retried later and blocks what follows; success ends it; three days end the endpoint`, async () => {
    await using store = await openRepositories(open)
    const id = await add(store, { events: ['*'] })
    await raise(store, low('a'), low('b'))
    await store.webhookQueue.fanOut(100)

    const since = store.clock.now()
    await claim(store, 'n')
    const [head] = await report(store, id, 'n', [])
    await report(store, id, 'n', [{ id: head!.id, error: 'status 500', status: 500 }], 5000)
    assert.equal((await claim(store, 'n')).againInMs, 5000)
    store.clock.advance(5000)
    assert.deepEqual(await waiting(store, id), ['balance.low a', 'balance.low b'])
    assert.equal((await store.webhooks.get(id))?.failingSince, since)

    await claim(store, 'n')
    await report(store, id, 'n', [{ id: head!.id }])
    assert.equal((await store.webhooks.get(id))?.failingSince, null)
    await store.webhookQueue.release(id, 'n')

    await claim(store, 'n')
    const [second] = await report(store, id, 'n', [])
    const fail = () => report(store, id, 'n', [{ id: second!.id, error: 'timeout' }])
    await fail()
    // A clock that jumps is no endpoint that fails.
    store.clock.advance(GIVE_UP_MS)
    for (let tries = 2; tries < 10; tries++) {
      await claim(store, 'n')
      await fail()
      assert.equal((await store.webhooks.get(id))?.enabled, true, `after ${tries} tries`)
      store.clock.advance(1000)
    }
    await raise(store, low('c'))
    await store.webhookQueue.fanOut(100)
    await claim(store, 'n')
    assert.deepEqual(await fail(), [])

    const ended = (await store.webhooks.get(id))!
    assert.deepEqual([ended.enabled, ended.disabledReason], [false, 'the endpoint failed for too long'])
    const { data } = (await store.webhooks.deliveries(id, { limit: 10 }))!
    assert.deepEqual(
      data.map(({ status, attempts, event }) => `${status} ${attempts} ${JSON.parse(event!.data).account_id}`),
      ['canceled 0 c', 'failed 10 b', 'delivered 2 a'],
    )
    const told = await store.sql.get('SELECT data FROM outbox WHERE type = $1', ['webhook.disabled'])
    assert.match(String(told?.data), new RegExp(`"webhook_id":"${id}","host":"example.com"`))
  })

  test(`${engine}: an endpoint that accepts some events between failures is not disabled`, async () => {
    await using store = await openRepositories(open)
    const id = await add(store, { events: ['*'] })
    await raise(store, low('a'), low('b'), low('c'))
    await store.webhookQueue.fanOut(100)
    await claim(store, 'n')
    const [a, b, c] = await report(store, id, 'n', [])
    await report(store, id, 'n', [{ id: a!.id, error: 'status 429', status: 429 }])
    store.clock.advance(GIVE_UP_MS)

    await claim(store, 'n')
    await report(store, id, 'n', [{ id: a!.id }, { id: b!.id }, { id: c!.id, error: 'status 429', status: 429 }])

    const webhook = (await store.webhooks.get(id))!
    assert.deepEqual([webhook.enabled, webhook.failingSince], [true, store.clock.now()])
    store.clock.advance(1000)
    assert.deepEqual(await waiting(store, id), ['balance.low c'])
  })

  test(`${engine}: what waited while an endpoint was disabled is canceled, and can be sent again`, async () => {
    await using store = await openRepositories(open)
    const id = await add(store, { events: ['*'] })
    await raise(store, ...Array.from({ length: 700 }, (_, i) => low(`a${i}`)))
    while ((await store.webhookQueue.fanOut(200)) > 0);

    await store.webhooks.update(id, { enabled: false }, OPERATOR)
    await raise(store, low('while_off'))
    await store.webhookQueue.fanOut(100)
    await store.webhooks.update(id, { enabled: true }, OPERATOR)
    assert.deepEqual(await waiting(store, id), [])
    while (await store.webhookQueue.tidy({ ...bounds(store), deliveriesPerWebhookMax: 1000 }));
    const canceled = await store.webhooks.deliveries(id, { limit: 1000, status: 'canceled' })
    assert.equal(canceled?.data.length, 700)

    const again = await store.webhooks.resend(id, canceled!.data[0]!.id, OPERATOR)
    assert.ok(typeof again === 'object')
    assert.deepEqual(await waiting(store, id), ['balance.low a699'])
    assert.equal(await store.webhooks.resend(id, again.id, OPERATOR), 'waiting')
    assert.equal(await store.webhooks.resend('wh_none', again.id, OPERATOR), undefined)
  })

  test(`${engine}: what was delivered while its endpoint was disabled is not listed as canceled`, async () => {
    await using store = await openRepositories(open)
    const id = await add(store, { events: ['*'] })
    await raise(store, low('a'), low('b'), low('c'))
    await store.webhookQueue.fanOut(100)
    await claim(store, 'n')
    const [a, b] = await report(store, id, 'n', [])

    await store.webhooks.update(id, { enabled: false }, OPERATOR)
    await report(store, id, 'n', [{ id: a!.id }, { id: b!.id, error: 'timeout' }])

    const { data } = (await store.webhooks.deliveries(id, { limit: 10 }))!
    assert.deepEqual(
      data.map(({ status, attempts }) => `${status} ${attempts}`),
      ['canceled 0', 'canceled 0', 'delivered 1'],
    )
  })

  test(`${engine}: old events and deliveries go in bounded steps, and those of deleted endpoints too`, async () => {
    await using store = await openRepositories(open)
    const id = await add(store, { events: ['*'] })
    const deleted = await add(store, { events: ['*'] })
    await raise(store, ...Array.from({ length: 600 }, (_, i) => low(`a${i}`)))
    while ((await store.webhookQueue.fanOut(200)) > 0);
    await store.sql.run(`UPDATE webhook_delivery SET status = 'delivered' WHERE webhook_id = $1`, [id])

    await store.webhooks.remove(deleted, OPERATOR)
    while (await store.webhookQueue.tidy(bounds(store)));
    const kept = async () => Number((await store.sql.get('SELECT COUNT(*) AS n FROM webhook_delivery'))?.n)
    assert.equal(await kept(), 100)
    store.clock.advance(31 * DAY_MS)
    while (await store.webhookQueue.tidy(bounds(store)));
    assert.equal(await kept(), 0)
    assert.equal(Number((await store.sql.get('SELECT COUNT(*) AS n FROM outbox'))?.n), 600)
    store.clock.advance(10 * DAY_MS)
    while (await store.webhookQueue.tidy(bounds(store)));
    assert.equal(Number((await store.sql.get('SELECT COUNT(*) AS n FROM outbox'))?.n), 0)
  })

  test(`${engine}: a lease and a retry of a clock that was ahead do not stop deliveries`, async () => {
    await using store = await openRepositories(open)
    const id = await add(store, { events: ['*'] })
    await raise(store, low('a'))
    await store.webhookQueue.fanOut(100)
    const claimed = async () => (await claim(store, 'n')).webhooks.map(webhook => webhook.id)
    const [now, day] = [store.clock.now(), DAY_MS]
    const times = `UPDATE webhook SET owner = 'dead', leased_until = $1, retry_at = $2`

    await store.sql.run(times, [now + LEASE_MS, null])
    assert.deepEqual(await claimed(), [])
    await store.sql.run(times, [now, now + 60_000])
    assert.deepEqual(await claimed(), [])
    await store.sql.run(times, [now + day, now + day])
    assert.deepEqual(await claimed(), [id])
  })

  test(`${engine}: an endpoint that fails while too many events wait is disabled`, async () => {
    await using store = await openRepositories(open)
    const id = await add(store, { events: ['*'] })
    await raise(store, ...Array.from({ length: 22 }, (_, i) => low(`a${i}`)))
    await store.webhookQueue.fanOut(100)

    await store.webhookQueue.tidy(bounds(store))
    assert.equal((await store.webhooks.get(id))?.enabled, true)
    await claim(store, 'n')
    const [head] = await report(store, id, 'n', [])
    await report(store, id, 'n', [{ id: head!.id, error: 'refused' }])
    await store.webhookQueue.tidy(bounds(store))

    assert.equal((await store.webhooks.get(id))?.disabledReason, 'more than 20 events are waiting')
  })

  test(`${engine}: an alarm is raised by the first who sees it, and once more after it was over`, async () => {
    await using store = await openRepositories(open)
    const alarm = { kind: 'provider', providerId: 'up', targets: 2 } as const
    const credential = { kind: 'credential', providerId: 'up', credential: 'c1' } as const

    const begun = await Promise.all(Array.from({ length: 5 }, () => store.alarms.begin(alarm)))
    assert.equal(begun.filter(Boolean).length, 1)
    assert.deepEqual(await store.alarms.unavailableProviders(), ['up'])
    const ended = await Promise.all(Array.from({ length: 5 }, () => store.alarms.end(alarm)))
    assert.equal(ended.filter(Boolean).length, 1)
    assert.equal(await store.alarms.begin(alarm), true)
    assert.equal(await store.alarms.begin(credential), true)
    assert.equal(await store.alarms.begin(credential), false)
    store.clock.advance(DAY_MS)
    assert.equal(await store.alarms.begin(credential), true)

    const types = await store.sql.all('SELECT type FROM outbox ORDER BY id')
    assert.deepEqual(
      types.map(row => row.type),
      [
        'provider.unavailable',
        'provider.recovered',
        'provider.unavailable',
        'credential.rejected',
        'credential.rejected',
      ],
    )
  })

  test(`${engine}: at most that many webhooks, also in racing calls, and only for accounts that exist`, async () => {
    await using store = await openRepositories(open)

    const answers = await Promise.all(
      Array.from({ length: 20 }, () => store.webhooks.create(newWebhook(), 5, OPERATOR)),
    )

    assert.equal(answers.filter(answer => answer === 'too_many').length, 15)
    const accountId = 'acct_none'
    assert.equal(await store.webhooks.create(newWebhook({ accountId }), 50, OPERATOR), 'no_account')
    const [first] = (await store.webhooks.list({ limit: 10 })).data
    assert.equal(await store.webhooks.update(first!.id, { accountId }, OPERATOR), 'no_account')
    assert.equal(await store.webhooks.update(first!.id, { description: 'x' }, OPERATOR, 7), 'changed')
    const events = await store.sql.all('SELECT detail FROM event WHERE action = $1', ['webhook.create'])
    assert.ok(!JSON.stringify(events.map(row => row.detail)).includes('T000'), 'the audit log names the host only')
  })
}

function newWebhook(change: Partial<NewWebhook> = {}): NewWebhook {
  made += 1
  return {
    id: `wh_${String(made).padStart(4, '0')}`,
    url: 'https://example.com/hooks/T000',
    events: ['*'],
    accountId: null,
    description: '',
    format: 'standard',
    enabled: true,
    secret: 'encrypted',
    ...change,
  }
}

async function add(store: Repositories, change: Partial<NewWebhook>): Promise<string> {
  const webhook = await store.webhooks.create(newWebhook(change), 50, OPERATOR)
  assert.ok(typeof webhook === 'object')
  return webhook.id
}

async function raise(store: Repositories, ...events: readonly OutboxEvent[]): Promise<void> {
  await store.sql.transaction(async tx => {
    for (const event of events) await emit(tx, event)
  })
}

function low(accountId: string): OutboxEvent {
  const data = { account_id: accountId, account_name: accountId, available: '1', threshold: '2' }
  return { type: 'balance.low', accountId, once: null, data }
}

function recovered(): OutboxEvent {
  const data = { provider_id: 'up', unavailable_since: '2026-01-01T00:00:00.000Z' }
  return { type: 'provider.recovered', accountId: null, once: null, data }
}

function claim(store: Repositories, owner: string) {
  return store.webhookQueue.claim({ owner, leaseMs: LEASE_MS, max: 8, except: [] })
}

type Sent = { readonly id: string; readonly error?: string; readonly status?: number }

async function report(store: Repositories, webhookId: string, owner: string, sent: readonly Sent[], retryInMs = 1000) {
  return store.webhookQueue.report({
    webhookId,
    version: (await store.webhooks.get(webhookId))?.version ?? 0,
    owner,
    leaseMs: LEASE_MS,
    attempts: sent.map(({ id, error, status }) => ({
      deliveryId: id,
      responseStatus: status ?? (error === undefined ? 200 : null),
      error: error ?? null,
      durationMs: 1,
    })),
    retryInMs,
    giveUpAfterMs: GIVE_UP_MS,
    isGone: false,
    nextMax: 1000,
  })
}

// What would be sent next, in order.
async function waiting(store: Repositories, id: string, owner = 'looking'): Promise<readonly string[]> {
  const { webhooks } = await claim(store, owner)
  if (owner === 'looking') assert.ok(webhooks.every(({ enabled }) => enabled))
  const next = await report(store, id, owner, [])
  for (const webhook of webhooks) await store.webhookQueue.release(webhook.id, owner)
  return next.map(({ event }) => {
    const account = JSON.parse(event.data).account_id as string | undefined
    return account === undefined ? event.type : `${event.type} ${account}`
  })
}
