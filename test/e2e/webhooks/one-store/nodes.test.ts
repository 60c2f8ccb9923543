// Several nodes on one Postgres deliver each event once among them, also providers' events that all of them see, and a node that
// is killed leaves nothing behind.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withBounds } from '../../../support/bounds.ts'
import { startFaultProxy } from '../../../support/fault-proxy.ts'
import type { Gateway } from '../../../support/gateway.ts'
import { startNodes } from '../../../support/nodes.ts'
import { hasPostgres } from '../../../support/postgres.ts'
import { standardConfig, standardModel, standardProvider } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'
import { startReceiver } from '../../../support/webhook-receiver.ts'

const bounds = withBounds({
  webhookLeaseMs: 2000,
  webhooksIdlePolledEveryMs: 500,
  webhookTimeoutMs: 1000,
  webhookRetryMsMin: 50,
  webhookRetryMsMax: 100,
  breakerFailuresInARowMax: 3,
  breakerOpenMs: 500,
  breakerOpenMsMax: 500,
  probeEveryMs: 50,
  targetsMaintainedEveryMs: 100,
  deadCredentialProbedEveryMs: 200,
  retryReserveMax: 1000,
})
const env = { ...bounds.env, TURNPIKE_WEBHOOKS_ALLOW_PRIVATE: '1', TURNPIKE_ALLOW_UNSAFE_DATABASE: '1' }

if (hasPostgres()) {
  test('events of three nodes arrive once at each endpoint, one request at a time', async () => {
    await using receivers = await twoReceivers()
    await using nodes = await startNodes(3, { ...bounds, env, config: standardConfig('http://127.0.0.1:1') })
    const [first] = nodes.all as [Gateway]
    for (const { url } of receivers.all) await first.admin('POST', '/webhooks', { url, events: ['credits.added'] })
    const { id } = await first.createAccount()
    for (const { reply } of receivers.all) reply((_, index) => ({ status: index % 17 === 3 ? 500 : 200, afterMs: 2 }))

    const amounts = Array.from({ length: 120 }, (_, i) => String(i + 1))
    await Promise.all(
      nodes.all.map(async (node, n) => {
        for (const amount of amounts) if (Number(amount) % 3 === n) await node.addCredits(id, amount)
      }),
    )
    for (const { received } of receivers.all) await until('all arrive', () => new Set(idsIn(received)).size === 120)

    for (const { received, openMax } of receivers.all) {
      const failures = received.filter((_, index) => index % 17 === 3).length
      assert.equal(received.length, 120 + failures, 'only what was answered with 500 was sent twice')
      assert.equal(openMax(), 1)
    }
    // Both get the same order, whichever node delivers.
    const [one, two] = receivers.all.map(({ received }) => [...new Set(idsIn(received))])
    assert.deepEqual(one, two)
  })

  test('when the node that delivers is killed, another one continues', async () => {
    await using receiver = await startReceiver()
    await using nodes = await startNodes(2, { ...bounds, env, config: standardConfig('http://127.0.0.1:1') })
    const [first, second] = nodes.all as [Gateway, Gateway]
    await first.admin('POST', '/webhooks', { url: receiver.url, events: ['credits.added'] })
    const { id } = await first.createAccount()
    receiver.reply(() => ({ status: 200, afterMs: 100 }))

    const amounts = Array.from({ length: 30 }, (_, i) => String(i + 1))
    for (const amount of amounts) await first.addCredits(id, amount)
    await until('some have arrived', () => receiver.received.length > 3)
    await first.kill()
    await until('all have arrived', () => new Set(idsIn(receiver.received)).size === 30)

    const inOrder = [...new Set(receiver.dataOf('credits.added').map(({ amount }) => amount))]
    assert.deepEqual(inOrder, amounts)
    assert.ok(receiver.received.length < 30 + 25, `${receiver.received.length} requests`)
    await until('the results are stored', async () => {
      const [webhook] = (await second.admin<{ data: readonly { id: string }[] }>('GET', '/webhooks')).body.data
      const pending = await second.admin('GET', `/webhooks/${webhook?.id}/deliveries?status=pending`)
      return JSON.stringify(pending.body.data) === '[]'
    })
  })

  test('a provider that two nodes find unavailable, and a rejected credential, are told once', async () => {
    await using receiver = await startReceiver()
    await using upstream = await startUpstream()
    await using proxy = await startFaultProxy(upstream.port)
    const config = standardConfig(upstream.url, {
      providers: [
        standardProvider(`http://127.0.0.1:${proxy.port}/v1`, { id: 'proxied' }),
        standardProvider(upstream.url, { id: 'keyed' }),
      ],
      models: [
        standardModel({ id: 'test/a', targets: [{ provider: 'proxied', model: 'a' }] }),
        standardModel({ id: 'test/b', targets: [{ provider: 'proxied', model: 'b' }] }),
        standardModel({ id: 'test/keyed', targets: [{ provider: 'keyed', model: 'keyed-up' }] }),
      ],
    })
    await using nodes = await startNodes(2, { ...bounds, env, config })
    const [first] = nodes.all as [Gateway]
    await first.admin('POST', '/webhooks', { url: receiver.url, events: ['provider.*', 'credential.*'] })
    const { secret } = await first.createKey({ rpm_limit: 100_000 })
    const types = () => receiver.received.map(({ body }) => body.type)
    const breakersOf = (node: Gateway, kind: string) =>
      node.logs.filter(line => String(line.msg) === `circuit breaker ${kind}`)
    const failAt = async (node: Gateway, model: string, opened: number) => {
      await until('its breaker opens', async () => {
        await node.chat({ model }, { key: secret })
        return breakersOf(node, 'opened').length >= opened
      })
    }

    await proxy.set({ kind: 'refuse' })
    for (const node of nodes.all) await failAt(node, 'test/a', 1)
    assert.deepEqual(types(), [], 'the other target can still be called')
    for (const node of nodes.all) await failAt(node, 'test/b', 2)
    await until('it is told', () => types().length > 0)
    assert.deepEqual(receiver.received[0]?.body.data, { provider_id: 'proxied', targets: 2 })
    await proxy.set({ kind: 'pass' })
    for (const node of nodes.all) await until('all are closed', () => breakersOf(node, 'closed').length >= 2)
    await until('that is told', () => types().length > 1)
    assert.equal(typeof receiver.received[1]?.body.data.unavailable_since, 'string')

    upstream.script(() => ({ status: 401 }), 'keyed-up')
    for (const node of nodes.all) {
      await until('the credential is rejected', async () => {
        await node.chat({ model: 'test/keyed' }, { key: secret })
        return node.logs.some(line => String(line.kind) === 'credential_dead')
      })
    }
    await until('the rejection is told', () => types().length > 2)
    await first.admin('POST', '/webhooks', { url: receiver.url, events: ['key.created'] })
    await first.createKey()
    await until('a later event arrives', () => types().includes('key.created'))

    assert.deepEqual(types(), ['provider.unavailable', 'provider.recovered', 'credential.rejected', 'key.created'])
  })
}

function idsIn(received: readonly { readonly headers: Readonly<Record<string, unknown>> }[]): readonly string[] {
  return received.map(({ headers }) => String(headers['webhook-id']))
}

async function twoReceivers() {
  const all = [await startReceiver(), await startReceiver()]
  return {
    all,
    async [Symbol.asyncDispose]() {
      for (const each of all) await each[Symbol.asyncDispose]()
    },
  }
}
