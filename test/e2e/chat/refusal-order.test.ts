// Refusals follow the order of the contract's table: of several reasons the first is reported, and later ones are not
// checked.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type NewKey, standardConfig, startGateway } from '../../support/gateway.ts'
import { httpCall } from '../../support/http-call.ts'
import { rawRequest } from '../../support/raw-http.ts'
import { announceTooMuch, assertRefusal, type Code, type Seen, seen } from '../../support/refusal.ts'
import { standardModel } from '../../support/standard-config.ts'
import { startUpstream } from '../../support/upstream.ts'

test('of several reasons to refuse, the first in the table is reported', async t => {
  await using upstream = await startUpstream()
  const small = standardModel({ id: 'test/small', context_length: 100, max_output_tokens: 50 })
  const config = standardConfig(upstream.url, { models: [standardModel(), small] })
  await using gateway = await startGateway({ config })
  const post = ({ secret }: NewKey, body: string, headers: Record<string, string> = {}) =>
    httpCall(`${gateway.url}/v1/chat/completions`, { body, headers: { authorization: `Bearer ${secret}`, ...headers } })
  const plain = { 'content-type': 'text/plain' }
  const tooMuch = (key?: NewKey, type?: string) => announceTooMuch(gateway.port, key?.secret, type)
  const long = { role: 'user', content: 'word '.repeat(200) }

  // A key that is past its limits in the given way, with one request already counted.
  async function spent(limits: object): Promise<NewKey> {
    const key = await gateway.createKey({ scopes: ['models.read', 'chat.completions'], ...limits })
    await gateway.get('/v1/key/introspect', key.secret)
    return key
  }

  await t.test('two Authorization headers, before a bad key', async () => {
    const twice = 'Authorization: Bearer junk\r\n'.repeat(2)
    const { answer } = await rawRequest(gateway.port, `GET /v1/nothing HTTP/1.1\r\nHost: x\r\n${twice}\r\n`, {
      expect: 1,
    })

    assertRefusal(seen(answer), 'duplicate_authorization')
  })

  await t.test('no key, before path, method, type and size', async () => {
    assertRefusal(await gateway.get('/v1/nothing'), 'invalid_api_key')
    assertRefusal(await gateway.get('/v1/chat/completions'), 'invalid_api_key')
    assertRefusal(await tooMuch(undefined, 'text/plain'), 'invalid_api_key')
  })

  await t.test('address, then account, then path, then method, then scope', async () => {
    const key = await gateway.createKey({ scopes: ['models.read'], ip_allowlist: ['192.0.2.0/24'] })
    await gateway.admin('PATCH', `/accounts/${key.accountId}`, { status: 'suspended' })
    assertRefusal(await gateway.get('/v1/nothing', key.secret), 'ip_not_allowed')

    await gateway.admin('PATCH', `/keys/${key.id}`, { ip_allowlist: [] })
    assertRefusal(await gateway.get('/v1/nothing', key.secret), 'account_suspended')

    await gateway.admin('PATCH', `/accounts/${key.accountId}`, { status: 'active' })
    assertRefusal(await gateway.get('/v1/nothing', key.secret), 'not_found')
    assertRefusal(await gateway.get('/v1/chat/completions', key.secret), 'method_not_allowed')
    assertRefusal(await tooMuch(key, 'text/plain'), 'insufficient_scope')
  })

  await t.test('path, method and scope, before the limits', async () => {
    const key = await spent({ rpm_limit: 1, daily_limit: 1, scopes: ['models.read'] })

    assertRefusal(await gateway.get('/v1/nothing', key.secret), 'not_found')
    assertRefusal(await gateway.get('/v1/chat/completions', key.secret), 'method_not_allowed')
    assertRefusal(await post(key, '{}'), 'insufficient_scope')
  })

  await t.test('rpm, before the day, before requests in flight', async () => {
    const key = await spent({ rpm_limit: 1, daily_limit: 1 })
    assertRefusal(await gateway.get('/v1/models', key.secret), 'rate_limit_exceeded')

    const busy = await gateway.createKey({ daily_limit: 1, max_concurrent: 1 })
    upstream.next({ stallAfterChunks: 1 })
    using stream = await gateway.openChat({}, { key: busy.secret })
    await stream.nextChunk()
    assertRefusal(await gateway.get('/v1/models', busy.secret), 'daily_limit_exceeded')

    await gateway.admin('PATCH', `/keys/${busy.id}`, { daily_limit: null })
    assertRefusal(await tooMuch(busy, 'text/plain'), 'concurrency_exceeded')
  })

  await t.test('the limits, before anything of the body', async () => {
    for (const [limits, code] of [
      [{ rpm_limit: 1 }, 'rate_limit_exceeded'],
      [{ daily_limit: 1 }, 'daily_limit_exceeded'],
    ] as [object, Code][]) {
      const key = await spent(limits)

      for (const body of ['not JSON', '{"temperature":9}']) assertRefusal(await post(key, body), code)
      assertRefusal(await post(key, '{}', plain), code)
      assertRefusal(await tooMuch(key), code)
    }
  })

  await t.test('type, size, JSON, fields, model, context, credits', async () => {
    const poor = await gateway.createKey({ credits: '0' })
    const wrong = { model: 'no/such', temperature: 9, messages: [long] }
    const steps: [() => Promise<Seen>, Code, string?][] = [
      [() => tooMuch(poor, 'text/plain'), 'unsupported_media_type'],
      [() => tooMuch(poor), 'request_too_large'],
      [() => post(poor, `${JSON.stringify(wrong)}}`), 'invalid_json'],
      [() => post(poor, JSON.stringify(wrong)), 'invalid_value', 'temperature'],
      [() => post(poor, JSON.stringify({ ...wrong, temperature: 1 })), 'model_not_found', 'model'],
      [
        () => gateway.chat({ model: 'test/small', messages: [long] }, { key: poor.secret }),
        'context_length_exceeded',
        'messages',
      ],
      [() => gateway.chat({ model: 'test/small' }, { key: poor.secret }), 'insufficient_credits'],
    ]

    for (const [call, code, param] of steps) assertRefusal(await call(), code, param ?? null)
  })

  assert.ok((await gateway.audit()).ok)
})
