// OpenAI's own client for Node, unchanged but for its base URL: everything it offers for chats works through the gateway.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI, { AuthenticationError, BadRequestError, NotFoundError, RateLimitError } from 'openai'
import {
  countingFetch,
  failureOf,
  MODEL,
  openClientFixture,
  TEXT,
  WEATHER,
  WRONG_KEY,
} from '../support/client-fixture.ts'
import { assertChatCompletion, assertChunk, assertModel } from '../support/schemas.ts'

const messages = [{ role: 'user' as const, content: 'Say hello' }]
type Usage = OpenAI.CompletionUsage & { cost?: number }

test("OpenAI's client for Node works unchanged", async t => {
  await using fixture = await openClientFixture()
  const client = new OpenAI({ baseURL: fixture.baseUrl, apiKey: fixture.key })

  await t.test('a JSON call gives the answer, the request id and the cost that the usage row holds', async () => {
    const created = client.chat.completions.create({ model: MODEL, messages })
    const { data, response, request_id } = await created.withResponse()

    const row = await fixture.row(request_id)
    assertChatCompletion(data)
    assert.equal(data.choices[0]?.message.content, TEXT)
    assert.equal((data as { _request_id?: string })._request_id, request_id)
    assert.equal(response.headers.get('x-svc-provider'), 'up')
    assert.equal(response.headers.get('x-svc-cost'), row.cost)
    assert.equal((data.usage as Usage).cost, Number(row.cost))
  })

  await t.test('a stream ends with its usage and cost, and its row is exact by then', async () => {
    const created = client.chat.completions.create({
      model: MODEL,
      messages,
      stream: true,
      stream_options: { include_usage: true },
    })
    const { data: stream, request_id } = await created.withResponse()
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of stream) chunks.push(chunk)

    const row = await fixture.row(request_id)
    for (const chunk of chunks) assertChunk(chunk)
    assert.equal(chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join(''), TEXT)
    assert.ok(chunks.slice(0, -1).every(chunk => chunk.usage === null))
    const usage = chunks.at(-1)?.usage as Usage
    assert.deepEqual([usage.completion_tokens, usage.cost], [10, Number(row.cost)])
    assert.equal(row.completion_tokens, 10)
  })

  await t.test('its tool runner handles the tool call, the result and the answer', async () => {
    for (const stream of [false, true]) {
      fixture.upstream.reset()
      fixture.upstream.next(...WEATHER.turns)
      const called = async ({ city }: { city: string }) => (city === 'Oslo' ? WEATHER.result : 'unknown')
      const parse = (text: string): { city: string } => JSON.parse(text)

      const runner = client.chat.completions.runTools({
        model: MODEL,
        messages,
        stream: stream as true,
        tools: [{ type: 'function', function: { ...WEATHER.tool, parse, function: called } }],
      })

      assert.equal(await runner.finalContent(), WEATHER.text)
      WEATHER.assertTurns(fixture.upstream)
    }
  })

  await t.test('the models are listed with their prices, and one is found by an id with a slash', async () => {
    const models = []
    for await (const model of client.models.list()) models.push(model)
    const one = await client.models.retrieve(MODEL)

    for (const model of models) assertModel(model)
    assert.deepEqual(
      models.map(model => model.id),
      [MODEL],
    )
    assert.deepEqual(one, { ...models[0] })
    assert.equal((one as { pricing?: { prompt?: string } }).pricing?.prompt, '0.0000025')
  })

  await t.test('every refusal becomes its typed error', async () => {
    const unknownClient = new OpenAI({ baseURL: fixture.baseUrl, apiKey: WRONG_KEY })
    const unauthorized = await failure(unknownClient.chat.completions.create({ model: MODEL, messages }))
    const tooHot = await failure(client.chat.completions.create({ model: MODEL, messages, temperature: 3 }))
    const unknown = await failure(client.chat.completions.create({ model: 'no/such', messages }))

    assert.ok(unauthorized instanceof AuthenticationError)
    assert.deepEqual([unauthorized.code, unauthorized.type], ['invalid_api_key', 'authentication_error'])
    assert.match(unauthorized.requestID ?? '', /^[0-9a-f-]{36}$/)
    assert.ok(tooHot instanceof BadRequestError)
    assert.deepEqual([tooHot.param, tooHot.code, tooHot.status], ['temperature', 'invalid_value', 400])
    assert.ok(unknown instanceof NotFoundError)
    assert.deepEqual([unknown.param, unknown.code], ['model', 'model_not_found'])
  })

  await t.test('an exhausted daily limit is a RateLimitError that the client does not retry', async () => {
    const counted = countingFetch()
    const apiKey = await fixture.spentKey('daily')
    const spent = new OpenAI({ baseURL: fixture.baseUrl, apiKey, fetch: counted.fetch })

    const error = await failure(spent.chat.completions.create({ model: MODEL, messages }))

    assert.ok(error instanceof RateLimitError)
    assert.equal(error.code, 'daily_limit_exceeded')
    assert.ok(Number(error.headers.get('retry-after')) >= 1)
    assert.deepEqual(counted.statuses, [429])
  })

  await t.test('an empty bucket is retried after Retry-After and then served', async () => {
    const counted = countingFetch()
    const { secret: apiKey } = await fixture.gateway.createKey({ rpm_limit: 20 })
    while ((await fixture.gateway.get('/v1/models', apiKey)).status !== 429);
    const patient = new OpenAI({ baseURL: fixture.baseUrl, apiKey, fetch: counted.fetch })

    const answer = await patient.chat.completions.create({ model: MODEL, messages })

    assert.equal(answer.choices[0]?.message.content, TEXT)
    assert.deepEqual([counted.statuses[0], counted.statuses.at(-1)], [429, 200])
  })

  await t.test('an upstream that breaks midway raises an error in the stream, after what arrived', async () => {
    fixture.upstream.next({ dieAfterChunks: 3 })
    let heard = ''

    const stream = await client.chat.completions.create({ model: MODEL, messages, stream: true })
    const error = await failure(
      (async () => {
        for await (const chunk of stream) heard += chunk.choices[0]?.delta.content ?? ''
      })(),
    )

    assert.equal(heard, 'Hello there,')
    assert.deepEqual([error.code, error.type], ['all_providers_failed', 'upstream_error'])
  })

  assert.equal((await fixture.gateway.audit()).ok, true)

  await t.test('responses.create gives the text, the request id and the cost of the row', async () => {
    const created = client.responses.create({ model: MODEL, input: 'Say hello' })
    const { data, request_id } = await created.withResponse()

    const row = await fixture.row(request_id)
    assert.deepEqual([data.output_text, data.status], [TEXT, 'completed'])
    assert.deepEqual([data.usage?.output_tokens, (data.usage as { cost?: number }).cost], [10, Number(row.cost)])
  })

  await t.test('responses.stream gathers the same response from its events', async () => {
    const stream = client.responses.stream({ model: MODEL, input: 'Say hello' })
    const pieces: string[] = []
    stream.on('response.output_text.delta', ({ delta }) => pieces.push(delta))
    const response = await stream.finalResponse()

    assert.ok(pieces.length > 1)
    assert.deepEqual([pieces.join(''), response.output_text, response.status], [TEXT, TEXT, 'completed'])
    assert.equal(response.usage?.output_tokens, 10)
  })

  await t.test('a tool call and its result are items of the next response, as JSON and as a stream', async () => {
    const tools = [{ type: 'function' as const, strict: false, ...WEATHER.tool }]
    for (const isStream of [false, true]) {
      fixture.upstream.reset()
      fixture.upstream.next(...WEATHER.turns)
      const ask = (input: OpenAI.Responses.ResponseInput): Promise<OpenAI.Responses.Response> => {
        const request = { model: MODEL, input, tools }
        return isStream ? client.responses.stream(request).finalResponse() : client.responses.create(request)
      }
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Weather?' }]

      const first = await ask(input)
      const [call] = first.output.filter(isCall)
      assert.deepEqual([call?.name, call?.arguments], [WEATHER.call.name, WEATHER.call.arguments])
      const output = { type: 'function_call_output' as const, call_id: call?.call_id ?? '', output: WEATHER.result }
      const second = await ask([...input, ...first.output, output] as OpenAI.Responses.ResponseInput)

      assert.equal(second.output_text, WEATHER.text)
      WEATHER.assertTurns(fixture.upstream)
    }
  })

  await t.test('what is not stored is refused with its typed error', async () => {
    const missing = await failureOf(client.responses.retrieve('resp_1'))
    const earlier = await failureOf(
      client.responses.create({ model: MODEL, input: 'Go on', previous_response_id: 'resp_1' }),
    )

    assert.ok(missing instanceof NotFoundError)
    assert.ok(earlier instanceof BadRequestError)
    assert.equal(earlier.param, 'previous_response_id')
  })
})

async function failure(promise: PromiseLike<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error = await failureOf(promise)
  assert.ok(error instanceof OpenAI.APIError)
  return error
}

function isCall(item: OpenAI.Responses.ResponseOutputItem): item is OpenAI.Responses.ResponseFunctionToolCall {
  return item.type === 'function_call'
}
