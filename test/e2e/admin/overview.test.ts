// The overview of a real gateway: what needs attention, errors by their cause, the period before, and lists by cause.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import { freePort } from '../../support/free-port.ts'
import type { Loose } from '../../support/http-call.ts'
import { standardConfig, standardModel, standardProvider } from '../../support/standard-config.ts'
import { until } from '../../support/until.ts'

const dead = `http://127.0.0.1:${await freePort()}/v1`
const { gateway, upstream } = await openFixture(url =>
  standardConfig(url, {
    providers: [standardProvider(url), standardProvider(dead, { id: 'dead' })],
    models: [
      standardModel({ id: 'test/good', targets: [{ provider: 'up', model: 'good' }] }),
      standardModel({ id: 'test/bad', targets: [{ provider: 'dead', model: 'bad' }] }),
    ],
  }),
)

const overview = async () => (await gateway.admin<Loose>('GET', '/overview')).body
const linesOf = async () => {
  const { attention } = (await overview()) as unknown as {
    attention: readonly Record<'kind' | 'id' | 'name', string>[]
  }
  return attention.map(({ kind, name }) => `${kind} ${name}`)
}

test('nothing needs attention at first', async () => {
  assert.deepEqual(await linesOf(), [])
})

test('a provider that is down, a key at its limit, and errors by cause', async () => {
  const rich = await gateway.createKey({ name: 'rich', credits: '100' })
  const limited = await gateway.createKey({ name: 'limited', credits: '100', credit_limit: '0.01', rpm_limit: 1000 })
  const poor = await gateway.createKey({ name: 'poor', credits: '0.000000001' })
  const slow = await gateway.createKey({ name: 'slow', credits: '100', rpm_limit: 1 })
  upstream.script({ usage: { prompt_tokens: 20_000, completion_tokens: 1 } })
  assert.equal((await gateway.chat({ model: 'test/good' }, { key: limited.secret })).status, 200)
  for (let i = 0; i < 12; i++) await gateway.chat({ model: 'test/bad' }, { key: rich.secret })
  assert.equal((await gateway.chat({ model: 'no/such' }, { key: rich.secret })).status, 404)
  assert.equal((await gateway.chat({ model: 'test/good' }, { key: poor.secret })).status, 402)
  assert.equal((await gateway.chat({ model: 'test/good' }, { key: slow.secret })).status, 200)
  assert.equal((await gateway.chat({ model: 'test/good' }, { key: slow.secret })).status, 429)

  await until('all of it is listed', async () => {
    const lines = await linesOf()
    return ['provider_down dead', 'key_limit limited', 'error_spike Errors'].every(line => lines.includes(line))
  })
  const { totals, previous, series } = (await overview()) as unknown as Record<string, Loose>
  const { errors_by_cause: causes, errors } = totals as unknown as { errors_by_cause: Loose; errors: number }
  assert.deepEqual([causes.caller, causes.limits, causes.money], [1, 1, 1])
  assert.equal(Number(causes.provider), errors - 3)
  assert.equal(previous?.requests, 0)
  assert.equal((series as unknown as readonly unknown[]).length, 25)
})

test('requests are listed and summed up by cause', async () => {
  for (const [cause, code] of [
    ['caller', 'model_not_found'],
    ['limits', 'rate_limit_exceeded'],
    ['money', 'insufficient_credits'],
  ]) {
    const { body } = await gateway.admin<{ readonly data: readonly Loose[] }>('GET', `/usage?cause=${cause}`)
    assert.deepEqual(
      body.data.map(row => row.error_code),
      [code],
    )
    const summary = await gateway.admin<{ readonly data: readonly Loose[] }>(
      'GET',
      `/usage/summary?group_by=day&cause=${cause}`,
    )
    assert.deepEqual(
      summary.body.data.map(row => [row.requests, row.errors]),
      [[1, 1]],
    )
  }
  assert.equal((await gateway.admin('GET', '/usage?cause=weather')).status, 400)
})
