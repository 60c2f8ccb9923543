// Between admission and its row a request may wait for its body, and its key may change meanwhile. The reservation
// decides: the state when the row is committed counts, and a refusal there is like any other.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type NewKey, standardConfig, startGateway } from '../../support/gateway.ts'
import type { HttpAnswer } from '../../support/http-response.ts'
import { openRaw } from '../../support/raw-http.ts'
import { assertRefusal, type Code, seen } from '../../support/refusal.ts'
import { until } from '../../support/until.ts'
import { startUpstream } from '../../support/upstream.ts'

const CHAT = JSON.stringify({ model: 'test/m1', messages: [{ role: 'user', content: 'Hello' }] })

test('a request is decided by the state of its key when its row is committed, not at admission', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const patch = (key: NewKey, change: object) => gateway.admin('PATCH', `/keys/${key.id}`, change)
  const post = (key: NewKey, verb: string) => gateway.admin('POST', `/keys/${key.id}/${verb}`, {})

  await t.test('a key that was revoked or has expired, or whose secret has ended, gets 401', async () => {
    const ends: ((key: NewKey) => Promise<unknown>)[] = [
      key => post(key, 'revoke'),
      key => post(key, 'rotate').then(() => post(key, 'end-grace')),
      key => patch(key, { expires_at: new Date(Date.now() + 300).toISOString() }).then(() => sleep(310)),
    ]
    for (const end of ends) {
      const key = await gateway.createKey()

      const answer = await chatAcross(key, () => end(key))

      assertRefusal(seen(answer), 'invalid_api_key')
      assert.equal(answer.header('ratelimit-limit'), '600')
    }
  })

  const changes: Readonly<Record<string, [code: Code, change: (key: NewKey) => Promise<unknown>]>> = {
    'a suspended account': [
      'account_suspended',
      key => gateway.admin('PATCH', `/accounts/${key.accountId}`, { status: 'suspended' }),
    ],
    'a removed scope': ['insufficient_scope', key => patch(key, { scopes: ['models.read'] })],
    'an allowlist that excludes the caller': ['ip_not_allowed', key => patch(key, { ip_allowlist: ['192.0.2.1'] })],
    'a daily limit that is now exhausted': ['daily_limit_exceeded', key => patch(key, { daily_limit: 1 })],
    'a credit limit that is now too low': ['insufficient_credits', key => patch(key, { credit_limit: '0' })],
  }
  for (const [what, [code, change]] of Object.entries(changes)) {
    await t.test(`${what} refuses, leaves a row and takes nothing`, async () => {
      const key = await gateway.createKey({ rpm_limit: 2 })
      await gateway.get('/v1/models', key.secret)

      const answer = await chatAcross(key, () => change(key))

      assertRefusal(seen(answer), code)
      const id = answer.header('x-request-id')
      const row = () => gateway.admin('GET', `/usage/${id}`)
      await until('the row is written', async () => (await row()).status === 200)
      assert.deepEqual([(await row()).body.error_code, (await row()).body.cost], [code, '0'])
      await gateway.admin('PATCH', `/accounts/${key.accountId}`, { status: 'active' })
      await patch(key, { ip_allowlist: [], daily_limit: null })
      assert.equal((await gateway.get('/v1/models', key.secret)).status, 200, 'the rpm token was returned')
    })
  }

  await t.test('a secret that was rotated meanwhile is served, with the grace header', async () => {
    const key = await gateway.createKey()

    const answer = await chatAcross(key, () => post(key, 'rotate'))

    assert.equal(answer.status, 200)
    assert.ok(Date.parse(String(answer.header('sunset'))) > Date.now())
    assert.match(String(answer.header('deprecation')), /^@\d+$/)
  })

  await t.test(
    'a change that does not concern the request lets it through, with the new limits in its headers',
    async () => {
      const key = await gateway.createKey({ rpm_limit: 10 })

      const answer = await chatAcross(key, () => patch(key, { rpm_limit: 5, name: 'renamed' }))

      assert.equal(answer.status, 200)
      assert.equal(answer.header('ratelimit-limit'), '5')
      assert.match(String(answer.header('ratelimit-policy')), /^"rpm";q=5;w=60/)
    },
  )

  assert.equal(upstream.journal.length, 2)
  assert.ok((await gateway.audit()).ok)

  // The 100 shows that it was admitted; the body is sent after the change.
  async function chatAcross(key: NewKey, change: () => Promise<unknown>): Promise<HttpAnswer> {
    using connection = await openRaw(gateway.port)
    connection.send(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.secret}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${CHAT.length}\r\nExpect: 100-continue\r\n\r\n`,
    )
    await until('it is admitted', () => connection.received.includes('HTTP/1.1 100'))
    await change()
    connection.send(CHAT)
    const answers = await connection.answers(1)
    return answers[1] as HttpAnswer
  }
})

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
