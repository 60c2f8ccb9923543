// The catalog as callers read it: active models only, by id, with prices as exact decimal strings, and an ETag that
// changes exactly when a model does.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import type { Loose } from '../../../support/http-call.ts'
import { assertCommonHeaders, assertRefusal } from '../../../support/refusal.ts'
import { assertModel } from '../../../support/schemas.ts'
import { standardModel } from '../../../support/standard-config.ts'
import { startUpstream } from '../../../support/upstream.ts'

const dear = {
  prompt: '0.0000025',
  completion: '0.00001',
  input_cache_read: '0.00000125',
  input_cache_write: '0.000003125',
}
const rich = {
  id: 'acme/deep/m1:free@v2',
  aliases: ['m1', 'old/m1'],
  name: 'M1',
  description: 'Words.',
  owned_by: 'acme',
  context_length: 128_000,
  max_output_tokens: 16_384,
  input_modalities: ['text', 'image'],
  media_max_tokens: 1500,
  supported_parameters: ['tools'],
  pricing: dear,
  targets: [
    { provider: 'up', model: 'a' },
    { provider: 'up2', model: 'b', priority: 1 },
    { provider: 'up', model: 'c', priority: 2 },
  ],
}
const plain = standardModel({ id: 'zeta', pricing: { prompt: '1.50', completion: '0', request: '0.000000000001' } })

test('models are listed with prices, found by every name and cached by ETag', async t => {
  await using upstream = await startUpstream()
  const config = standardConfig(upstream.url, { models: [plain, standardModel({ id: 'beta' }), rich] })
  await using gateway = await startGateway({ config })
  const { secret } = await gateway.createKey({ rpm_limit: 10_000 })
  const list = async (headers: Record<string, string> = {}) => gateway.get('/v1/models', secret, headers)
  const entries = (answer: { body: Loose }) => answer.body.data as unknown as Loose[]

  await t.test('the list is sorted by id and every entry is an OpenAI model', async () => {
    const answer = await list()

    assert.equal(answer.body.object, 'list')
    assert.deepEqual(
      entries(answer).map(({ id }) => id),
      ['acme/deep/m1:free@v2', 'beta', 'zeta'],
    )
    for (const entry of entries(answer)) assertModel(entry)
    assertCommonHeaders(answer.headers)
    assert.equal(answer.headers['x-svc-cost'], '0')
  })

  await t.test('an entry has every documented field, with prices as minimal decimal strings', async () => {
    const [entry, , other] = entries(await list())

    const { created, price_version, ...rest } = entry as Loose
    assert.deepEqual(rest, {
      id: rich.id,
      object: 'model',
      type: 'chat',
      owned_by: 'acme',
      name: 'M1',
      description: 'Words.',
      context_length: 128_000,
      max_output_tokens: 16_384,
      architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'] },
      pricing: { currency: 'credits', unit: 'token', ...dear, request: '0' },
      supported_parameters: ['tools'],
      providers: ['up', 'up2'],
      status: 'active',
    })
    assert.ok(Math.abs(Number(created) - Date.now() / 1000) < 300)
    assert.ok(typeof price_version === 'string' && price_version !== '')
    assert.deepEqual(other?.pricing, {
      currency: 'credits',
      unit: 'token',
      prompt: '1.5',
      completion: '0',
      input_cache_read: '1.5',
      input_cache_write: '1.5',
      request: '0.000000000001',
    })
  })

  await t.test('a model is found by its id, plain or escaped, and by its aliases', async () => {
    const [entry] = entries(await list())

    for (const name of [rich.id, encodeURIComponent(rich.id), 'm1', 'old/m1', 'old%2Fm1']) {
      const answer = await gateway.get(`/v1/models/${name}`, secret)

      assert.equal(answer.status, 200, name)
      assert.deepEqual(answer.body, entry)
    }
    for (const name of ['acme', 'M1', 'zeta/', 'toString', '__proto__', 'a%00b']) {
      assertRefusal(await gateway.get(`/v1/models/${name}`, secret), 'model_not_found', 'model')
    }
  })

  await t.test('a matching ETag gets 304 without a body, with all headers', async () => {
    const { etag } = (await list()).headers
    assert.match(String(etag), /^"[^"]+"$/)

    for (const known of [String(etag), `"other", ${etag}`, `W/${etag}`, '*']) {
      const answer = await list({ 'if-none-match': known })

      assert.deepEqual([answer.status, answer.text, answer.headers.etag], [304, '', etag], known)
      assertCommonHeaders(answer.headers)
      assert.equal(answer.headers['x-svc-cost'], '0')
    }
    assert.equal((await list({ 'if-none-match': '"other"' })).status, 200)
  })

  await t.test('a new price makes a new version and ETag; a model no longer declared is gone', async () => {
    const before = await list()
    const [, beta, zeta] = entries(before) as [Loose, Loose, Loose]
    const pricier = { prompt: '2', completion: '0', request: '0.000000000001' }
    await gateway.writeConfig({ ...config, models: [{ ...plain, pricing: pricier }, standardModel({ id: 'beta' })] })
    await gateway.restart()

    const after = await list({ 'if-none-match': String(before.headers.etag) })

    assert.equal(after.status, 200)
    assert.notEqual(after.headers.etag, before.headers.etag)
    assert.deepEqual(entries(after)[0], beta, 'unchanged models keep their values')
    const changed = entries(after)[1] as Loose
    assert.deepEqual([changed.created, changed.pricing?.prompt], [zeta.created, '2'])
    assert.notEqual(changed.price_version, zeta.price_version)
    assertRefusal(await gateway.get(`/v1/models/${rich.id}`, secret), 'model_not_found', 'model')
    assertRefusal(await gateway.chat({ model: 'm1' }, { key: secret }), 'model_not_found', 'model')
  })

  assert.ok((await gateway.audit()).ok)
})
