// Providers created through the API, with a real upstream: secrets at rest, across restarts and with another encryption
// key, and addresses that are checked again when connecting.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../support/free-port.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { runProcess } from '../../support/gateway-process.ts'
import { standardModel } from '../../support/standard-config.ts'
import { until } from '../../support/until.ts'
import { startUpstream, type Upstream } from '../../support/upstream.ts'

const SECRET = 'sk-sealed-canary-4711-abcd'
const PRIVATE = { TURNPIKE_ALLOW_PRIVATE_UPSTREAMS: '1' }

test('a provider added by the API serves at once and after restarts, and its secret is never stored in plain text', async () => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ env: PRIVATE })
  await enter(gateway, upstream.url)

  const first = await gateway.chat()
  await gateway.restart()
  const second = await gateway.chat()

  assert.deepEqual([first.status, second.status], [200, 200])
  assert.deepEqual(authorizations(upstream), [`Bearer ${SECRET}`, `Bearer ${SECRET}`])
  await gateway.stop({ hurry: true })
  assert.ok(!(await gateway.stored()).includes(SECRET))
  assert.ok(!gateway.lines.join('\n').includes(SECRET))
})

test('a removed credential is not sent again, and a changed address gets none', async () => {
  await using upstream = await startUpstream()
  await using other = await startUpstream()
  await using gateway = await startGateway({ env: PRIVATE })
  const { credentials } = await enter(gateway, upstream.url)
  await gateway.admin('POST', '/providers/own/credentials', { api_key: `${SECRET}-2` })

  await gateway.admin('DELETE', `/providers/own/credentials/${credentials[0]?.id}`)
  await gateway.chat()
  const moved = await gateway.admin('PATCH', '/providers/own', { base_url: other.url })
  await gateway.chat()

  assert.deepEqual(authorizations(upstream), [`Bearer ${SECRET}-2`])
  assert.deepEqual([moved.status, authorizations(other)], [200, [undefined]])
  assert.ok((await gateway.audit()).ok)
})

test('a wrong encryption key stops the start; with the previous key everything is re-encrypted', async t => {
  await using upstream = await startUpstream()
  const [old, next] = [randomBytes(32).toString('hex'), randomBytes(32).toString('base64')]
  await using gateway = await startGateway({ env: { ...PRIVATE, TURNPIKE_ENCRYPTION_KEY: old } })
  await enter(gateway, upstream.url)
  const before = await ciphertextsOf(gateway)
  await gateway.stop({ hurry: true })

  await t.test('a wrong key', async () => {
    const { code, stdout, stderr } = await runProcess(['serve'], dirname(gateway.configFile), {
      TURNPIKE_PORT: String(await freePort()),
      ...gateway.storeEnv,
      TURNPIKE_ADMIN_TOKEN: gateway.adminToken,
      TURNPIKE_ENCRYPTION_KEY: next,
      // Test servers need not be durable, which the gateway warns about.
      TURNPIKE_LOG_LEVEL: 'error',
    })

    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /^turnpike: TURNPIKE_ENCRYPTION_KEY cannot decrypt the stored provider credentials: [^\n]+\n$/)
    assert.ok(!stderr.includes(next))
  })

  await t.test('a new key and the previous one', async () => {
    await gateway.restart({ TURNPIKE_ENCRYPTION_KEY: next, TURNPIKE_ENCRYPTION_KEY_PREVIOUS: old })

    assert.equal((await gateway.chat()).status, 200)
    assert.notDeepEqual(await ciphertextsOf(gateway), before)
  })

  await t.test('the new key alone', async () => {
    await gateway.restart({ TURNPIKE_ENCRYPTION_KEY_PREVIOUS: undefined })

    assert.equal((await gateway.chat()).status, 200)
    assert.deepEqual(new Set(authorizations(upstream)), new Set([`Bearer ${SECRET}`]))
  })

  await t.test('with a lost encryption key the credentials are deleted and everything else stays', async () => {
    await gateway.stop({ hurry: true })
    const command = ['forget-credentials', '--yes', '--json']
    const forgotten = await runProcess(command, dirname(gateway.configFile), gateway.storeEnv)
    await gateway.restart({ TURNPIKE_ENCRYPTION_KEY: old })

    assert.deepEqual(JSON.parse(forgotten.stdout), { ok: true, forgotten: 1 })
    assert.equal((await gateway.chat()).status, 200)
    assert.equal(upstream.journal.at(-1)?.headers.authorization, undefined)
  })
})

test('an address that has become private is not connected to, by IP, by name or with any provider kind', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ env: PRIVATE })
  await enter(gateway, upstream.url)
  await enter(gateway, upstream.url.replace('127.0.0.1', 'localhost'), 'named')
  await enter(gateway, upstream.url, 'claude', 'anthropic')
  assert.equal((await gateway.chat({ model: 'named/m' })).status, 200)
  const seen = upstream.journal.length

  await gateway.restart({ TURNPIKE_ALLOW_PRIVATE_UPSTREAMS: undefined })

  for (const [at, model] of ['test/m1', 'named/m', 'claude/m'].entries()) {
    await t.test(model, async () => {
      const { status, body } = await gateway.chat({ model })

      assert.deepEqual([status, body.error?.code], [502, 'all_providers_failed'])
      assert.equal(upstream.journal.length, seen)
      const told = () => gateway.logs.filter(line => /ENOTPUBLIC/.test(String(line.why))).length
      await until('the log has the reason', () => told() > at)
    })
  }
  const refused = await gateway.admin('PATCH', '/providers/own', { base_url: `${upstream.url}/other` })
  assert.deepEqual([refused.status, refused.body.error?.param], [400, 'base_url'])
  assert.ok((await gateway.audit()).ok)
})

async function enter(
  gateway: Gateway,
  url: string,
  id = 'own',
  kind = 'openai',
): Promise<{ credentials: { id: string }[] }> {
  const document = { id, kind, base_url: url, api_key: SECRET }
  const made = await gateway.admin<{ credentials: { id: string }[] }>('POST', '/providers', document)
  const targets = [{ provider: id, model: 'm1' }]
  const model = standardModel({ targets, ...(id === 'own' ? {} : { id: `${id}/m` }) })
  const second = await gateway.admin('POST', '/models', model)
  assert.deepEqual([made.status, second.status], [201, 201], made.text + second.text)
  return made.body
}

function authorizations(upstream: Upstream): (string | string[] | undefined)[] {
  return upstream.journal.map(({ headers }) => headers.authorization)
}

async function ciphertextsOf(gateway: Gateway): Promise<readonly string[]> {
  return [...new Set((await gateway.stored()).match(/v1\.[0-9a-f]{12}\./g) ?? [])].slice(-1)
}
