// Images by URL: they reach only providers that fetch from the public internet, and only public addresses; and prompt
// caches that are partitioned by account.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { assertRefusal } from '../../../support/refusal.ts'
import { standardModel, standardProvider } from '../../../support/standard-config.ts'
import { startUpstream } from '../../../support/upstream.ts'

const PUBLIC = 'https://pictures.example.com/a.png'
const INLINE = 'data:image/png;base64,AAAA'
const PARAM = 'messages.0.content.0.image_url.url'
const eye = (id: string, targets: readonly string[]) =>
  standardModel({
    id,
    input_modalities: ['text', 'image'],
    media_max_tokens: 1000,
    targets: targets.map((provider, priority) => ({ provider, model: 'm1', priority })),
  })
const shown = (url: string) => [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]

test('images by URL', async t => {
  await using upstream = await startUpstream()
  const config = standardConfig(upstream.url, {
    providers: [
      standardProvider(upstream.url, { id: 'inside' }),
      standardProvider(upstream.url, { id: 'outside', remote_media: true }),
    ],
    models: [eye('test/inside', ['inside']), eye('test/outside', ['outside']), eye('test/both', ['inside', 'outside'])],
  })
  await using gateway = await startGateway({ config })

  await t.test('a URL that is not public is refused by path without an upstream call', async () => {
    for (const host of [
      '169.254.169.254',
      '127.0.0.1:8080',
      '[::1]',
      'db.prod.svc.cluster.local',
      'redis',
      'u@a.com',
    ]) {
      const answer = await gateway.chat({ model: 'test/outside', messages: shown(`https://${host}/a.png`) })
      assertRefusal(answer, 'invalid_value', PARAM)
    }
    assert.equal(upstream.journal.length, 0)
  })

  await t.test('a model whose providers do not fetch reports it and accepts an inline image', async () => {
    for (const stream of [false, true]) {
      const answer = await gateway.chat({ model: 'test/inside', messages: shown(PUBLIC), stream })
      const { message } = assertRefusal(answer, 'unsupported_value', PARAM)
      assert.match(String(message), /data: URL/)
    }
    assert.equal(upstream.journal.length, 0)
    assert.equal((await gateway.chat({ model: 'test/inside', messages: shown(INLINE) })).status, 200)
  })

  await t.test('a target that does not fetch is skipped', async () => {
    const answer = await gateway.chat({ model: 'test/both', messages: shown(PUBLIC) })
    const inline = await gateway.chat({ model: 'test/both', messages: shown(INLINE) })

    assert.deepEqual([answer.status, answer.headers['x-svc-provider']], [200, 'outside'])
    assert.deepEqual([inline.status, inline.headers['x-svc-provider']], [200, 'inside'])
  })

  await t.test('operators see and set which providers fetch', async () => {
    const made = await gateway.admin('POST', '/providers', {
      id: 'mine',
      kind: 'openai',
      base_url: 'https://1.1.1.1/v1',
      remote_media: true,
    })
    const listed = await gateway.admin('GET', '/providers/inside')

    assert.deepEqual([made.status, made.body.remote_media, listed.body.remote_media], [201, true, false])
  })
})

test('prompt caches are partitioned by account if the provider has a field for it', async () => {
  await using upstream = await startUpstream()
  const salted = standardProvider(upstream.url, {
    id: 'salted',
    cache_key_field: 'cache_salt',
    passthrough: ['cache_salt'],
  })
  const keyed = standardProvider(upstream.url, { id: 'keyed', cache_key_field: 'prompt_cache_key' })
  const config = standardConfig(upstream.url, {
    providers: [standardProvider(upstream.url), salted, keyed],
    models: ['up', 'salted', 'keyed'].map(provider =>
      standardModel({ id: `test/${provider}`, targets: [{ provider, model: 'm1' }] }),
    ),
  })
  await using gateway = await startGateway({ config })
  const [one, sameAccount, other] = await Promise.all([gateway.createKey(), undefined, gateway.createKey()])
  const sibling = sameAccount ?? (await gateway.createKey({ account_id: one.accountId }))
  const sent = async (model: string, key: string, more: object = {}) => {
    const answer = await gateway.chat({ model, messages: [{ role: 'user', content: 'hi' }], ...more }, { key })
    assert.equal(answer.status, 200, answer.text)
    return upstream.journal.at(-1)?.body as Record<string, unknown>
  }

  const salt = (await sent('test/salted', one.secret)).cache_salt
  assert.match(String(salt), /^[\w-]{43}$/)
  assert.equal((await sent('test/salted', sibling.secret)).cache_salt, salt)
  assert.equal((await sent('test/salted', one.secret, { cache_salt: 'x' })).cache_salt, salt)
  assert.notEqual((await sent('test/salted', other.secret)).cache_salt, salt)
  assert.equal((await sent('test/keyed', one.secret)).prompt_cache_key, salt)
  const own = (await sent('test/keyed', one.secret, { prompt_cache_key: 'k' })).prompt_cache_key
  assert.ok(own !== salt && own !== 'k', String(own))
  assert.deepEqual(Object.keys(await sent('test/up', one.secret)), ['model', 'messages'])
})
