// The Vercel AI SDK with its providers for OpenAI-compatible servers, for OpenAI (Responses) and for Anthropic (Messages).
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, isStepCount, jsonSchema, RetryError, streamText, tool } from 'ai'
import {
  countingFetch,
  failureOf,
  MODEL,
  openClientFixture,
  TEXT,
  WEATHER,
  WRONG_KEY,
} from '../support/client-fixture.ts'

const prompt = 'Say hello'

type Settings = { readonly baseURL: string; readonly apiKey: string; readonly fetch: typeof globalThis.fetch }

const PROVIDERS = {
  'chat completions': (settings: Settings) =>
    createOpenAICompatible({ name: 'turnpike', includeUsage: true, ...settings })(MODEL),
  Responses: (settings: Settings) => createOpenAI(settings).responses(MODEL),
  Messages: (settings: Settings) => createAnthropic(settings)(MODEL),
} as const

for (const [dialect, open] of Object.entries(PROVIDERS)) {
  test(`the AI SDK works unchanged with ${dialect}`, t => worksUnchanged(t, open))
}

async function worksUnchanged(t: TestContext, open: (typeof PROVIDERS)[keyof typeof PROVIDERS]): Promise<void> {
  await using fixture = await openClientFixture()
  const modelWith = (apiKey: string, fetch: typeof globalThis.fetch = globalThis.fetch) =>
    open({ baseURL: fixture.baseUrl, apiKey, fetch })
  const model = modelWith(fixture.key)

  await t.test('a JSON call gives the text, the usage and the headers', async () => {
    const { text, usage, response } = await generateText({ model, prompt })

    const row = await fixture.row(response.headers?.['x-request-id'])
    assert.equal(text, TEXT)
    assert.deepEqual([usage.inputTokens, usage.outputTokens], [5, 10])
    assert.equal(response.modelId, MODEL)
    assert.equal(response.headers?.['x-svc-cost'], row.cost)
  })

  await t.test('a stream gives the same text and usage, and its row is exact at its end', async () => {
    const result = streamText({ model, prompt })
    const pieces = await Array.fromAsync(result.textStream)
    const [usage, finishReason, response] = await Promise.all([result.usage, result.finishReason, result.response])

    const row = await fixture.row(response.headers?.['x-request-id'])
    assert.ok(pieces.length > 1)
    assert.equal(pieces.join(''), TEXT)
    assert.deepEqual([usage.inputTokens, usage.outputTokens, finishReason], [5, 10, 'stop'])
    assert.deepEqual([row.state, row.completion_tokens], ['settled', 10])
  })

  await t.test('a tool is called and its result answered, as JSON and as a stream', async () => {
    const schema = jsonSchema<{ city: string }>(WEATHER.tool.parameters as object)
    const weather = tool({
      description: WEATHER.tool.description,
      inputSchema: schema,
      execute: async ({ city }) => (city === 'Oslo' ? WEATHER.result : 'unknown'),
    })
    const call = { model, prompt, tools: { weather }, stopWhen: isStepCount(2) }
    for (const ask of [async () => (await generateText(call)).text, async () => await streamText(call).text]) {
      fixture.upstream.reset()
      fixture.upstream.next(...WEATHER.turns)

      const text = await ask()

      assert.equal(text, WEATHER.text)
      WEATHER.assertTurns(fixture.upstream)
    }
  })

  await t.test('refusals are errors with their status and message, and are not retried', async () => {
    const counted = countingFetch()

    const unauthorized = await failureOf(generateText({ model: modelWith(WRONG_KEY, counted.fetch), prompt }))
    const tooHot = await failureOf(generateText({ model: modelWith(fixture.key, counted.fetch), prompt, topP: 3 }))

    assert.ok(APICallError.isInstance(unauthorized) && APICallError.isInstance(tooHot))
    assert.deepEqual([unauthorized.statusCode, unauthorized.isRetryable], [401, false])
    assert.match(unauthorized.message, /Invalid or missing API key/)
    assert.deepEqual([tooHot.statusCode, tooHot.isRetryable], [400, false])
    assert.equal(errorOf(tooHot).param, 'top_p')
    assert.deepEqual(counted.statuses, [401, 400])
  })

  await t.test('an exhausted limit is retried as often as configured', async () => {
    const counted = countingFetch()
    const spent = modelWith(await fixture.spentKey('daily'), counted.fetch)

    const error = await failureOf(generateText({ model: spent, prompt, maxRetries: 1 }))

    assert.ok(RetryError.isInstance(error) && APICallError.isInstance(error.lastError))
    assert.equal(errorOf(error.lastError).code, 'daily_limit_exceeded')
    assert.ok(Number(error.lastError.responseHeaders?.['retry-after']) >= 1)
    assert.deepEqual(counted.statuses, [429, 429])
  })

  await t.test('an upstream that breaks midway is an error in the stream, after what arrived', async () => {
    fixture.upstream.next({ dieAfterChunks: 3 })
    const errors: unknown[] = []

    const result = streamText({ model, prompt, onError: ({ error }) => void errors.push(error) })
    const pieces = await Array.fromAsync(result.textStream)

    assert.equal(pieces.join(''), 'Hello there,')
    assert.equal(errors.length, 1)
  })

  assert.equal((await fixture.gateway.audit()).ok, true)
}

function errorOf(error: APICallError): { readonly code: string; readonly param: string | null } {
  return JSON.parse(error.responseBody ?? '').error
}
