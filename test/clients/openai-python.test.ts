// OpenAI's own client for Python, from PyPI in a pinned version: one script runs its calls, and this file checks what
// it saw.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { MODEL, openClientFixture, TEXT, WEATHER, weatherman } from '../support/client-fixture.ts'
import { dialectConfig } from '../support/dialects.ts'
import { vectorOf } from '../support/embedding-vendor.ts'
import { type Python, pythonWith } from '../support/python.ts'
import { runScript } from '../support/python-script.ts'
import { assertModel } from '../support/schemas.ts'

const python = pythonWith(join(import.meta.dirname, 'requirements.txt'))
const skip = typeof python === 'string' ? python : false
if (skip !== false) process.stderr.write(`\nNOT TESTED: OpenAI's client for Python.\n${skip}\n\n`)

test("OpenAI's client for Python works unchanged", { skip }, async t => {
  await using fixture = await openClientFixture(dialectConfig)
  fixture.upstream.script(weatherman)

  const seen = await runScript<Seen>(python as Python, join(import.meta.dirname, 'openai_client.py'), {
    base_url: fixture.baseUrl,
    ...(await fixture.scriptInput()),
    embedding_model: 'test/vectors',
  })

  await t.test('a JSON call passes its own models and carries the request id and the cost of its row', async () => {
    const { content, usage, request_id, headers } = seen.json
    const row = await fixture.row(request_id)
    assert.equal(content, TEXT)
    assert.equal(headers['x-svc-cost'], row.cost)
    assert.equal(headers['x-svc-provider'], 'up')
    assert.deepEqual([usage.completion_tokens, usage.cost], [10, Number(row.cost)])
  })

  await t.test('a stream gives the text, null usage until the last chunk, and then usage and cost', async () => {
    const { content, early_usage, usage, request_id } = seen.stream
    const row = await fixture.row(request_id)
    assert.deepEqual([content, seen.async_stream], [TEXT, TEXT])
    assert.ok(early_usage.length > 10 && early_usage.every(value => value === null))
    assert.deepEqual([usage.completion_tokens, usage.cost], [10, Number(row.cost)])
  })

  await t.test('a tool is called and its result answered, as JSON and as a stream', () => {
    assert.deepEqual(seen.tools, { json: WEATHER.text, stream: WEATHER.text })
  })

  await t.test('Responses, as JSON and as a stream, with their usage and cost', async () => {
    const { json, stream } = seen.responses
    const row = await fixture.row(json.request_id)
    assert.deepEqual([json.text, stream.text, stream.types.at(-1)], [TEXT, TEXT, 'response.completed'])
    assert.deepEqual([json.usage.output_tokens, json.usage.cost, row.endpoint], [10, Number(row.cost), 'responses'])
    assert.equal(stream.usage.cost, json.usage.cost)
  })

  await t.test('embeddings, decoded from base64 and as floats, with their cost', async () => {
    const { usual, floats } = seen.embeddings
    const row = await fixture.row(usual.request_id)
    assert.deepEqual([usual.vectors, floats.vectors], [[vectorOf('Say hello', 8)], [vectorOf('Say hello', 8)]])
    assert.deepEqual([usual.usage.prompt_tokens, usual.usage.cost, row.endpoint], [5, Number(row.cost), 'embeddings'])
  })

  await t.test('the models are listed with their prices, and one is found by an id with a slash', () => {
    const { listed, one } = seen.models
    for (const model of listed) assertModel(model)
    assert.deepEqual(
      listed.filter(({ id }) => id === MODEL),
      [one],
    )
    assert.deepEqual([one.id, one.pricing.prompt], [MODEL, '0.0000025'])
  })

  await t.test('refusals raise their typed errors, each after one attempt', () => {
    const { unauthorized, too_hot, unknown_model, spent_day } = seen
    assert.deepEqual(brief(unauthorized), ['AuthenticationError', 'invalid_api_key', null, [401]])
    assert.deepEqual(brief(too_hot), ['BadRequestError', 'invalid_value', 'temperature', [400]])
    assert.deepEqual(brief(unknown_model), ['NotFoundError', 'model_not_found', 'model', [404]])
    assert.deepEqual(brief(spent_day), ['RateLimitError', 'daily_limit_exceeded', null, [429]])
    assert.ok(Number(spent_day.retry_after) >= 1)
    assert.match(unauthorized.request_id, /^[0-9a-f-]{36}$/)
  })

  assert.equal((await fixture.gateway.audit()).ok, true)
})

type Usage = { readonly completion_tokens: number; readonly cost: number }
type ResponseUsage = { readonly output_tokens: number; readonly cost: number }
type Raised = {
  readonly [name in 'raised' | 'code' | 'type' | 'param' | 'request_id' | 'retry_after']: string
} & { readonly statuses: number[] }
type Embedded = { vectors: number[][]; usage: { prompt_tokens: number; cost: number }; request_id: string }
type Listed = { readonly id: string; readonly pricing: { readonly prompt: string } }
type Seen = {
  readonly json: { content: string; usage: Usage; request_id: string; headers: Record<string, string> }
  readonly stream: { content: string; early_usage: unknown[]; usage: Usage; request_id: string }
  readonly async_stream: string
  readonly tools: { json: string; stream: string }
  readonly responses: {
    json: { text: string; usage: ResponseUsage; request_id: string }
    stream: { text: string; usage: ResponseUsage; types: string[] }
  }
  readonly embeddings: { readonly [name in 'usual' | 'floats']: Embedded }
  readonly models: { listed: Listed[]; one: Listed }
} & { readonly [name in 'unauthorized' | 'too_hot' | 'unknown_model' | 'spent_day']: Raised }

function brief({ raised, code, param, statuses }: Raised): unknown[] {
  return [raised, code, param, statuses]
}
