// OpenRouter's SDK, whose schemas are strict and in three places narrower than OpenAI's contract. In these places the
// test expects the SDK to fail and checks the received bytes against OpenAI's contract.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HTTPClient, OpenRouter } from '@openrouter/sdk'
import type { ChatMessages, ChatRequest, ChatResult, ChatStreamChunk } from '@openrouter/sdk/models'
import { OpenRouterError } from '@openrouter/sdk/models/errors'
import {
  countingFetch,
  failureOf,
  MODEL,
  openClientFixture,
  TEXT,
  WEATHER,
  WRONG_KEY,
} from '../support/client-fixture.ts'
import { assertChunk, assertModel } from '../support/schemas.ts'
import { parseSse } from '../support/sse.ts'

const hello: ChatMessages[] = [{ role: 'user', content: 'Say hello' }]

test("OpenRouter's SDK takes every answer that its own schemas allow", async t => {
  await using fixture = await openClientFixture()
  const client = (apiKey: string, fetcher: typeof fetch = fetch) =>
    new OpenRouter({ serverURL: fixture.baseUrl, apiKey, httpClient: new HTTPClient({ fetcher }) })
  const router = client(fixture.key)
  const whole = async (request: Partial<ChatRequest>, by = router) =>
    (await by.chat.send({ chatRequest: { model: MODEL, messages: hello, ...request, stream: false } })) as ChatResult
  const pieces = async (request: Partial<ChatRequest>, by = router) => {
    const chatRequest = { model: MODEL, messages: hello, ...request, stream: true as const }
    return Array.fromAsync((await by.chat.send({ chatRequest })) as AsyncIterable<ChatStreamChunk>)
  }

  await t.test('a JSON call passes its schema, with the cost in the usage', async () => {
    const answer = await whole({})

    const row = await fixture.row(answer.id.replace(/^chatcmpl-/, ''))
    assert.equal(answer.choices[0]?.message.content, TEXT)
    assert.deepEqual([answer.usage?.promptTokens, answer.usage?.completionTokens], [5, 10])
    assert.equal(answer.usage?.cost, Number(row.cost))
  })

  await t.test('every chunk of a stream passes its schema', async () => {
    const chunks = await pieces({})

    assert.equal(chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join(''), TEXT)
    assert.equal(chunks.at(-1)?.choices[0]?.finishReason, 'stop')
    assert.ok(chunks.every(chunk => chunk.usage === undefined))
  })

  await t.test("usage in a stream follows OpenAI, although the SDK's schema has no null", async () => {
    const counted = countingFetch()

    // OpenAI: "All other chunks will also include a usage field, but with a null value." The SDK takes an object only.
    const error = await failureOf(pieces({ streamOptions: { includeUsage: true } }, client(fixture.key, counted.fetch)))

    const { chunks, done } = parseSse((await counted.texts[0]) ?? '')
    assert.match(String(error), /usage.*expected object, received null/s)
    for (const chunk of chunks) assertChunk(chunk)
    assert.ok(done && chunks.slice(0, -1).every(chunk => chunk.usage === null))
    assert.equal(chunks.at(-1)?.usage?.completion_tokens, 10)
  })

  await t.test('a tool is called and its result answered, as JSON and as a stream', async () => {
    const tools = [{ type: 'function' as const, function: WEATHER.tool }]
    const call = { id: WEATHER.call.id, type: 'function' as const }
    const made = { name: WEATHER.call.name, arguments: WEATHER.call.arguments }
    const turns: ChatMessages[] = [
      ...hello,
      { role: 'assistant', content: null, toolCalls: [{ ...call, function: made }] },
      { role: 'tool', toolCallId: WEATHER.call.id, content: WEATHER.result },
    ]
    fixture.upstream.reset()
    fixture.upstream.next(...WEATHER.turns, ...WEATHER.turns)

    const asked = await whole({ tools })
    const answered = await whole({ tools, messages: turns })
    const askedBit = await pieces({ tools })
    const answeredBit = await pieces({ tools, messages: turns })

    assert.deepEqual(asked.choices[0]?.message.toolCalls, [{ ...call, function: made }])
    assert.equal(answered.choices[0]?.message.content, WEATHER.text)
    const streamed = askedBit.flatMap(chunk => chunk.choices[0]?.delta.toolCalls ?? [])
    assert.deepEqual(streamed, [{ index: 0, ...call, function: made }])
    assert.equal(answeredBit.map(chunk => chunk.choices[0]?.delta.content ?? '').join(''), WEATHER.text)
    WEATHER.assertTurns(fixture.upstream)
  })

  await t.test("models follow OpenAI's format, although the SDK requires OpenRouter's own fields", async () => {
    const counted = countingFetch()

    // The SDK rejects a model without canonical_slug, top_provider, links and others, which are not in OpenAI's API.
    const error = await failureOf(client(fixture.key, counted.fetch).models.list())

    const { data } = JSON.parse((await counted.texts[0]) ?? '') as { data: { id: string }[] }
    assert.match(String((error as Error).cause), /canonical_slug/)
    for (const model of data) assertModel(model)
    assert.equal(data[0]?.id, MODEL)
  })

  // The SDK expects the HTTP status as a number in `error.code`; OpenAI's codes are strings, and OpenAI's clients
  // select their errors by them. The SDK's error still has the status, the headers and the body, which are checked.
  await t.test('refusals keep status, headers and message, and are sent once', async () => {
    const counted = countingFetch()

    const unauthorized = await refused(whole({}, client(WRONG_KEY, counted.fetch)))
    const tooHot = await refused(whole({ temperature: 3 }, client(fixture.key, counted.fetch)))
    const spent = await refused(whole({}, client(await fixture.spentKey('rpm'), counted.fetch)))

    assert.deepEqual([unauthorized.statusCode, codeOf(unauthorized)], [401, ['invalid_api_key', null]])
    assert.equal(unauthorized.headers.get('www-authenticate'), 'Bearer')
    assert.deepEqual([tooHot.statusCode, codeOf(tooHot)], [400, ['invalid_value', 'temperature']])
    assert.deepEqual([spent.statusCode, codeOf(spent)], [429, ['rate_limit_exceeded', null]])
    assert.ok(Number(spent.headers.get('retry-after')) >= 1)
    assert.deepEqual(counted.statuses, [401, 400, 429])
  })

  assert.equal((await fixture.gateway.audit()).ok, true)
})

function codeOf(error: OpenRouterError): [code: string, param: string | null] {
  const { code, param } = JSON.parse(error.body).error
  return [code, param]
}

async function refused(promise: PromiseLike<unknown>): Promise<OpenRouterError> {
  const error = await failureOf(promise)
  assert.ok(error instanceof OpenRouterError)
  return error
}
