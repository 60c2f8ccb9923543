// What a caller gets when upstreams refuse: by their statuses, the same for JSON and before the start of a stream, at
// no cost.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FORGETFUL, withBounds } from '../../../support/bounds.ts'
import { type Gateway, startGateway } from '../../../support/gateway.ts'
import type { Loose } from '../../../support/http-call.ts'
import { assertRefusal, type Code } from '../../../support/refusal.ts'
import { standardModel, standardProvider } from '../../../support/standard-config.ts'
import { startUpstream } from '../../../support/upstream.ts'
import type { Plan } from '../../../support/upstream-plan.ts'

test('upstream failures are reported by kind, cost nothing and name no provider', async t => {
  await using upstream = await startUpstream()
  const timeouts = { first_byte_json: 0.3, first_byte_stream: 0.3 }
  const both = [
    { provider: 'up', model: 'm1' },
    { provider: 'up2', model: 'm2', priority: 1 },
  ]
  const config = {
    providers: ['up', 'up2'].map(id => standardProvider(upstream.url, { id, timeouts })),
    models: [standardModel(), standardModel({ id: 'test/two', targets: both })],
  }
  await using gateway = await startGateway({ ...withBounds(FORGETFUL), config })
  const key = await gateway.createKey({ rpm_limit: 10_000 })
  const words = JSON.stringify({
    error: {
      message: `<b>messages</b> must fit, see https://internal.example/x with key sk-abcdef123456${'!'.repeat(900)}`,
    },
  })

  const cases: [string, Plan, Code][] = [
    ['an upstream that refuses with 400', { status: 400, body: words }, 'upstream_rejected'],
    ['an upstream that refuses with 413', { status: 413, body: words }, 'upstream_rejected'],
    ['an upstream that refuses with 422', { status: 422, body: words }, 'upstream_rejected'],
    ['an upstream that is limited', { status: 429, headers: { 'retry-after': '7' } }, 'provider_unavailable'],
    ['an upstream that is overloaded', { status: 503 }, 'provider_unavailable'],
    ['an upstream that is too slow', { delayMs: 3000 }, 'upstream_timeout'],
    ['an upstream that rejects our credential', { status: 401 }, 'all_providers_failed'],
    ['an upstream that forbids', { status: 403 }, 'all_providers_failed'],
    ['an upstream without the model', { status: 404 }, 'all_providers_failed'],
    ['an upstream that fails', { status: 500 }, 'all_providers_failed'],
    ['an upstream that resets', { resetBeforeHeaders: true }, 'all_providers_failed'],
    ['an upstream that answers in HTML', { body: '<html>', contentType: 'text/html' }, 'all_providers_failed'],
    ['an upstream that sends nothing', { status: 204 }, 'all_providers_failed'],
  ]
  for (const [what, plan, code] of cases) {
    await t.test(what, async () => {
      upstream.script(plan)
      for (const stream of [false, true]) {
        const answer = await gateway.chat({ stream }, { key: key.secret })

        const error = assertRefusal(answer, code)
        if (code === 'upstream_rejected') assertCleaned(error)
        const row = await rowOf(gateway, answer.headers['x-request-id'])
        assert.deepEqual(
          [row.outcome, row.http_status, row.error_code, row.cost, row.stream, row.provider],
          ['upstream_failed', answer.status, code, '0', stream, null],
        )
      }
    })
  }

  await t.test('Retry-After is the smallest of several', async () => {
    const limited = (seconds: string): Plan => ({ status: 429, headers: { 'retry-after': seconds } })
    upstream.script(limited('40'), 'm1')
    upstream.script(limited('20'), 'm2')

    const answer = await gateway.chat({ model: 'test/two' }, { key: key.secret })

    assertRefusal(answer, 'provider_unavailable')
    assert.equal(answer.headers['retry-after'], '20')
    const row = await rowOf(gateway, answer.headers['x-request-id'])
    assert.deepEqual(attempts(row), [
      ['up', 'm1', 'limited', 429],
      ['up2', 'm2', 'limited', 429],
    ])
  })

  await t.test('a rate-limited and a failing target together give no Retry-After', async () => {
    upstream.script({ status: 429 }, 'm1')
    upstream.script({ status: 500 }, 'm2')

    assertRefusal(await gateway.chat({ model: 'test/two' }, { key: key.secret }), 'all_providers_failed')
  })

  assert.ok((await gateway.audit()).ok)
})

function assertCleaned(error: Loose): void {
  const message = String(error.message)
  assert.match(message, /messages.*must fit, see \[address\] with key \[key\]/)
  assert.ok(message.length <= 400, `${message.length} characters`)
  assert.doesNotMatch(message, /<b>|internal|sk-/)
}

function attempts(row: Loose): unknown[] {
  const list = row.attempts as unknown as Loose[]
  return list.map(({ provider, model, outcome, status }) => [provider, model, outcome, status])
}

async function rowOf(gateway: Gateway, id: string | string[] | undefined): Promise<Loose> {
  const answer = await gateway.admin('GET', `/usage/${id}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}
