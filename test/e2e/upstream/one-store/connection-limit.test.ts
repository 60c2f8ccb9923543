// The connection limit per upstream: requests beyond it fail over or get 503, and the upstream's health is not
// affected.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withBounds } from '../../../support/bounds.ts'
import { openFixture } from '../../../support/fixture.ts'
import { assertRefusal } from '../../../support/refusal.ts'
import { standardConfig, standardModel, standardProvider } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import { settledRow } from '../../../support/usage.ts'

const CONNECTIONS_MAX = 2
const { gateway, upstream } = await openFixture(
  url =>
    standardConfig(url, {
      providers: [
        standardProvider(url, { id: 'narrow' }),
        standardProvider(url, { id: 'spare' }),
        standardProvider(url, { id: 'packaged', kind: 'anthropic' }),
      ],
      models: [
        standardModel({ id: 'test/alone', targets: [{ provider: 'narrow', model: 'narrow' }] }),
        standardModel({
          id: 'test/pair',
          targets: ['narrow', 'spare'].map((provider, priority) => ({ provider, model: provider, priority })),
        }),
        standardModel({ id: 'test/packaged', targets: [{ provider: 'packaged', model: 'packaged' }] }),
      ],
    }),
  withBounds({ connectionsPerProviderMax: CONNECTIONS_MAX, breakerFailuresInARowMax: 5, probeEveryMs: 1 }),
)
const key = await gateway.createKey({ rpm_limit: 10_000 })
const ask = (model: string) => gateway.chat({ model }, { key: key.secret })

test('calls above the connection limit get 503 or fail over, and open no breaker', async () => {
  upstream.script({ stallAfterChunks: 1 }, 'narrow')
  const held = await Promise.all(
    Array.from({ length: CONNECTIONS_MAX }, () => gateway.openChat({ model: 'test/alone' }, { key: key.secret })),
  )
  for (const stream of held) await stream.nextChunk()

  for (let i = 0; i < 10; i++) {
    const answer = await ask('test/alone')
    assertRefusal(answer, 'service_unavailable')
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.deepEqual([row.attempts[0]?.outcome, row.outcome, row.cost], ['refused', 'upstream_failed', '0'])
  }
  assert.equal((await ask('test/pair')).headers['x-svc-provider'], 'spare')
  for (const stream of held) stream.abort()
  upstream.reset()

  await until('a connection is free again', async () => (await ask('test/alone')).status === 200)
  assert.equal((await ask('test/pair')).headers['x-svc-provider'], 'narrow')
  assert.ok(!gateway.logs.some(({ msg }) => String(msg) === 'circuit breaker opened'))
})

test('the same with an AI SDK provider', async () => {
  upstream.script({ delayMs: 300, body: '{}' }, 'packaged')

  const answers = await Promise.all(Array.from({ length: 10 }, () => ask('test/packaged')))

  const refused = answers.filter(({ status }) => status === 503)
  assert.equal(refused.length, 10 - CONNECTIONS_MAX)
  for (const answer of refused) assertRefusal(answer, 'service_unavailable')
})
