// OpenAI-compatible providers with quirks: their URLs, their authentication header, and fields that are not sent
// because they would be refused.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../../../support/gateway.ts'
import { PROVIDER_KEY_CANARY, standardModel, standardProvider } from '../../../support/standard-config.ts'
import { startUpstream } from '../../../support/upstream.ts'

test('a provider is called as its preset or its own settings define', async t => {
  await using upstream = await startUpstream()
  const origin = upstream.url.replace(/\/v1$/, '')
  const providers = [
    standardProvider(origin, { id: 'azure', preset: 'azure-deployments' }),
    standardProvider(upstream.url, { id: 'mistral', preset: 'mistral' }),
    standardProvider(upstream.url, {
      id: 'kept',
      preset: 'mistral',
      developer_role: true,
      stream_options: true,
      leaves_out: [],
    }),
    standardProvider(upstream.url, { id: 'own', path: '/chat', query: { a: 'b c' }, headers: { 'X-Team': 'blue' } }),
    standardProvider(upstream.url, { id: 'plain' }),
  ]
  const models = providers.map(({ id }) =>
    standardModel({ id: `test/${id}`, targets: [{ provider: id, model: 'team/model+1' }] }),
  )
  await using gateway = await startGateway({ config: { providers, models } })
  const ask = (provider: string, more: object = {}) => gateway.chat({ model: `test/${provider}`, ...more })
  const sent = () => upstream.journal.at(-1)!
  const body = () => sent().body as Record<string, unknown>

  await t.test('Azure by deployment: its path, its version, its header, and no bearer token', async () => {
    const { status, text } = await ask('azure')

    assert.equal(status, 200, text)
    assert.equal(sent().path, '/openai/deployments/team%2Fmodel%2B1/chat/completions?api-version=2024-10-21')
    assert.equal(sent().headers['api-key'], PROVIDER_KEY_CANARY)
    assert.equal(sent().headers.authorization, undefined)
  })

  await t.test('fields that a provider refuses are omitted and named, in the request and in its messages', async () => {
    const messages = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'hi', name: 'alice' },
    ]

    const { headers } = await ask('mistral', { messages, seed: 1, user: 'u', top_p: 0.5, stream: true, odd: 1 })

    assert.deepEqual(body(), {
      model: 'team/model+1',
      top_p: 0.5,
      stream: true,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
    })
    assert.deepEqual(String(headers['x-svc-ignored-fields']).split(', ').sort(), [
      'messages.name',
      'odd',
      'seed',
      'user',
    ])
  })

  await t.test('a setting in the file overrides the preset', async () => {
    const messages = [{ role: 'developer', content: 'Be brief.' }]

    const { headers } = await ask('kept', { messages, seed: 1, stream: true })

    assert.deepEqual(body(), {
      model: 'team/model+1',
      seed: 1,
      stream: true,
      stream_options: { include_usage: true },
      messages,
    })
    assert.equal(headers['x-svc-ignored-fields'], undefined)
  })

  await t.test('custom path, query and headers', async () => {
    await ask('own')

    assert.equal(sent().path, '/v1/chat?a=b+c')
    assert.equal(sent().headers['x-team'], 'blue')
    assert.equal(sent().headers.authorization, `Bearer ${PROVIDER_KEY_CANARY}`)
  })

  await t.test('without a preset everything is forwarded unchanged', async () => {
    const messages = [{ role: 'developer', content: 'Be brief.', name: 'boss' }]

    const { headers } = await ask('plain', { messages, seed: 1, top_k: 4 })

    assert.deepEqual(body(), { model: 'team/model+1', seed: 1, top_k: 4, messages })
    assert.equal(sent().path, '/v1/chat/completions')
    assert.equal(headers['x-svc-ignored-fields'], undefined)
  })
})
