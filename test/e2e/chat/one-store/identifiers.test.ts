// Users, sessions and cache keys of a tenant: upstream they are opaque, stable, and never the same for two tenants.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { startUpstream } from '../../../support/upstream.ts'

const NAMES = ['user', 'prompt_cache_key', 'session_id', 'safety_identifier']

test('identifiers are sent as an HMAC with the account: stable, opaque and different for every account', async () => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const alice = await gateway.createKey()
  const alicesOther = await gateway.createKey({ account_id: alice.accountId })
  const bob = await gateway.createKey()

  async function sentBy(secret: string, value: string): Promise<string[]> {
    const answer = await gateway.chat(Object.fromEntries(NAMES.map(name => [name, value])), { key: secret })
    assert.equal(answer.status, 200, answer.text)
    const body = upstream.journal.at(-1)?.body as Record<string, string>
    return NAMES.map(name => body[name] ?? 'absent')
  }

  const first = await sentBy(alice.secret, 'user-canary-1')
  const again = await sentBy(alice.secret, 'user-canary-1')
  const byOtherKey = await sentBy(alicesOther.secret, 'user-canary-1')
  const another = await sentBy(alice.secret, 'user-canary-2')
  const ofBob = await sentBy(bob.secret, 'user-canary-1')
  await gateway.restart()
  const afterRestart = await sentBy(alice.secret, 'user-canary-1')

  for (const value of first) assert.match(value, /^[\w-]{43}$/)
  assert.deepEqual(again, first)
  assert.deepEqual(byOtherKey, first, 'two keys of one account share its users and caches')
  assert.deepEqual(afterRestart, first, 'a restart must not lose caches')
  for (const [index, value] of first.entries()) {
    assert.notEqual(another[index], value)
    assert.notEqual(ofBob[index], value)
  }
  const everything = upstream.journal.map(entry => entry.rawBody.toString()).join('')
  assert.doesNotMatch(everything, /user-canary/)
  for (const { id, accountId } of [alice, bob]) assert.ok(!everything.includes(id) && !everything.includes(accountId))
  assert.ok((await gateway.audit()).ok)
})
