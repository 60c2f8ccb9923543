// Why an authenticated key is refused before its body is read: address, account, path, method, scope, limits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import { httpCall } from '../../support/http-call.ts'
import { assertRefusal } from '../../support/refusal.ts'
import { startUpstream } from '../../support/upstream.ts'

test('an authenticated key is refused for address, account, path, method, scope and limits with its own code', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const key = await gateway.createKey()

  await t.test('an address outside the allowlist', async () => {
    const elsewhere = await gateway.createKey({ ip_allowlist: ['10.0.0.0/8', '2001:db8::/32'] })

    const answer = await gateway.get('/v1/models', elsewhere.secret)

    assertRefusal(answer, 'ip_not_allowed')
    assert.equal(answer.headers['ratelimit-policy'], '"rpm";q=300;w=60, "daily";q=10000;w=86400')
  })

  await t.test('a suspended account, which can still introspect its key', async () => {
    const idle = await gateway.createKey()
    await gateway.admin('PATCH', `/accounts/${idle.accountId}`, { status: 'suspended' })

    for (const path of ['/v1/models', '/v1/usage', '/v1/nothing']) {
      assertRefusal(await gateway.get(path, idle.secret), 'account_suspended')
    }
    const answer = await gateway.get('/v1/key/introspect', idle.secret)

    assert.equal(answer.status, 200)
    assert.equal(answer.body.account?.status, 'suspended')
  })

  await t.test('an unknown path', async () => {
    const paths = ['/v1', '/v1/', '/v1/chat', '/v1/chat/completions/', '/v1/Models', '/v1/models/', '/v1/models/%zz']
    for (const path of [...paths, '/v1//models', '/v1/key/introspect/x']) {
      assertRefusal(await gateway.get(path, key.secret), 'not_found')
    }
  })

  await t.test('a method that is not allowed, including HEAD, with Allow', async () => {
    const wrong: [string, string, string][] = [
      ['GET', '/v1/chat/completions', 'POST'],
      ['POST', '/v1/models', 'GET'],
      ['DELETE', '/v1/models/test/m1', 'GET'],
      ['PUT', '/v1/key/introspect', 'GET'],
      ['OPTIONS', '/v1/usage', 'GET'],
    ]
    const authorization = `Bearer ${key.secret}`

    for (const [method, path, allowed] of wrong) {
      const answer = await httpCall(gateway.url + path, { method, headers: { authorization } })

      assertRefusal(answer, 'method_not_allowed')
      assert.equal(answer.headers.allow, allowed)
    }
    const head = await httpCall(`${gateway.url}/v1/models`, { method: 'HEAD', headers: { authorization } })

    assert.deepEqual([head.status, head.headers.allow, head.text], [405, 'GET', ''])
  })

  await t.test('a missing scope, which is named', async () => {
    const reader = await gateway.createKey({ scopes: ['models.read'] })
    const writer = await gateway.createKey({ scopes: ['chat.completions'] })

    const chat = assertRefusal(await gateway.chat({}, { key: reader.secret }), 'insufficient_scope')
    const models = assertRefusal(await gateway.get('/v1/models/test/m1', writer.secret), 'insufficient_scope')

    assert.equal(chat.metadata?.required_scope, 'chat.completions')
    assert.equal(models.metadata?.required_scope, 'models.read')
  })

  await t.test('an empty bucket, until it has a token', async () => {
    const { secret } = await gateway.createKey({ rpm_limit: 2 })
    await gateway.get('/v1/models', secret)
    await gateway.get('/v1/models', secret)

    const answer = await gateway.get('/v1/models', secret)

    const error = assertRefusal(answer, 'rate_limit_exceeded')
    const { headers } = answer
    assert.deepEqual([headers['ratelimit-limit'], headers['ratelimit-remaining']], ['2', '0'])
    assert.ok(Number(headers['retry-after']) <= 30, `${headers['retry-after']} s`)
    assert.ok(Number(headers['ratelimit-reset']) > 30, `${headers['ratelimit-reset']} s`)
    assert.equal(error.metadata?.limit, 'rpm')
  })

  await t.test('an exhausted daily limit, until midnight', async () => {
    const { secret } = await gateway.createKey({ daily_limit: 1 })
    await gateway.get('/v1/models', secret)

    const answer = await gateway.get('/v1/models', secret)

    const error = assertRefusal(answer, 'daily_limit_exceeded')
    const midnight = 86_400 - (Math.floor(Date.now() / 1000) % 86_400)
    assert.deepEqual([answer.headers['ratelimit-limit'], answer.headers['ratelimit-remaining']], ['1', '0'])
    assert.ok(Math.abs(Number(answer.headers['retry-after']) - midnight) < 30)
    // Two readings of the clock, which may fall into two seconds.
    const reset = Number(answer.headers['ratelimit-reset'])
    assert.ok(Math.abs(reset - Number(answer.headers['retry-after'])) <= 1, JSON.stringify(answer.headers))
    assert.equal(error.metadata?.limit, 'daily')
  })

  await t.test('more requests in flight than max_concurrent', async () => {
    const { secret } = await gateway.createKey({ max_concurrent: 1 })
    upstream.next({ stallAfterChunks: 1 })
    using stream = await gateway.openChat({}, { key: secret })
    await stream.nextChunk()

    const answer = await gateway.get('/v1/models', secret)

    assert.equal(assertRefusal(answer, 'concurrency_exceeded').metadata?.limit, 'concurrent')
    stream.abort()
    await upstream.idle()
    await untilServed(() => gateway.get('/v1/models', secret))
  })

  assert.ok((await gateway.audit()).ok)
})

async function untilServed(call: () => Promise<{ readonly status: number }>): Promise<void> {
  const deadline = Date.now() + 5000
  while ((await call()).status !== 200) assert.ok(Date.now() < deadline, 'not served again')
}
