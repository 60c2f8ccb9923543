// What a key may call: its scopes decide, a change applies at once, and introspection is always allowed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Gateway, standardConfig, startGateway } from '../../support/gateway.ts'
import { assertRefusal } from '../../support/refusal.ts'
import { startUpstream } from '../../support/upstream.ts'

const ALL = ['chat.completions', 'models.read']

test('a key can call what its scopes allow, and always introspect itself', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })

  for (const scopes of [ALL, ['chat.completions'], ['models.read'], []]) {
    await t.test(`with the scopes [${scopes.join(', ')}]`, async () => {
      const { secret } = await gateway.createKey({ scopes })

      await assertScopes(gateway, secret, scopes)
    })
  }

  await t.test('a missing scope is named in the error and counts against no limit', async () => {
    const { secret } = await gateway.createKey({ scopes: ['models.read'], rpm_limit: 1, daily_limit: 1 })

    const error = assertRefusal(await gateway.chat({}, { key: secret }), 'insufficient_scope')
    const allowed = await gateway.get('/v1/models', secret)

    assert.equal(error.metadata?.required_scope, 'chat.completions')
    assert.equal(allowed.status, 200)
  })

  await t.test('path and method are checked before the scope', async () => {
    const { secret } = await gateway.createKey({ scopes: [] })

    assertRefusal(await gateway.get('/v1/nothing', secret), 'not_found')
    assertRefusal(await gateway.get('/v1/chat/completions', secret), 'method_not_allowed')
  })

  await t.test('changed scopes apply to the next request', async () => {
    const { secret, id } = await gateway.createKey({ scopes: ALL })
    await assertScopes(gateway, secret, ALL)

    for (const scopes of [['models.read'], [], ['chat.completions'], ALL]) {
      await gateway.admin('PATCH', `/keys/${id}`, { scopes })

      await assertScopes(gateway, secret, scopes)
    }
  })

  await t.test('a key without credits or with a suspended account can still introspect itself', async () => {
    const { secret, accountId } = await gateway.createKey({ credits: '0' })
    const poor = await gateway.get('/v1/key/introspect', secret)
    await gateway.admin('PATCH', `/accounts/${accountId}`, { status: 'suspended' })

    const suspended = await gateway.get('/v1/key/introspect', secret)

    assert.equal(poor.body.balance?.remaining, '0')
    assert.equal(suspended.status, 200)
    assert.equal(suspended.body.account?.status, 'suspended')
    for (const path of ['/v1/models', '/v1/usage', '/v1/nothing']) {
      assertRefusal(await gateway.get(path, secret), 'account_suspended')
    }
    assertRefusal(await gateway.chat({}, { key: secret }), 'account_suspended')

    await gateway.admin('PATCH', `/accounts/${accountId}`, { status: 'active' })
    assert.equal((await gateway.get('/v1/models', secret)).status, 200)
  })

  assert.ok((await gateway.audit()).ok)
})

async function assertScopes(gateway: Gateway, secret: string, scopes: readonly string[]): Promise<void> {
  const introspection = await gateway.get('/v1/key/introspect', secret)
  const usage = await gateway.get('/v1/usage', secret)
  const models = await gateway.get('/v1/models', secret)
  const chat = await gateway.chat({}, { key: secret })

  assert.deepEqual(introspection.body.scopes, scopes)
  assert.equal(usage.status, 200)
  if (scopes.includes('models.read')) assert.equal(models.status, 200)
  else assertRefusal(models, 'insufficient_scope')
  if (scopes.includes('chat.completions')) assert.equal(chat.status, 200)
  else assertRefusal(chat, 'insufficient_scope')
}
