// A quote reports what a chat would cost and which targets would serve it, by the same rules as the chat itself,
// without any upstream call.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture, warmTokenizer } from '../../../support/fixture.ts'
import { httpCall, type Loose } from '../../../support/http-call.ts'
import { assertCommonHeaders, assertRefusal } from '../../../support/refusal.ts'
import { standardConfig, standardModel } from '../../../support/standard-config.ts'
import { nano, settledRow } from '../../../support/usage.ts'

const fixture = await openFixture(url =>
  standardConfig(url, {
    models: [
      standardModel({ targets: [target('up', 0), target('up2', 1)] }),
      standardModel({
        id: 'test/dear',
        max_output_tokens: 100,
        pricing: { prompt: '0.0001', completion: '0.0005' },
        targets: [{ provider: 'up2', model: 'dear' }],
      }),
    ],
  }),
)
const { gateway, upstream } = fixture
await warmTokenizer(fixture)
const messages = [{ role: 'user', content: 'Hello' }]

type Quote = {
  readonly object: string
  readonly model: string
  readonly allowed: boolean
  readonly candidates: readonly Loose[]
  readonly tokens: { readonly prompt: Figures; readonly completion: Figures }
  readonly cost: { readonly estimated: string; readonly worst_case: string }
  readonly hold: string
  readonly output_cap: number | null
  readonly limits: Readonly<Record<'rpm' | 'daily' | 'concurrent' | 'credits', Loose & { readonly verdict: string }>>
}
type Figures = { readonly estimated: number; readonly worst_case: number }

test('a quote has candidates, tokens, costs and the state of every limit, and calls no upstream', async () => {
  const key = await gateway.createKey({ rpm_limit: 7, daily_limit: 5 })
  const { status, headers, body } = await quote({ max_tokens: 20 }, key.secret)

  assert.equal(status, 200)
  assertCommonHeaders(headers)
  assert.equal(headers['x-svc-cost'], '0')
  assert.deepEqual([body.object, body.model, body.allowed], ['chat.completion.quote', 'test/m1', true])
  assert.deepEqual(
    body.candidates.map(({ provider, position, reason }) => [provider, position, reason]),
    [
      ['up', 0, 'priority'],
      ['up2', 1, 'priority'],
    ],
  )
  // One token and the framing of a message; at most half of the bytes, and sixteen.
  assert.deepEqual(body.tokens.prompt.estimated, 1 + 4 + 3)
  assert.deepEqual(body.tokens.completion, { estimated: 20, worst_case: 20 })
  assert.equal(nano(body.cost.estimated), 8n * 2500n + 20n * 10_000n)
  assert.equal(nano(body.cost.worst_case), BigInt(body.tokens.prompt.worst_case) * 2500n + 20n * 10_000n)
  assert.deepEqual([body.hold, body.output_cap], [body.cost.worst_case, null])
  assert.deepEqual(
    Object.values(body.limits).map(({ verdict }) => verdict),
    ['ok', 'ok', 'ok', 'ok'],
  )
  assert.deepEqual([body.limits.rpm.remaining, body.limits.daily.used, body.limits.concurrent.in_use], [6, 1, 0])
  assert.match(String(body.limits.daily.resets_at), /T00:00:00Z$/)
  assert.equal(upstream.journal.length, 0)
})

test('the quoted hold is what the same chat holds, with and without more expensive fallbacks', async () => {
  const key = await gateway.createKey()
  for (const body of [
    { max_tokens: 20 },
    {},
    { n: 3, max_tokens: 5, stream: true },
    { models: ['test/dear'], max_tokens: 50 },
    { model: 'test/dear', models: ['test/m1'] },
  ]) {
    const quoted = await quote(body, key.secret)
    const answer = await gateway.chat({ messages, ...body }, { key: key.secret })
    const row = await settledRow(gateway, answer.headers['x-request-id'])

    assert.equal(quoted.body.hold, row.hold)
  }
})

test('a low balance caps the quote as it caps the chat', async () => {
  const key = await gateway.createKey({ credits: '0.02' })
  const quoted = await quote({}, key.secret)
  const answer = await gateway.chat({ messages }, { key: key.secret })

  assert.ok(quoted.body.allowed)
  assert.equal(String(quoted.body.output_cap), answer.headers['x-svc-output-cap'])
})

test('the worst case is that of the most expensive model that may serve', async () => {
  const rich = await gateway.createKey()
  const body = { models: ['test/dear'], max_tokens: 50 }
  const quoted = await quote(body, rich.secret)
  upstream.script({ status: 404 }, 'up')
  upstream.script({ status: 404 }, 'up2')
  const dear = await gateway.chat({ messages, ...body }, { key: rich.secret })
  upstream.reset()

  assert.equal(dear.body.model, 'test/dear')
  assert.ok(nano(quoted.body.cost.worst_case) >= nano(dear.headers['x-svc-cost']))
  assert.equal(quoted.body.cost.worst_case, quoted.body.hold)
})

test('too few credits are reported by the quote, not refused', async () => {
  const key = await gateway.createKey({ credits: '0.0001' })
  const { status, body } = await quote({ max_tokens: 1000 }, key.secret)
  const refused = await gateway.chat({ messages, max_tokens: 1000 }, { key: key.secret })

  assert.deepEqual([status, body.allowed, body.limits.credits.verdict], [200, false, 'insufficient_credits'])
  const { metadata } = refused.body.error as Loose
  for (const name of ['available', 'owed', 'required', 'affordable_max_tokens', 'limit']) {
    assert.deepEqual(body.limits.credits[name], metadata?.[name], name)
  }
})

test('exhausted limits are reported: the last token of a minute, the last request of a day', async () => {
  const key = await gateway.createKey({ rpm_limit: 1, daily_limit: 1 })
  const { body } = await quote({}, key.secret)

  assert.deepEqual(
    [body.allowed, body.limits.rpm.verdict, body.limits.daily.verdict],
    [false, 'rate_limit_exceeded', 'daily_limit_exceeded'],
  )
  const again = await quote({}, key.secret)
  assert.equal(again.status, 429)
})

test('a quote counts as a request, has its own row and refuses what the chat would refuse', async () => {
  const key = await gateway.createKey()
  const quoted = await quote({ stream: true }, key.secret)
  const row = await settledRow(gateway, quoted.headers['x-request-id'])
  assert.deepEqual([row.model_requested, row.outcome, row.hold, row.cost], ['test/m1', 'completed', '0', '0'])
  const listed = await gateway.get<{ data: Loose[] }>('/v1/usage?endpoint=chat.completions.quote', key.secret)
  assert.equal(listed.body.data.length, 1)

  const missing = await quote({ model: 'test/none' }, key.secret)
  assertRefusal(missing, 'model_not_found', 'model')
  const wrong = await quote({ temperature: 3 }, key.secret)
  assert.deepEqual([wrong.status, (wrong.body as unknown as Loose).error?.param], [400, 'temperature'])
  const refusedRow = await settledRow(gateway, missing.headers['x-request-id'])
  assert.deepEqual([refusedRow.outcome, refusedRow.error_code], ['refused', 'model_not_found'])

  const scoped = await gateway.createKey({ scopes: ['models.read'] })
  assert.equal((await quote({}, scoped.secret)).status, 403)
})

function target(provider: string, priority: number) {
  return { provider, model: provider, priority }
}

function quote(body: object, secret: string) {
  return httpCall<Quote>(`${gateway.url}/v1/chat/completions/quote`, {
    headers: { authorization: `Bearer ${secret}` },
    body: { model: 'test/m1', messages, ...body },
  })
}
