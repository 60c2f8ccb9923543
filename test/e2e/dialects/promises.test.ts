// What holds for every dialect: one cost everywhere, failures in the dialect's own form, limits, scopes and credits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALL_DIALECTS, costIn, DIALECTS, type Dialect, dialectConfig, streams } from '../../support/dialects.ts'
import { vectorOf } from '../../support/embedding-vendor.ts'
import { openFixture, warmTokenizer } from '../../support/fixture.ts'
import { type Answer, httpCall } from '../../support/http-call.ts'
import { openStream } from '../../support/sse.ts'
import { until } from '../../support/until.ts'
import { balanceOf, nano, settledRow } from '../../support/usage.ts'

const { gateway, upstream } = await openFixture(dialectConfig)
await warmTokenizer({ gateway, upstream })
const caller = await gateway.createKey({ rpm_limit: 1_000_000, daily_limit: null })

const TEXT = 'Hello there, how can I help you today?'
// What the scripted upstream answers to two words.
const SPOKEN = { text: TEXT, tokens: [5, 10] } as const
const EMBEDDED = { text: JSON.stringify([vectorOf('Say hello', 8)]), tokens: [5, 0] } as const

for (const dialect of ALL_DIALECTS) {
  test(`${dialect.name}: a JSON answer has one cost in header, body, row and ledger`, async () => {
    const own = await gateway.createKey()

    const answer = await ask(dialect, dialect.body('Say hello'), own.secret)

    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.equal(answer.status, 200, answer.text)
    const { text, tokens } = streams(dialect) ? SPOKEN : EMBEDDED
    assert.equal(dialect.text(answer.body), text)
    assert.deepEqual(dialect.counts(answer.body), tokens)
    assert.deepEqual([row.prompt_tokens, row.completion_tokens, row.usage_source], [...tokens, 'upstream'])
    assert.deepEqual([answer.headers['x-svc-cost'], costIn(answer.text)], [row.cost, row.cost])
    assert.equal(nano(row.cost), BigInt(tokens[0]) * 2500n + BigInt(tokens[1]) * 10_000n)
    assert.equal((await balanceOf(gateway, own.accountId)).spent, row.cost)
    assert.equal((row as unknown as { endpoint: string }).endpoint, dialect.endpoint)
  })

  test(`${dialect.name}: what the upstream rejects is a 400 with its message`, async () => {
    upstream.next({ status: 400 })

    const answer = await ask(dialect, dialect.body('Say hello'))

    const { code, type } = dialect.error(answer.body)
    assert.deepEqual([answer.status, code, type], [400, 'upstream_rejected', 'invalid_request_error'])
    assert.match(answer.text, /scripted 400/)
  })

  test(`${dialect.name}: keys, scopes, limits and credits are refused with the same status and code`, async () => {
    const body = dialect.body('Say hello')
    const revoked = await gateway.createKey()
    await gateway.admin('POST', `/keys/${revoked.id}/revoke`, {})
    const blind = await gateway.createKey({ scopes: ['models.read'] })
    const spent = await gateway.createKey({ rpm_limit: 1 })
    const poor = await gateway.createKey({ credits: '0' })
    await gateway.get('/v1/models', spent.secret)

    const refusals = [
      await ask(dialect, body, revoked.secret),
      await ask(dialect, body, blind.secret),
      await ask(dialect, body, spent.secret),
      await ask(dialect, body, poor.secret),
      await ask(dialect, { ...body, model: 'test/none' }),
      await httpCall(gateway.url + dialect.path, {
        method: 'GET',
        headers: { authorization: `Bearer ${caller.secret}` },
      }),
      await httpCall(gateway.url + dialect.path, { body: '{', headers: { authorization: `Bearer ${caller.secret}` } }),
    ]

    assert.deepEqual(
      refusals.map(answer => [answer.status, dialect.error(answer.body).code]),
      [
        [401, 'invalid_api_key'],
        [403, 'insufficient_scope'],
        [429, 'rate_limit_exceeded'],
        [402, 'insufficient_credits'],
        [404, 'model_not_found'],
        [405, 'method_not_allowed'],
        [400, 'invalid_json'],
      ],
    )
    for (const { headers } of refusals)
      assert.deepEqual([headers['x-svc-cost'], typeof headers['x-request-id']], ['0', 'string'])
  })

  test(`${dialect.name}: an upstream that fails is an error that costs nothing`, async () => {
    upstream.next({ status: 500 })

    const answer = await ask(dialect, dialect.body('Say hello'))

    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.deepEqual([answer.status, dialect.error(answer.body).code, row.cost], [502, 'all_providers_failed', '0'])
  })
}

for (const dialect of DIALECTS) {
  test(`${dialect.name}: a stream has one cost in its last event, trailer and row`, async () => {
    const answer = await ask(dialect, dialect.body('Say hello', { stream: true }))

    const row = await settledRow(gateway, answer.headers['x-request-id'])
    const { text, cost, errorCode, complete } = dialect.stream(answer.text)
    assert.deepEqual([text, errorCode, complete], [TEXT, undefined, true])
    assert.deepEqual([cost, answer.trailers['x-svc-cost']], [row.cost, row.cost])
    assert.deepEqual([row.outcome, row.completion_tokens, row.usage_source], ['completed', 10, 'upstream'])
  })

  test(`${dialect.name}: a caller that leaves pays for what was produced`, async () => {
    upstream.next({ chunks: 10_000, chunkDelayMs: 40 })
    const { aborted, entry } = await leaveAfter(dialect, 3)

    const row = await settledRow(gateway, aborted)
    assert.equal(row.outcome, 'client_left')
    const produced = entry?.tokens.completion ?? 0
    assert.ok(Math.abs(produced - row.completion_tokens) <= 1, `${produced} produced, ${row.completion_tokens} billed`)
    await until('the upstream call is cancelled', () => entry?.closedByPeerAt !== undefined)
  })

  test(`${dialect.name}: a revoke that ends streams ends this one in the dialect's form`, async () => {
    upstream.next({ chunks: 10_000, chunkDelayMs: 40 })
    const own = await gateway.createKey()
    const body = dialect.body('Say hello', { stream: true })
    const answer = ask(dialect, body, own.secret)
    const calls = upstream.journal.length
    await until('content was sent', () => upstream.journal.length > calls && (upstream.journal.at(-1)?.chunks ?? 0) > 3)

    await gateway.admin('POST', `/keys/${own.id}/revoke`, { abort_streams: true })

    const { status, text, headers } = await answer
    const { errorCode, complete } = dialect.stream(text)
    const row = await settledRow(gateway, headers['x-request-id'])
    assert.deepEqual([status, errorCode, complete, row.outcome], [200, 'service_unavailable', true, 'upstream_broke'])
    assert.equal((await ask(dialect, body, own.secret)).status, 401)
  })

  test(`${dialect.name}: an upstream that breaks after content ends the stream in the dialect's form`, async () => {
    upstream.next({ dieAfterChunks: 4, chunkDelayMs: 5 })

    const answer = await ask(dialect, dialect.body('Say hello', { stream: true }))

    const row = await settledRow(gateway, answer.headers['x-request-id'])
    const { text, cost, errorCode, complete } = dialect.stream(answer.text)
    assert.deepEqual(
      [answer.status, text, errorCode, complete],
      [200, 'Hello there, how', 'all_providers_failed', true],
    )
    assert.deepEqual([row.outcome, row.completion_tokens], ['upstream_broke', 4])
    assert.deepEqual([cost, answer.trailers['x-svc-cost']], [row.cost, row.cost])
  })

  test(`${dialect.name}: an upstream that breaks before content is a plain error that costs nothing`, async () => {
    upstream.next({ dieAfterChunks: 0 })

    const answer = await ask(dialect, dialect.body('Say hello', { stream: true }))

    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.deepEqual([answer.status, dialect.error(answer.body).code, row.cost], [502, 'all_providers_failed', '0'])
  })
}

async function ask(dialect: Dialect, body: object, key = caller.secret): Promise<Answer<Record<string, unknown>>> {
  return httpCall<Record<string, unknown>>(gateway.url + dialect.path, {
    body,
    headers: { authorization: `Bearer ${key}` },
  })
}

async function leaveAfter(dialect: Dialect, words: number) {
  const stream = await openStream(gateway.url + dialect.path, {
    body: dialect.body('Say hello', { stream: true }),
    key: caller.secret,
  })
  for (let seen = 0; seen < words; ) if ((await stream.nextEvent())?.kind === 'data') seen += 1
  stream.abort()
  const aborted = String(stream.headers['x-request-id'])
  await settledRow(gateway, aborted)
  return { aborted, entry: upstream.journal.find(({ requestId }) => requestId === aborted) }
}
