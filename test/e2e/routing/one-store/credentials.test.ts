// Several credentials of one provider over real HTTP: they are used round-robin, a rejected one is disabled once
// confirmed, a rate-limited one for its time, and retries have a budget.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { withBounds } from '../../../support/bounds.ts'
import { openFixture } from '../../../support/fixture.ts'
import { standardConfig, standardModel, standardProvider } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import type { JournalEntry } from '../../../support/upstream-journal.ts'
import type { Plan } from '../../../support/upstream-plan.ts'
import { settledRow } from '../../../support/usage.ts'

const SET_ASIDE = 'credential rejected by the provider; no longer used'
const KEYS = { api_key: undefined, api_keys: ['credential-canary-1', 'credential-canary-2'] }
const { gateway, upstream } = await openFixture(
  url =>
    standardConfig(url, {
      providers: ['dying', 'limited', 'doubted', 'all_dead', 'down', 'sound'].map(id =>
        standardProvider(url, id === 'sound' || id === 'down' ? { id } : { id, ...KEYS }),
      ),
      models: [
        ...['dying', 'limited', 'doubted'].map(id =>
          standardModel({ id: `test/${id}`, targets: [{ provider: id, model: id }] }),
        ),
        standardModel({ id: 'test/limited_for_long', targets: [{ provider: 'limited', model: 'limited_for_long' }] }),
        ...['all_dead', 'down'].map(id =>
          standardModel({
            id: `test/${id}`,
            targets: [
              { provider: id, model: id, priority: 0 },
              { provider: 'sound', model: 'sound', priority: 1 },
            ],
          }),
        ),
      ],
    }),
  withBounds({
    deadCredentialProbedEveryMs: 300,
    targetsMaintainedEveryMs: 50,
    breakerFailuresInARowMax: 1000,
    breakerRequestsMin: 1000,
  }),
)

test('credentials are used round-robin', async () => {
  upstream.reset()
  for (let i = 0; i < 4; i++) await gateway.chat({ model: 'test/dying' })

  assert.deepEqual(upstream.journal.map(numberOf), [1, 2, 1, 2])
})

test('a rejected credential fails over to the next, is disabled with an alarm and is used again later', async () => {
  upstream.reset()
  upstream.script(entry => (numberOf(entry) === 1 ? { status: 401 } : {}), 'dying')
  const retried = await gateway.chat({ model: 'test/dying' })
  await until('it is disabled', () => alarms(SET_ASIDE, 'dying').length >= 1)
  const during = await Promise.all([1, 2, 3].map(() => gateway.chat({ model: 'test/dying' })))

  assert.deepEqual(await outcomesOf(retried.headers['x-request-id']), ['credential', 'answered'])
  for (const { headers } of during) assert.deepEqual(await outcomesOf(headers['x-request-id']), ['answered'])
  assert.deepEqual(
    alarms(SET_ASIDE, 'dying').map(({ credential }) => credential),
    ['file-1'],
  )

  upstream.reset()
  await until('it is used again', () => alarms('credential accepted by the provider again', 'dying').length > 0)
  upstream.journal.length = 0
  for (let i = 0; i < 2; i++) await gateway.chat({ model: 'test/dying' })
  assert.deepEqual(upstream.journal.map(numberOf).toSorted(), [1, 2])
  assert.ok(gateway.lines.every(line => !line.includes('credential-canary')))
})

test('a 401 that the probe does not confirm disables no credential', async () => {
  upstream.reset()
  upstream.script(entry => (JSON.stringify(entry.body).includes('poison') ? { status: 401 } : {}), 'doubted')
  const messages = [{ role: 'user', content: 'poison' }]
  for (let i = 0; i < 5; i++) await gateway.chat({ model: 'test/doubted', messages })
  await sleep(100)
  upstream.journal.length = 0

  for (let i = 0; i < 2; i++) assert.equal((await gateway.chat({ model: 'test/doubted' })).status, 200)

  assert.deepEqual(upstream.journal.map(numberOf).toSorted(), [1, 2])
  assert.deepEqual(alarms(SET_ASIDE, 'doubted'), [])
})

test('a rate-limited credential is skipped while another serves', async () => {
  upstream.reset()
  upstream.script(entry => (numberOf(entry) === 1 ? limitedFor(600) : {}), 'limited_for_long')
  const answers = []
  for (let i = 0; i < 4; i++) answers.push(await gateway.chat({ model: 'test/limited_for_long' }))

  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  )
  assert.deepEqual(upstream.journal.map(numberOf), [1, 2, 2, 2, 2])
})

test('a rate-limited credential serves again after its Retry-After, not before', async () => {
  upstream.reset()
  upstream.script(entry => (numberOf(entry) === 1 ? limitedFor(1) : {}), 'limited')
  const triedAt = () => upstream.journal.filter(entry => numberOf(entry) === 1).map(({ startedAt }) => startedAt)
  const chat = async () => assert.equal((await gateway.chat({ model: 'test/limited' })).status, 200)
  while (triedAt().length === 0) await chat()
  upstream.script({}, 'limited')
  await until('it is used again', async () => {
    await chat()
    return triedAt().length > 1
  })

  const [limitedAt = 0, againAt = 0] = triedAt()
  // Its clock and ours may round differently.
  assert.ok(againAt - limitedAt >= 995, `after ${againAt - limitedAt} ms`)
})

test('a provider without a valid credential is not called, and the next one serves', async () => {
  upstream.reset()
  upstream.script({ status: 401 }, 'all_dead')
  for (let i = 0; i < 2; i++) assert.equal((await gateway.chat({ model: 'test/all_dead' })).status, 200)
  await until('it is disabled', () => alarms(SET_ASIDE, 'all_dead').length >= 2)

  const answer = await gateway.chat({ model: 'test/all_dead' })

  assert.deepEqual(await outcomesOf(answer.headers['x-request-id']), ['answered'])
  assert.equal(answer.headers['x-svc-provider'], 'sound')
})

test('retries are bounded by the reserve and a fifth of the requests', async () => {
  // The reserve used by earlier tests is refilled.
  await sleep(10_500)
  upstream.reset()
  upstream.script({ status: 502 }, 'down')
  const caller = await gateway.createKey({ rpm_limit: 10_000 })

  const answers = []
  for (let i = 0; i < 60; i++) answers.push(await gateway.chat({ model: 'test/down' }, { key: caller.secret }))

  const served = answers.filter(({ status }) => status === 200).length
  assert.ok(served >= 5 && served <= 10 + 60 / 5, `${served} were served`)
  assert.ok(answers.every(({ status }) => status === 200 || status === 502))
})

function limitedFor(seconds: number): Plan {
  return { status: 429, headers: { 'retry-after': String(seconds) } }
}

function numberOf({ headers }: Pick<JournalEntry, 'headers'>): number {
  return Number(String(headers.authorization).at(-1))
}

async function outcomesOf(requestId: unknown): Promise<string[]> {
  return (await settledRow(gateway, requestId)).attempts.map(({ outcome }) => String(outcome))
}

function alarms(words: string, provider: string) {
  return gateway.logs.filter(line => String(line.msg) === words && String(line.provider) === provider)
}
