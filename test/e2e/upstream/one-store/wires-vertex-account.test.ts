// Vertex with a service account: its key signs a token request, the token serves every call until it is about to
// expire, and a token service that fails is a credential failure.
import assert from 'node:assert/strict'
import { generateKeyPairSync, verify } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import * as google from '../../../fixtures/wires/google.ts'
import { FORGETFUL, withBounds } from '../../../support/bounds.ts'
import { startGateway } from '../../../support/gateway.ts'
import { assertRefusal } from '../../../support/refusal.ts'
import { standardModel } from '../../../support/standard-config.ts'
import { settledRow } from '../../../support/usage.ts'
import { jsonAnswer, startVendor } from '../../../support/vendor.ts'

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
const account = {
  type: 'service_account',
  client_email: 'gate@p-1.iam.gserviceaccount.com',
  private_key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  private_key_id: 'key-1',
}
const AUDIENCE = 'https://oauth2.googleapis.com/token'

test('a service account gets one token for many calls', async t => {
  await using vendor = await startVendor()
  await using tokens = await startVendor()
  const provider = (id: string, api_key: string) => ({
    id,
    kind: 'vertex',
    project: 'p-1',
    location: 'europe-west4',
    base_url: `${vendor.origin}/v1/projects/p-1/locations/europe-west4/publishers/google`,
    token_url: `${tokens.origin}/token`,
    api_key,
  })
  const json = JSON.stringify(account)
  const providers = [
    provider('base64', Buffer.from(json).toString('base64')),
    provider('plain', json),
    provider('broken', JSON.stringify({ ...account, private_key: 'no key' })),
    provider('unknown', JSON.stringify(account)),
  ]
  const models = providers.map(({ id }) =>
    standardModel({ id: `test/${id}`, targets: [{ provider: id, model: 'gemini-2.5-pro' }] }),
  )
  await using gateway = await startGateway({ config: { providers, models } })
  const ask = (id: string) => gateway.chat({ model: `test/${id}` })

  await t.test('concurrent calls wait for one token, and later ones use it', async () => {
    tokens.next({ ...jsonAnswer({ access_token: 'ya29.first', expires_in: 3599, token_type: 'Bearer' }) })
    for (let i = 0; i < 4; i++) vendor.next(jsonAnswer(google.json))

    const answers = await Promise.all([ask('base64'), ask('base64'), ask('base64')])
    answers.push(await ask('base64'))

    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200],
    )
    assert.equal(tokens.requests.length, 1)
    for (const { headers } of vendor.requests) {
      assert.equal(headers.authorization, 'Bearer ya29.first')
      assert.equal(headers['x-goog-api-key'], undefined)
    }
  })

  await t.test('the token request is signed by the account, for an hour', () => {
    const { text, path } = tokens.requests[0]!
    const form = new URLSearchParams(text)
    const [header = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.')

    assert.equal(path, '/token')
    assert.equal(form.get('grant_type'), 'urn:ietf:params:oauth:grant-type:jwt-bearer')
    const signed = Buffer.from(`${header}.${claims}`)
    assert.ok(verify('RSA-SHA256', signed, pair.publicKey, Buffer.from(signature, 'base64url')))
    assert.deepEqual(decoded(header), { alg: 'RS256', typ: 'JWT', kid: 'key-1' })
    const { iat, exp, ...said } = decoded(claims) as { iat: number; exp: number }
    assert.deepEqual(said, {
      iss: account.client_email,
      scope: 'https://www.googleapis.com/auth/cloud-platform',
      aud: AUDIENCE,
    })
    assert.equal(exp - iat, 3600)
    assert.ok(Math.abs(Date.now() / 1000 - iat) < 60)
  })

  await t.test('a token about to expire is renewed', async () => {
    tokens.next(jsonAnswer({ access_token: 'ya29.short', expires_in: 200 }))
    tokens.next(jsonAnswer({ access_token: 'ya29.next', expires_in: 3599 }))
    for (let i = 0; i < 2; i++) vendor.next(jsonAnswer(google.json))

    await ask('plain')
    await ask('plain')

    assert.deepEqual(
      vendor.requests.slice(-2).map(({ headers }) => headers.authorization),
      ['Bearer ya29.short', 'Bearer ya29.next'],
    )
  })

  await t.test('a token that is refused, missing or cannot be signed marks the credential as suspect', async () => {
    tokens.next({ status: 400, pieces: ['{"error":"invalid_grant"}'] })
    tokens.next(jsonAnswer({ expires_in: 3599 }))
    const before = vendor.requests.length

    for (const id of ['unknown', 'unknown', 'broken']) {
      const answer = await ask(id)

      assertRefusal(answer, 'all_providers_failed')
      const row = await settledRow(gateway, answer.headers['x-request-id'])
      assert.deepEqual([row.attempts[0]?.outcome, row.cost], ['credential', '0'])
    }
    assert.equal(vendor.requests.length, before)
  })
})

test('nothing that identifies a service account reaches the caller', async () => {
  await using vendor = await startVendor()
  await using gateway = await startGateway({ config: vertexConfig(vendor.origin, {}) })
  const token = 'tok-Canary-abc-DEF-ghi'
  vendor.next(jsonAnswer({ access_token: token, expires_in: 3599 }))
  const message = `${token} of ${account.client_email}, key ${account.private_key_id}, asked ${vendor.origin.slice(7)}`
  vendor.next({ status: 400, pieces: [JSON.stringify({ error: { message } })] })

  const answer = await gateway.chat({ model: 'test/vertex' })

  const refusal = assertRefusal(answer, 'upstream_rejected')
  assert.equal(refusal.message, '[hidden] of [hidden], key [hidden], asked [hidden]')
})

test('waiting for a token counts against the timeout', async t => {
  await using vendor = await startVendor()
  const timeouts = { total: 1, first_byte_json: 1 }
  await using gateway = await startGateway({
    config: vertexConfig(vendor.origin, { timeouts }),
    ...withBounds(FORGETFUL),
  })

  await t.test('a silent token service is a 504 in time, also for later callers', async () => {
    vendor.next({ pieces: [], last: 'hang' })
    const startedAt = Date.now()

    const answers = await Promise.all([
      gateway.chat({ model: 'test/vertex' }),
      setTimeout(500).then(() => gateway.chat({ model: 'test/vertex' })),
    ])

    for (const answer of answers) assertRefusal(answer, 'upstream_timeout')
    assert.ok(Date.now() - startedAt < 5000)
  })

  await t.test('the time for the token reduces the time for the answer', async () => {
    vendor.next({ ...jsonAnswer({ access_token: 'ya29.slow', expires_in: 3599 }), pieceDelayMs: 900 })
    vendor.next({ pieces: [], last: 'hang' })
    const startedAt = Date.now()

    assertRefusal(await gateway.chat({ model: 'test/vertex' }), 'upstream_timeout')

    assert.ok(Date.now() - startedAt < 1850, `${Date.now() - startedAt} ms`)
  })
})

// One host is both the vendor and its token service.
function vertexConfig(origin: string, more: object): object {
  const provider = {
    id: 'vertex',
    kind: 'vertex',
    project: 'p-1',
    location: 'europe-west4',
    base_url: `${origin}/v1/projects/p-1/locations/europe-west4/publishers/google`,
    token_url: `${origin}/token`,
    api_key: JSON.stringify(account),
    ...more,
  }
  return {
    providers: [provider],
    models: [standardModel({ id: 'test/vertex', targets: [{ provider: 'vertex', model: 'gemini-2.5-pro' }] })],
  }
}

function decoded(text: string): unknown {
  return JSON.parse(Buffer.from(text, 'base64url').toString())
}
