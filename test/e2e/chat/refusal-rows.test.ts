// What counts against a key's limits and what does not, and the row that every refusal of a recognised key leaves.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type Gateway, type NewKey, standardConfig, startGateway } from '../../support/gateway.ts'
import { httpCall, type Loose } from '../../support/http-call.ts'
import { announceTooMuch, type Seen } from '../../support/refusal.ts'
import { startUpstream } from '../../support/upstream.ts'

type Call = (key: NewKey) => Promise<Seen>

test('whether a refusal counts depends on its place in the table, and it always leaves a row', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const post =
    (body: string, type = 'application/json'): Call =>
    ({ secret }) =>
      httpCall(`${gateway.url}/v1/chat/completions`, {
        body,
        headers: { authorization: `Bearer ${secret}`, 'content-type': type },
      })
  const get =
    (path: string): Call =>
    ({ secret }) =>
      gateway.get(path, secret)
  const chat =
    (body: object): Call =>
    ({ secret }) =>
      gateway.chat(body, { key: secret })
  const day = async ({ secret }: NewKey) => (await gateway.get('/v1/key/introspect', secret)).body.limits?.daily?.used

  const free: [string, Call, string, string][] = [
    ['an unknown path', get('/v1/nothing'), 'not_found', 'unknown'],
    ['a wrong method', get('/v1/chat/completions'), 'method_not_allowed', 'chat.completions'],
    ['a missing scope', get('/v1/models'), 'insufficient_scope', 'models'],
    ['too few credits', chat({}), 'insufficient_credits', 'chat.completions'],
  ]
  for (const [what, call, code, endpoint] of free) {
    await t.test(`${what} counts against no limit and has a row`, async () => {
      const key = await gateway.createKey({ credits: '0', rpm_limit: 2, scopes: ['chat.completions'] })
      const refused = [await call(key), await call(key), await call(key)]

      const used = await day(key)

      assert.equal(used, 1, 'the introspection itself')
      for (const answer of refused) assertRow(await rowOf(gateway, answer), answer, code, endpoint)
      assert.equal((await get('/v1/key/introspect')(key)).status, 200)
      assert.equal((await get('/v1/key/introspect')(key)).status, 429)
    })
  }

  const counted: [string, Call, string, string][] = [
    ['a wrong content type', post('{}', 'text/plain'), 'unsupported_media_type', 'chat.completions'],
    ['bad JSON', post('{'), 'invalid_json', 'chat.completions'],
    [
      'a body over the cap',
      ({ secret }) => announceTooMuch(gateway.port, secret),
      'request_too_large',
      'chat.completions',
    ],
    ['a wrong field', chat({ n: 0 }), 'invalid_value', 'chat.completions'],
    ['an unknown model', chat({ model: 'no/such' }), 'model_not_found', 'chat.completions'],
    ['an upstream that refuses', chat({}), 'upstream_rejected', 'chat.completions'],
    ['an unknown model at /v1/models', get('/v1/models/no/such'), 'model_not_found', 'models'],
    ['an unknown usage row', get('/v1/usage/nope'), 'not_found', 'usage'],
    ['a bad filter', get('/v1/usage?limit=0'), 'invalid_value', 'usage'],
  ]
  for (const [what, call, code, endpoint] of counted) {
    await t.test(`${what} counts against both limits and has a row`, async () => {
      upstream.script({ status: 400 })
      const key = await gateway.createKey({ rpm_limit: 3 })
      const refused = [await call(key), await call(key)]

      const used = await day(key)

      assert.equal(used, 3)
      for (const answer of refused) assertRow(await rowOf(gateway, answer), answer, code, endpoint)
      assert.equal((await get('/v1/key/introspect')(key)).status, 429)
    })
  }

  await t.test('a request refused by a limit counts against no other limit and has a row', async () => {
    const key = await gateway.createKey({ rpm_limit: 3, daily_limit: 1 })
    await get('/v1/models')(key)

    const answers = [await get('/v1/models')(key), await chat({})(key), await get('/v1/models')(key)]

    for (const [index, endpoint] of ['models', 'chat.completions', 'models'].entries()) {
      const answer = answers[index] as Seen
      assertRow(await rowOf(gateway, answer), answer, 'daily_limit_exceeded', endpoint)
    }
    await gateway.admin('PATCH', `/keys/${key.id}`, { daily_limit: null })
    assert.deepEqual([await day(key), await day(key), await day(key)], [2, 3, undefined])
  })

  await t.test('the key itself can read its refusals', async () => {
    const key = await gateway.createKey({ rpm_limit: 1000 })
    const refused = [await get('/v1/nothing')(key), await post('{')(key), await chat({ model: 'no/such' })(key)]
    for (const answer of refused) await rowOf(gateway, answer)

    const { body } = await gateway.get('/v1/usage?endpoint=all', key.secret)

    const rows = (body.data as unknown as Loose[]).map(row => [row.request_id, row.error_code, row.model_requested])
    const codes = ['not_found', 'invalid_json', 'model_not_found']
    const wanted = refused.map((answer, i) => [answer.headers['x-request-id'], codes[i], i === 2 ? 'no/such' : null])
    assert.deepEqual(rows, wanted.reverse())
  })

  assert.ok((await gateway.audit()).ok)
})

function assertRow(row: Loose, answer: Seen, code: string, endpoint: string): void {
  assert.equal((JSON.parse(answer.text) as Loose).error?.code, code)
  const { outcome, http_status, error_code, cost, hold, state, usage_source } = row
  const wanted = code.startsWith('upstream_') ? 'upstream_failed' : 'refused'
  assert.deepEqual(
    { outcome, http_status, error_code, cost, state, usage_source, endpoint: row.endpoint },
    {
      outcome: wanted,
      http_status: answer.status,
      error_code: code,
      cost: '0',
      state: 'settled',
      usage_source: 'none',
      endpoint,
    },
  )
  if (wanted === 'refused') assert.equal(hold, '0')
}

// Some are written in the background, so they may appear a moment later.
async function rowOf(gateway: Gateway, answer: Seen): Promise<Loose> {
  const deadline = Date.now() + 5000
  for (;;) {
    const found = await gateway.admin('GET', `/usage/${answer.headers['x-request-id']}`)
    if (found.status === 200) return found.body
    assert.ok(Date.now() < deadline, `no row for ${answer.text}`)
    await setTimeout(10)
  }
}
