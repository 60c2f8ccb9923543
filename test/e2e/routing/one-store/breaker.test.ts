// Circuit breakers over real HTTP: an unavailable target is not called until it recovers, its Retry-After is respected,
// and bad requests of one tenant open no breaker for others.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { withBounds } from '../../../support/bounds.ts'
import { startFaultProxy } from '../../../support/fault-proxy.ts'
import { openFixture } from '../../../support/fixture.ts'
import { standardConfig, standardModel, standardProvider } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'
import { settledRow } from '../../../support/usage.ts'

const OPEN_MS = 700
const OPENED = 'circuit breaker opened'
const reached = await startUpstream()
const proxy = await startFaultProxy(reached.port)
after(async () => {
  await proxy[Symbol.asyncDispose]()
  await reached[Symbol.asyncDispose]()
})

const MODELS: Readonly<Record<string, readonly string[]>> = {
  'test/pair': ['proxied', 'spare'],
  'test/shared': ['shared', 'spare'],
  'test/busy': ['busy', 'spare'],
  'test/alone': ['alone'],
  'test/last': ['last'],
  'test/dated': ['dated'],
}
const { gateway, upstream } = await openFixture(
  url =>
    standardConfig(url, {
      providers: [
        standardProvider(`http://127.0.0.1:${proxy.port}/v1`, { id: 'proxied' }),
        ...['spare', 'shared', 'busy', 'alone', 'last', 'dated'].map(id => standardProvider(url, { id })),
      ],
      models: Object.entries(MODELS).map(([id, providers]) =>
        standardModel({
          id,
          targets: providers.map((provider, priority) => ({ provider, model: provider, priority })),
        }),
      ),
    }),
  withBounds({
    breakerFailuresInARowMax: 5,
    breakerOpenMs: OPEN_MS,
    breakerOpenMsMax: OPEN_MS,
    probeEveryMs: 50,
    targetsMaintainedEveryMs: 100,
    retryReserveMax: 1000,
  }),
)
const poisoner = await gateway.createKey({ rpm_limit: 10_000 })
const neighbour = await gateway.createKey({ rpm_limit: 10_000 })

test('an unreachable target opens its breaker after five calls and is used again when it is back', async () => {
  await proxy.set({ kind: 'refuse' })
  for (let i = 0; i < 8; i++)
    assert.equal((await gateway.chat({ model: 'test/pair' })).headers['x-svc-provider'], 'spare')
  const spared = await attemptsOf((await gateway.chat({ model: 'test/pair' })).headers['x-request-id'])
  assert.deepEqual(spared, ['spare answered'])
  await until('the log reports it as down', () => warnings(OPENED, 'proxied') === 1)

  await proxy.set({ kind: 'pass' })
  await until('the log reports it as recovered', () => warnings('circuit breaker closed', 'proxied') === 1)
  const back = await gateway.chat({ model: 'test/pair' })

  assert.equal(back.headers['x-svc-provider'], 'proxied')
})

for (const status of [500, 403]) {
  test(`one tenant's requests that end in ${status} open no breaker for another`, async () => {
    upstream.reset()
    upstream.script(entry => (JSON.stringify(entry.body).includes('poison') ? { status } : {}), 'shared')
    const messages = [{ role: 'user', content: 'poison' }]
    for (let i = 0; i < 30; i++) await gateway.chat({ model: 'test/shared', messages }, { key: poisoner.secret })

    const answer = await gateway.chat({ model: 'test/shared' }, { key: neighbour.secret })

    assert.equal(answer.headers['x-svc-provider'], 'shared')
    assert.deepEqual(await attemptsOf(answer.headers['x-request-id']), ['shared answered'])
    assert.equal(warnings(OPENED, 'shared'), 0)
    // The probe instead of the failing request had no content of it, had no row and cost one token.
    const rows = new Set(
      (await gateway.admin<{ data: { request_id: string }[] }>('GET', '/usage?limit=1000')).body.data.map(
        row => row.request_id,
      ),
    )
    const probes = upstream.journal.filter(({ requestId }) => !rows.has(String(requestId)))
    assert.ok(probes.length > 0)
    for (const { body } of probes) {
      assert.doesNotMatch(JSON.stringify(body), /poison"|Hello/)
      assert.equal((body as { max_tokens?: number }).max_tokens, 1)
    }
  })
}

test('server errors of a single account open the breaker once a probe fails too', async () => {
  upstream.reset()
  upstream.script({ status: 500 }, 'alone')
  for (let i = 0; i < 5; i++) assert.equal((await gateway.chat({ model: 'test/alone' })).status, 502)
  await until('the breaker is open', () => warnings(OPENED, 'alone') === 1)

  const statuses = await Promise.all([1, 2, 3, 4].map(async () => (await gateway.chat({ model: 'test/alone' })).status))

  assert.deepEqual(statuses.toSorted(), [502, 503, 503, 503], 'one is still tried')
})

test('with every breaker open one request a second is tried; the others get 503 with Retry-After and a row', async () => {
  upstream.reset()
  upstream.script({ status: 429, headers: { 'retry-after': '20' } }, 'last')
  const limited = []
  for (let i = 0; i < 5; i++) limited.push((await gateway.chat({ model: 'test/last' })).status)
  const second = await gateway.chat({ model: 'test/last' })
  const third = await gateway.chat({ model: 'test/last', stream: true })

  assert.deepEqual([...limited, second.status, third.status], Array(7).fill(503))
  assert.equal(third.body.error?.code, 'provider_unavailable')
  assert.ok(Number(third.headers['retry-after']) >= 19 && Number(third.headers['retry-after']) <= 20)
  // Other targets, of other tests, may be probed meanwhile.
  assert.equal(upstream.journal.filter(({ model }) => model === 'last').length, 6)
  const row = await settledRow(gateway, third.headers['x-request-id'])
  assert.deepEqual([row.outcome, row.cost, row.attempts.length], ['upstream_failed', '0', 0])

  upstream.reset()
  await sleep(1000)
  assert.equal((await gateway.chat({ model: 'test/last' })).status, 200)
  assert.equal((await gateway.chat({ model: 'test/last' })).status, 200, 'it answered: the limit has ended')
})

test("a Retry-After date is relative to the upstream's own clock", async () => {
  upstream.reset()
  const wrongClock = Math.floor(Date.now() / 1000) * 1000 - 3_600_000
  const headers = {
    date: new Date(wrongClock).toUTCString(),
    'retry-after': new Date(wrongClock + 20_000).toUTCString(),
  }
  upstream.script({ status: 429, headers }, 'dated')

  const answer = await gateway.chat({ model: 'test/dated' })

  assert.equal(answer.status, 503)
  assert.equal(answer.headers['retry-after'], '20')
})

test('Retry-After of an upstream is respected while another target serves', async () => {
  upstream.reset()
  upstream.script({ status: 429, headers: { 'retry-after': '1' } }, 'busy')
  const retried = await gateway.chat({ model: 'test/busy' })
  upstream.reset()
  const during = await gateway.chat({ model: 'test/busy' })
  await sleep(1050)
  const later = await gateway.chat({ model: 'test/busy' })

  assert.deepEqual(await attemptsOf(retried.headers['x-request-id']), ['busy limited', 'spare answered'])
  assert.deepEqual(await attemptsOf(during.headers['x-request-id']), ['spare answered'])
  assert.deepEqual(await attemptsOf(later.headers['x-request-id']), ['busy answered'])
})

async function attemptsOf(requestId: unknown): Promise<string[]> {
  const row = await settledRow(gateway, requestId)
  return row.attempts.map(({ provider, outcome }) => `${provider} ${outcome}`)
}

function warnings(words: string, provider: string): number {
  return gateway.logs.filter(line => String(line.msg) === words && String(line.provider) === provider).length
}
