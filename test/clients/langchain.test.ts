// LangChain's ChatOpenAI and OpenAIEmbeddings, pointed at the gateway.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import {
  countingFetch,
  failureOf,
  MODEL,
  openClientFixture,
  TEXT,
  WEATHER,
  WRONG_KEY,
} from '../support/client-fixture.ts'
import { dialectConfig } from '../support/dialects.ts'
import { vectorOf } from '../support/embedding-vendor.ts'

test('LangChain works unchanged', async t => {
  await using fixture = await openClientFixture(dialectConfig)
  const chat = (apiKey: string, fetch: typeof globalThis.fetch = globalThis.fetch, maxRetries = 2) =>
    new ChatOpenAI({ model: MODEL, apiKey, maxRetries, configuration: { baseURL: fixture.baseUrl, fetch } })
  const model = chat(fixture.key)

  await t.test('invoke returns the text, the usage and the request id', async () => {
    const answer = await model.invoke('Say hello')

    const row = await fixture.row(answer.id?.replace(/^chatcmpl-/, ''))
    assert.equal(answer.text, TEXT)
    assert.deepEqual([answer.usage_metadata?.input_tokens, answer.usage_metadata?.output_tokens], [5, 10])
    assert.equal(answer.response_metadata.model_name, MODEL)
    assert.equal((answer.response_metadata.usage as { cost: number }).cost, Number(row.cost))
  })

  await t.test('stream gives the text in pieces and ends with the usage', async () => {
    const pieces = await Array.fromAsync(await model.stream('Say hello'))

    const whole = pieces.reduce((sum, piece) => sum.concat(piece))
    assert.ok(pieces.length > 10)
    assert.equal(whole.text, TEXT)
    assert.deepEqual([whole.usage_metadata?.input_tokens, whole.usage_metadata?.output_tokens], [5, 10])
    assert.equal(whole.response_metadata.finish_reason, 'stop')
  })

  await t.test('a tool is called and its result answered, as JSON and as a stream', async () => {
    const bound = model.bindTools([{ type: 'function', function: WEATHER.tool }])
    const streamed = async (turns: BaseMessage[]) =>
      (await Array.fromAsync(await bound.stream(turns))).reduce((sum, piece) => sum.concat(piece))
    for (const ask of [(turns: BaseMessage[]) => bound.invoke(turns), streamed]) {
      fixture.upstream.reset()
      fixture.upstream.next(...WEATHER.turns)
      const question = new HumanMessage('How is the weather?')

      const call = await ask([question])
      const result = new ToolMessage({ content: WEATHER.result, tool_call_id: call.tool_calls?.[0]?.id ?? '' })
      const answer = await ask([question, call, result])

      assert.deepEqual(call.tool_calls, [
        { name: 'weather', args: { city: 'Oslo' }, id: WEATHER.call.id, type: 'tool_call' },
      ])
      assert.equal(answer.text, WEATHER.text)
      WEATHER.assertTurns(fixture.upstream)
    }
  })

  await t.test('embeddings of a query and of documents', async () => {
    const configuration = { baseURL: fixture.baseUrl }
    const embeddings = new OpenAIEmbeddings({ model: 'test/vectors', apiKey: fixture.key, configuration })
    const texts = ['A gate.', 'A toll, and a road.']

    const query = await embeddings.embedQuery('A gate.')
    const documents = await embeddings.embedDocuments(texts)

    assert.deepEqual(query, vectorOf('A gate.', 8))
    assert.deepEqual(
      documents,
      texts.map(text => vectorOf(text, 8)),
    )
  })

  await t.test('refusals keep their status, code and param, and are not retried', async () => {
    const counted = countingFetch()

    const unauthorized = await failure(chat(WRONG_KEY, counted.fetch).invoke('Say hello'))
    const tooMany = await failure(chat(fixture.key, counted.fetch).invoke('Say hello', { stop: [...'abcde'] }))

    assert.deepEqual([unauthorized.status, unauthorized.code], [401, 'invalid_api_key'])
    assert.deepEqual([tooMany.status, tooMany.code, tooMany.param], [400, 'invalid_value', 'stop'])
    assert.deepEqual(counted.statuses, [401, 400])
  })

  await t.test('an exhausted limit is a 429 with Retry-After and is not retried repeatedly', async () => {
    const counted = countingFetch()
    const daily = chat(await fixture.spentKey('daily'), counted.fetch)

    const error = await failure(daily.invoke('Say hello'))

    assert.deepEqual([error.status, error.code], [429, 'daily_limit_exceeded'])
    assert.ok(Number(error.headers?.get('retry-after')) >= 1)
    assert.deepEqual(counted.statuses, [429])
  })

  await t.test('an upstream that breaks midway breaks the stream, after what arrived', async () => {
    fixture.upstream.next({ dieAfterChunks: 3 })
    let heard = ''

    const error = await failure(
      (async () => {
        for await (const piece of await chat(fixture.key, fetch, 0).stream('Say hello')) heard += piece.text
      })(),
    )

    assert.equal(heard, 'Hello there,')
    assert.equal(error.code, 'all_providers_failed')
  })

  assert.equal((await fixture.gateway.audit()).ok, true)
})

type Failed = { readonly status?: number; readonly code?: string; readonly param?: string; readonly headers?: Headers }

async function failure(promise: PromiseLike<unknown>): Promise<Failed> {
  return (await failureOf(promise)) as Failed
}
