// Rotation: a new secret, sixty minutes in which the old one still works and reports its end, and an immediate end if
// the operator wants it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Gateway, standardConfig, startGateway } from '../../support/gateway.ts'
import { assertRefusal } from '../../support/refusal.ts'
import { startUpstream } from '../../support/upstream.ts'

const HOUR = 3_600_000

test('a rotated key has one current secret and at most five old ones in grace', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })

  await t.test('the old secret works for 60 minutes, and every answer to it has the end of its grace', async () => {
    const { id, secret: old } = await gateway.createKey()
    const startedAt = Date.now()
    const current = await rotate(gateway, id)

    const introspection = await gateway.get('/v1/key/introspect', old)
    const answers = [
      introspection,
      await gateway.chat({}, { key: old }),
      await gateway.chat({ stream: true }, { key: old }),
      await gateway.get('/v1/nothing', old),
      await gateway.chat({ messages: 1 }, { key: old }),
    ]

    const ends = Date.parse(String(introspection.body.secret?.grace_expires_at))
    assert.ok(Math.abs(ends - startedAt - HOUR) < 30_000)
    assert.equal(introspection.body.secret?.state, 'grace')
    assert.equal(introspection.body.secret?.last4, old.slice(-4))
    for (const { headers } of answers) {
      assert.equal(Date.parse(String(headers.sunset)), Math.floor(ends / 1000) * 1000)
      assert.match(String(headers.deprecation), /^@\d+$/)
      assert.ok(Math.abs(Number(String(headers.deprecation).slice(1)) * 1000 - startedAt) < 30_000)
    }
    const fresh = await gateway.get('/v1/key/introspect', current)
    assert.deepEqual(fresh.body.secret, { state: 'current', last4: current.slice(-4), grace_expires_at: null })
    assert.equal(fresh.headers.sunset, undefined)
    assert.equal(fresh.headers.deprecation, undefined)
  })

  await t.test('both secrets share the limits of their key, and usage rows record which was used', async () => {
    const { id, secret: old } = await gateway.createKey({ rpm_limit: 2 })
    const current = await rotate(gateway, id)

    const answers = [await gateway.chat({}, { key: old }), await gateway.chat({}, { key: current })]

    assertRefusal(await gateway.get('/v1/models', old), 'rate_limit_exceeded')
    assertRefusal(await gateway.get('/v1/models', current), 'rate_limit_exceeded')
    for (const [i, secret] of [old, current].entries()) {
      const { body } = await gateway.admin('GET', `/usage/${answers[i]?.headers['x-request-id']}`)
      assert.deepEqual([body.key_id, body.secret_last4], [id, secret.slice(-4)])
    }
  })

  await t.test('end-grace ends one secret or all of them and is idempotent', async () => {
    const { id, secret: first } = await gateway.createKey()
    const second = await rotate(gateway, id)
    const third = await rotate(gateway, id)
    await assertWorks([first, second, third])

    const one = await gateway.admin('POST', `/keys/${id}/end-grace`, { last4: second.slice(-4) })
    await assertWorks([first, third])
    assertRefusal(await gateway.get('/v1/models', second), 'invalid_api_key')
    const all = await gateway.admin('POST', `/keys/${id}/end-grace`, {})
    await assertWorks([third])
    assertRefusal(await gateway.get('/v1/models', first), 'invalid_api_key')
    const again = await gateway.admin('POST', `/keys/${id}/end-grace`)
    const nobody = await gateway.admin('POST', `/keys/${id}/end-grace`, { last4: third.slice(-4) })
    await assertWorks([third])

    assert.deepEqual(
      [one, all, again, nobody].map(({ status, body }) => [status, lastFours(body.previous)]),
      [
        [200, [first.slice(-4)]],
        [200, []],
        [200, []],
        [200, []],
      ],
    )
    // The last use of the current secret is written in the background.
    assert.deepEqual({ ...again.body, last_used_at: null }, { ...nobody.body, last_used_at: null })
  })

  await t.test('a key has at most six secrets', async () => {
    const { id, secret } = await gateway.createKey()
    const secrets = [secret]
    for (let i = 0; i < 5; i++) secrets.push(await rotate(gateway, id))

    const seventh = await gateway.admin('POST', `/keys/${id}/rotate`, {})
    await assertWorks(secrets)
    await gateway.admin('POST', `/keys/${id}/end-grace`, { last4: secret.slice(-4) })
    const afterEnd = await gateway.admin('POST', `/keys/${id}/rotate`, {})

    assert.deepEqual([seventh.status, seventh.body.error?.code], [409, 'too_many_secrets'])
    assert.equal(afterEnd.status, 200)
  })

  await t.test('of 100 concurrent rotations five succeed, and their secrets all work', async () => {
    const { id, secret } = await gateway.createKey({ rpm_limit: 1000 })

    const racing = Array.from({ length: 100 }, () => gateway.admin('POST', `/keys/${id}/rotate`, {}))
    const load = Array.from({ length: 50 }, () => gateway.get('/v1/models', secret))
    const rotations = await Promise.all(racing)

    const granted = rotations.filter(({ status }) => status === 200).map(({ body }) => String(body.secret))
    assert.equal(granted.length, 5)
    const others = rotations.filter(({ status }) => status !== 200 && status !== 409)
    assert.deepEqual(
      others.map(({ status, text }) => `${status} ${text}`),
      [],
    )
    assert.ok((await Promise.all(load)).every(({ status }) => status === 200))
    await assertWorks([secret, ...granted])
    const states = await Promise.all(granted.map(one => gateway.get('/v1/key/introspect', one)))
    assert.equal(states.filter(({ body }) => String(body.secret?.state) === 'current').length, 1)
  })

  await t.test('only an active key can be rotated', async () => {
    const { id } = await gateway.createKey()
    await gateway.admin('POST', `/keys/${id}/revoke`, {})

    const { status, body } = await gateway.admin('POST', `/keys/${id}/rotate`, {})

    assert.deepEqual([status, body.error?.code], [409, 'conflict'])
  })

  assert.ok((await gateway.audit()).ok)

  async function assertWorks(secrets: readonly string[]): Promise<void> {
    for (const secret of secrets) assert.equal((await gateway.get('/v1/models', secret)).status, 200)
  }
})

async function rotate(gateway: Gateway, id: string): Promise<string> {
  const { status, body } = await gateway.admin('POST', `/keys/${id}/rotate`, {})
  assert.equal(status, 200)
  return String(body.secret)
}

function lastFours(previous: unknown): string[] {
  return (previous as { last4: string }[]).map(({ last4 }) => last4)
}
