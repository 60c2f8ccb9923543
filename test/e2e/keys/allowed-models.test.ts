// The models that a key may use: in every dialect, on the express path and off it, in lists, and with the caller's fallbacks.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALL_DIALECTS, dialectConfig } from '../../support/dialects.ts'
import { openFixture } from '../../support/fixture.ts'
import type { NewKey } from '../../support/gateway.ts'
import { httpCall } from '../../support/http-call.ts'
import { openRaw } from '../../support/raw-http.ts'
import { assertRefusal, seen } from '../../support/refusal.ts'
import { standardModel } from '../../support/standard-config.ts'
import { until } from '../../support/until.ts'
import { settledRow } from '../../support/usage.ts'

const { gateway, upstream } = await openFixture(url => {
  const config = dialectConfig(url) as { models: readonly object[] }
  const target = (model: string) => [{ provider: 'up', model }]
  const more = [
    standardModel({ id: 'only/a', aliases: ['fast', 'agent-*'], targets: target('a') }),
    standardModel({ id: 'only/b', targets: target('b') }),
  ]
  return { ...config, models: [...config.models, ...more] }
})

for (const dialect of ALL_DIALECTS) {
  test(`${dialect.name}: a model outside the list is a 403, counts and leaves a row; one in it is served`, async () => {
    const refused = await gateway.createKey({ allowed_models: ['only/*'], rpm_limit: 2 })
    const allowed = await gateway.createKey({ allowed_models: ['none', `${dialect.model.slice(0, -1)}*`] })
    const calls = upstream.journal.length
    const ask = (key: NewKey, headers = {}) =>
      httpCall(gateway.url + dialect.path, {
        body: dialect.body('Say hello'),
        headers: { authorization: `Bearer ${key.secret}`, ...headers },
      })

    const express = await ask(refused)
    // What is not plain goes through Node's server.
    const plain = await ask(refused, { 'proxy-connection': 'keep-alive' })
    const third = await ask(refused)
    const served = await ask(allowed)

    for (const { status, body, text } of [express, plain]) {
      assert.deepEqual([status, dialect.error(body).code], [403, 'model_not_allowed'], text)
    }
    assert.deepEqual([third.status, served.status], [429, 200], 'it counts against the limits')
    assert.equal(upstream.journal.length, calls + 1)
    const { body: row } = await gateway.admin('GET', `/usage/${express.headers['x-request-id']}`)
    assert.deepEqual(
      [row.outcome, row.error_code, row.model_requested, row.cost, row.error_detail],
      ['refused', 'model_not_allowed', dialect.model, '0', { param: 'model' }],
    )
    assert.equal(row.error_message, `This key may not use the model "${dialect.model}".`)
  })
}

test('the error names the parameter; an unknown model is still not found; quotes and counts are refused too', async () => {
  const { secret } = await gateway.createKey({ allowed_models: ['only/a'] })
  const post = (path: string, body: object) =>
    httpCall(gateway.url + path, { body, headers: { authorization: `Bearer ${secret}` } })
  const chat = { model: 'only/b', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 }

  assertRefusal(await gateway.chat({ model: 'only/b' }, { key: secret }), 'model_not_allowed', 'model')
  assertRefusal(await gateway.chat({ model: 'only/c' }, { key: secret }), 'model_not_found', 'model')
  assertRefusal(await post('/v1/chat/completions/quote', chat), 'model_not_allowed', 'model')
  const counted = await post('/v1/messages/count_tokens', chat)
  assert.deepEqual([counted.status, counted.body.error?.code], [403, 'model_not_allowed'])
  assert.equal((await post('/v1/chat/completions/quote', { ...chat, model: 'only/a' })).status, 200)
  assert.equal((await post('/v1/messages/count_tokens', { ...chat, model: 'only/a' })).status, 200)
})

test('an alias is allowed by its own name and by the id of its model', async () => {
  const statuses = async (allowed_models: readonly string[]) => {
    const { secret } = await gateway.createKey({ allowed_models })
    const names = ['only/a', 'fast', 'agent-7', 'only/b']
    return Promise.all(names.map(async model => (await gateway.chat({ model }, { key: secret })).status))
  }

  assert.deepEqual(await statuses(['only/a']), [200, 200, 200, 403])
  assert.deepEqual(await statuses(['fast']), [200, 200, 200, 403], 'the alias names that model')
  assert.deepEqual(await statuses(['agent-7']), [403, 403, 200, 403])
  assert.deepEqual(await statuses([]), [200, 200, 200, 200])
  assert.deepEqual(await statuses(['*']), [200, 200, 200, 200])
  assert.deepEqual(await statuses([`${'*a'.repeat(127)}*`]), [403, 403, 403, 403])
})

test('fallbacks outside the list are skipped, and operators see why', async () => {
  const { secret } = await gateway.createKey({ allowed_models: ['only/a', 'test/m1'] })
  upstream.script({ status: 404 }, 'a')

  const answer = await gateway.chat({ model: 'only/a', models: ['only/b', 'test/m1'] }, { key: secret })
  const alone = await gateway.chat({ model: 'only/a', models: ['only/b'] }, { key: secret })

  upstream.reset()
  assert.deepEqual([answer.status, answer.body.model, alone.status], [200, 'test/m1', 502])
  await settledRow(gateway, answer.headers['x-request-id'])
  const { body: row } = await gateway.admin('GET', `/usage/${answer.headers['x-request-id']}`)
  const reasons = (row.routing as unknown as { model: string; reason: string }[]).map(({ model, reason }) => [
    model,
    reason,
  ])
  assert.deepEqual(
    reasons.find(([model]) => model === 'only/b'),
    ['only/b', 'not_allowed'],
  )
})

test('the list of models has only those that the key may use, in both shapes', async () => {
  const { secret, id } = await gateway.createKey({ allowed_models: ['only/*'] })
  const anthropic = { 'anthropic-version': '2023-06-01' }
  const ids = async (headers = {}) =>
    (await gateway.get<{ data: { id: string }[] }>('/v1/models', secret, headers)).body.data.map(model => model.id)
  const before = await gateway.get('/v1/models', secret)

  assert.deepEqual(
    [await ids(), await ids(anthropic)],
    [
      ['only/a', 'only/b'],
      ['only/a', 'only/b'],
    ],
  )
  assert.equal((await gateway.get('/v1/models/only/a', secret)).body.id, 'only/a')
  assertRefusal(await gateway.get('/v1/models/test/m1', secret), 'model_not_allowed', 'model')
  assert.equal((await gateway.get('/v1/models/test/m1', secret, anthropic)).status, 403)

  await gateway.admin('PATCH', `/keys/${id}`, { allowed_models: ['test/m1'] })
  const etag = { 'if-none-match': String(before.headers.etag) }
  const after = await gateway.get('/v1/models', secret, etag)
  assert.deepEqual([after.status, await ids()], [200, ['test/m1']], 'a changed list has another ETag')
  assert.equal((await gateway.get('/v1/key/introspect', secret)).status, 200)
})

test('a list that changes between admission and the row decides the request', async () => {
  const tight = await gateway.createKey({})
  const loose = await gateway.createKey({ allowed_models: ['only/b'] })

  const refused = await chatAcross(tight, { allowed_models: ['only/b'] })
  const served = await chatAcross(loose, { allowed_models: [] })

  assertRefusal(refused, 'model_not_allowed', 'model')
  assert.equal(served.status, 200)
  assert.ok((await gateway.audit()).ok)
})

// The 100 shows that it was admitted; the body is sent after the change.
async function chatAcross(key: NewKey, change: object) {
  const body = JSON.stringify({ model: 'only/a', messages: [{ role: 'user', content: 'Hello' }] })
  using connection = await openRaw(gateway.port)
  connection.send(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.secret}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  )
  await until('it is admitted', () => connection.received.includes('HTTP/1.1 100'))
  await gateway.admin('PATCH', `/keys/${key.id}`, change)
  connection.send(body)
  const [, answer] = await connection.answers(1)
  assert.ok(answer !== undefined)
  return seen(answer)
}
