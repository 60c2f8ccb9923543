// Claude on Vertex: the model is in the path, the version in the body, and a token of the service account authorises the call. For
// callers that speak Messages it passes through, for others it is translated.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, beforeEach, test } from 'node:test'
import * as claude from '../../../fixtures/wires/anthropic.ts'
import { FORGETFUL, withBounds } from '../../../support/bounds.ts'
import { startGateway } from '../../../support/gateway.ts'
import { askMessages, streamOf } from '../../../support/messages.ts'
import { standardModel } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import { settledRow } from '../../../support/usage.ts'
import { jsonAnswer, startVendor } from '../../../support/vendor.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const account = {
  type: 'service_account',
  client_email: 'gate@p-1.iam.gserviceaccount.com',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  private_key_id: 'key-1',
}
const PATH = '/v1/projects/p-1/locations/global/publishers/anthropic'
const MODEL = 'claude-sonnet-4-5@20250929'

const vendor = await startVendor()
const tokens = await startVendor()
const provider = (id: string, more: object) => ({
  id,
  kind: 'anthropic',
  project: 'p-1',
  location: 'global',
  base_url: `${vendor.origin}${PATH}`,
  token_url: `${tokens.origin}/token`,
  ...more,
})
const providers = [
  provider('vertex', { api_key: JSON.stringify(account) }),
  provider('token', { api_key: 'ya29.given' }),
  provider('slow', { api_key: JSON.stringify(account), timeouts: { total: 1, first_byte_json: 1 } }),
]
const models = providers.map(({ id }) =>
  standardModel({ id: `test/${id}`, max_output_tokens: 64_000, targets: [{ provider: id, model: MODEL }] }),
)
const gateway = await startGateway({ config: { providers, models }, ...withBounds(FORGETFUL) })
after(async () => {
  const { ok, output } = await gateway.audit()
  await gateway[Symbol.asyncDispose]()
  for (const each of [vendor, tokens]) await each[Symbol.asyncDispose]()
  assert.ok(ok, JSON.stringify(output))
})
const { secret } = await gateway.createKey()
const body = { max_tokens: 500, messages: [{ role: 'user' as const, content: 'Look' }] }
const token = (value: string) => jsonAnswer({ access_token: value, expires_in: 3599 })

beforeEach(() => {
  for (const { requests } of [vendor, tokens]) requests.length = 0
})

test('a Messages call passes through, with one token for all calls', async () => {
  tokens.next(token('ya29.first'))
  for (let i = 0; i < 2; i++) vendor.next(jsonAnswer(claude.json))
  const thinking = { type: 'enabled', budget_tokens: 1024 }

  const ask = () => askMessages(gateway, secret, { model: 'test/vertex', ...body, max_tokens: 2000, thinking })
  const answers = await Promise.all([ask(), ask()])

  assert.equal(tokens.requests.length, 1)
  for (const { path, headers, body: sent } of vendor.requests) {
    assert.equal(path, `${PATH}/models/${MODEL}:rawPredict`)
    assert.equal(headers.authorization, 'Bearer ya29.first')
    assert.equal(headers['x-api-key'], undefined)
    assert.deepEqual(sent, {
      anthropic_version: 'vertex-2023-10-16',
      max_tokens: 2000,
      thinking,
      messages: body.messages,
    })
  }
  for (const answer of answers) {
    assert.equal(answer.status, 200)
    assert.deepEqual((answer.body as { content: unknown }).content, claude.json.content)
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.deepEqual([row.outcome, row.prompt_tokens, row.completion_tokens], ['completed', 1233, 93])
  }
})

test('a stream passes through', async () => {
  vendor.next(streamOf(claude.stream))

  const answer = await askMessages(gateway, secret, { model: 'test/vertex', ...body, stream: true })

  assert.equal(vendor.requests[0]?.path, `${PATH}/models/${MODEL}:streamRawPredict`)
  assert.equal(vendor.requests[0]?.body.stream, true)
  assert.ok(answer.text.includes('"thinking":"in Norway."') && answer.text.includes('message_stop'), answer.text)
})

test('a chat call is translated for it', async () => {
  tokens.next(token('ya29.translated'))
  vendor.next(jsonAnswer(claude.json))

  const answer = await gateway.chat({ model: 'test/vertex' })

  const [{ path, headers, body: sent } = { path: '', headers: {}, body: {} as Record<string, unknown> }] =
    vendor.requests
  assert.equal(path, `${PATH}/models/${MODEL}:rawPredict`)
  assert.equal(headers.authorization, 'Bearer ya29.translated')
  assert.deepEqual([sent.anthropic_version, sent.model], ['vertex-2023-10-16', undefined])
  assert.equal(answer.body.choices?.[0]?.message?.content, claude.expected.content)
})

test('tokens are counted there', async () => {
  vendor.next(jsonAnswer({ input_tokens: 17 }))

  const asked = { model: 'test/vertex', messages: body.messages }
  const answer = await askMessages(gateway, secret, asked, {}, '/v1/messages/count_tokens')

  assert.deepEqual(answer.body, { input_tokens: 17 })
  const [{ path, body: sent } = { path: '', body: {} }] = vendor.requests
  assert.equal(path, `${PATH}/models/count-tokens:rawPredict`)
  assert.deepEqual(sent, { model: MODEL, anthropic_version: 'vertex-2023-10-16', messages: body.messages })
})

test('a credential that is no service account is sent as the token', async () => {
  vendor.next(jsonAnswer(claude.json))

  assert.equal((await askMessages(gateway, secret, { model: 'test/token', ...body })).status, 200)

  assert.equal(vendor.requests[0]?.headers.authorization, 'Bearer ya29.given')
  assert.equal(tokens.requests.length, 0)
})

test('a token service that refuses or is silent is a failure of the provider, in time and without its secrets', async () => {
  tokens.next({ status: 400, pieces: ['{"error":"invalid_grant"}'] })
  const refused = await askMessages(gateway, secret, { model: 'test/slow', ...body })
  tokens.next({ pieces: [], last: 'hang' })
  const startedAt = Date.now()
  const late = await askMessages(gateway, secret, { model: 'test/slow', ...body })

  assert.deepEqual([refused.status, late.status], [502, 504])
  assert.ok(Date.now() - startedAt < 3000)
  assert.equal(vendor.requests.length, 0)
  const row = await settledRow(gateway, refused.headers['x-request-id'])
  assert.deepEqual([row.attempts[0]?.outcome, row.cost], ['credential', '0'])
})

test('what the provider says of the account stays here', async () => {
  const message = `ya29.first of ${account.client_email} asked ${vendor.origin.slice(7)}`
  vendor.next({ status: 400, pieces: [JSON.stringify({ type: 'error', error: { type: 'invalid', message } })] })

  const answer = await askMessages(gateway, secret, { model: 'test/vertex', ...body })

  assert.equal(answer.status, 400)
  assert.match(answer.text, /\[hidden\] of \[hidden\] asked \[hidden\]/)
})

test('a caller that leaves while the token is awaited stops the call', async () => {
  tokens.next({ ...token('ya29.late'), pieceDelayMs: 700 })
  const leave = new AbortController()
  const call = fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/slow', ...body }),
    signal: leave.signal,
  })
  await until('the token is requested', () => tokens.requests.length === 1)
  leave.abort()
  await assert.rejects(call)

  await new Promise(resolve => setTimeout(resolve, 900))
  assert.equal(vendor.requests.length, 0)
})
