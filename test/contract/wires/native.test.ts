// A caller and a provider that speak the same dialect, and every caller on every provider: the vendors are simulated by
// @copilotkit/aimock, a third-party mock, in each dialect.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAimock } from '../../support/aimock.ts'
import { DIALECTS } from '../../support/dialects.ts'
import { startGateway } from '../../support/gateway.ts'
import { assertChatCompletion, assertMessage, assertResponse } from '../../support/schemas.ts'
import { standardModel } from '../../support/standard-config.ts'
import { settledRow } from '../../support/usage.ts'

const TEXT = 'The quick brown fox jumps over the lazy dog.'
const usage = { prompt_tokens: 12, completion_tokens: 10, total_tokens: 22 }

const PROVIDERS = [
  { id: 'chat', kind: 'openai', api: 'chat' },
  { id: 'responses', kind: 'openai', api: 'responses' },
  { id: 'messages', kind: 'anthropic' },
]

// One of each dialect; the table has some of them twice.
const CALLERS = ['chat.completions', 'messages', 'responses'].map(
  endpoint => DIALECTS.find(dialect => dialect.endpoint === endpoint) as (typeof DIALECTS)[number],
)
const CHECKS: Readonly<Record<string, (answer: unknown) => void>> = {
  'chat.completions': assertChatCompletion,
  messages: assertMessage,
  responses: assertResponse,
}

test('every caller is served by every provider, and billed alike', async t => {
  await using aimock = await startAimock([{ match: { userMessage: 'say it' }, response: { content: TEXT, usage } }])
  const providers = PROVIDERS.map(provider => ({ ...provider, base_url: aimock.url, api_key: 'secret' }))
  const models = PROVIDERS.map(({ id }) => standardModel({ id, targets: [{ provider: id, model: 'vendor-model' }] }))
  await using gateway = await startGateway({ config: { providers, models } })
  const { secret: key } = await gateway.createKey()

  for (const caller of CALLERS) {
    for (const { id } of PROVIDERS) {
      await t.test(`${caller.endpoint} at a provider of ${id}`, async () => {
        const send = async (stream: boolean) => {
          const response = await fetch(`${gateway.url}${caller.path}`, {
            method: 'POST',
            headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
            body: JSON.stringify({ ...caller.body('say it', { stream, maxTokens: 100 }), model: id }),
          })
          const text = await response.text()
          assert.equal(response.status, 200, text)
          const requestId = response.headers.get('x-request-id') ?? ''
          const row = await settledRow(gateway, requestId)
          assert.deepEqual([row.prompt_tokens, row.completion_tokens, row.usage_source], [12, 10, 'upstream'])
          assert.deepEqual([row.provider, row.cost], [id, '0.00013'])
          return text
        }

        const answer = JSON.parse(await send(false))
        const stream = caller.stream(await send(true))

        // What passes through has the fields that the vendor sends.
        const isPassedThrough = id !== 'chat' && caller.endpoint === id
        if (!isPassedThrough) CHECKS[caller.endpoint]?.(answer)
        assert.equal(caller.text(answer), TEXT)
        assert.deepEqual(stream, { text: TEXT, cost: '0.00013', errorCode: undefined, complete: true })
      })
    }
  }

  await t.test('each dialect was called where it is spoken', () => {
    const paths = new Set(aimock.requests.map(({ path }) => path))
    assert.deepEqual([...paths].sort(), ['/v1/chat/completions', '/v1/messages', '/v1/responses'])
  })
})
