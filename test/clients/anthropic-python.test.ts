// Anthropic's own client for Python, from PyPI in a pinned version: one script runs its calls, and this file checks what it saw.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { MODEL, openClientFixture, TEXT, WEATHER, weatherman } from '../support/client-fixture.ts'
import { type Python, pythonWith } from '../support/python.ts'
import { runScript } from '../support/python-script.ts'

const python = pythonWith(join(import.meta.dirname, 'requirements.txt'))
const skip = typeof python === 'string' ? python : false
if (skip !== false) process.stderr.write(`\nNOT TESTED: Anthropic's client for Python.\n${skip}\n\n`)

type Usage = { readonly input_tokens: number; readonly output_tokens: number; readonly cost: number }
type Seen = {
  readonly json: { content: string; usage: Usage; request_id: string; cost: string }
  readonly stream: { pieces: string[]; content: string; stop_reason: string; usage: Usage; request_id: string }
  readonly tools: string
  readonly counted: number
  readonly models: string[]
} & { readonly [name in 'unauthorized' | 'unknown_model' | 'spent_day']: unknown[] }

test("Anthropic's client for Python works unchanged", { skip }, async t => {
  await using fixture = await openClientFixture()
  fixture.upstream.script(weatherman)

  const seen = await runScript<Seen>(python as Python, join(import.meta.dirname, 'anthropic_client.py'), {
    base_url: fixture.gateway.url,
    ...(await fixture.scriptInput()),
  })

  await t.test('a JSON call passes its own models and carries the cost of its row', async () => {
    const { content, usage, request_id, cost } = seen.json
    const row = await fixture.row(request_id)
    assert.equal(content, TEXT)
    assert.deepEqual([cost, usage.cost, usage.output_tokens], [row.cost, Number(row.cost), 10])
    assert.equal(row.endpoint, 'messages')
  })

  await t.test('a stream gives the text piece by piece, and usage and cost at its end', async () => {
    const { pieces, content, stop_reason, usage, request_id } = seen.stream
    const row = await fixture.row(request_id)
    assert.ok(pieces.length > 5)
    assert.deepEqual([pieces.join(''), content, stop_reason], [TEXT, TEXT, 'end_turn'])
    assert.deepEqual([usage.output_tokens, usage.cost], [10, Number(row.cost)])
  })

  await t.test('a tool is called and its result answered', () => assert.equal(seen.tools, WEATHER.text))

  await t.test('tokens are counted and models listed', () => {
    assert.ok(seen.counted > 0 && seen.counted < 20, String(seen.counted))
    assert.deepEqual(seen.models, [MODEL])
  })

  await t.test('refusals raise their typed errors', () => {
    assert.deepEqual(seen.unauthorized, ['AuthenticationError', 401, 'authentication_error', 'invalid_api_key'])
    assert.deepEqual(seen.unknown_model, ['NotFoundError', 404, 'not_found_error', 'model_not_found'])
    assert.deepEqual(seen.spent_day, ['RateLimitError', 429, 'rate_limit_error', 'daily_limit_exceeded'])
  })

  assert.equal((await fixture.gateway.audit()).ok, true)
})
