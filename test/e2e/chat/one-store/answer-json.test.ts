// The JSON answer: OpenAI's object for any upstream answer, with the gateway's id and names and the exact cost.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import type { Loose } from '../../../support/http-call.ts'
import { assertCommonHeaders, JSON_TYPE } from '../../../support/refusal.ts'
import { assertChatCompletion } from '../../../support/schemas.ts'
import { standardModel } from '../../../support/standard-config.ts'
import { startUpstream } from '../../../support/upstream.ts'

const USAGE = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
const token = { token: 'hi', logprob: -0.5, bytes: [104, 105], top_logprobs: [] }
const logprobs = { content: [token], refusal: null }

// One choice as an upstream sent it, and the expected choice.
const VARIANTS: Readonly<Record<string, readonly [upstream: object, wanted: object]>> = {
  'plain text': [
    { index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' },
    { index: 0, message: { role: 'assistant', content: 'hi', refusal: null }, logprobs: null, finish_reason: 'stop' },
  ],
  'tool calls': [
    { index: 0, message: { role: 'assistant', content: null, tool_calls: [call] }, finish_reason: 'tool_calls' },
    { message: { role: 'assistant', content: null, refusal: null, tool_calls: [call] }, finish_reason: 'tool_calls' },
  ],
  'a tool call without content': [
    { index: 0, message: { role: 'assistant', tool_calls: [call] }, finish_reason: 'tool_calls' },
    { message: { role: 'assistant', content: null, refusal: null, tool_calls: [call] } },
  ],
  'a refusal': [
    { index: 0, message: { role: 'assistant', content: null, refusal: 'no' }, finish_reason: 'stop' },
    { message: { role: 'assistant', content: null, refusal: 'no' } },
  ],
  reasoning: [
    { index: 0, message: { role: 'assistant', content: 'hi', reasoning_content: 'hm' }, finish_reason: 'stop' },
    { message: { role: 'assistant', content: 'hi', refusal: null, reasoning_content: 'hm' } },
  ],
  logprobs: [
    { index: 0, message: { role: 'assistant', content: 'hi' }, logprobs, finish_reason: 'length' },
    { logprobs, finish_reason: 'length' },
  ],
  'logprobs without a list of refusals': [
    { index: 0, message: { role: 'assistant', content: 'hi' }, logprobs: { content: [token] }, finish_reason: 'stop' },
    { logprobs },
  ],
  'content in parts': [
    { index: 0, message: { role: 'assistant', content: [{ type: 'thinking' }, { type: 'text', text: 'hi' }] } },
    { message: { role: 'assistant', content: 'hi', refusal: null } },
  ],
  'nulls where OpenAI omits the field': [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'hi',
        tool_calls: null,
        function_call: null,
        audio: null,
        annotations: null,
      },
      finish_reason: 'stop',
    },
    { message: { role: 'assistant', content: 'hi', refusal: null } },
  ],
  'no role, no index, a vendor-specific finish reason': [
    { message: { content: 'hi' }, finish_reason: 'eos_token' },
    { index: 0, message: { role: 'assistant', content: 'hi', refusal: null }, logprobs: null, finish_reason: 'stop' },
  ],
  'no finish reason': [{ index: 0, message: { role: 'assistant', content: 'hi' } }, { finish_reason: 'stop' }],
}

test('for any upstream answer the caller gets the object that OpenAI documents', async t => {
  await using upstream = await startUpstream()
  const config = standardConfig(upstream.url, { models: [standardModel({ aliases: ['nick/name'] })] })
  await using gateway = await startGateway({ config })
  const key = await gateway.createKey({ rpm_limit: 10_000 })

  for (const [what, [choice, wanted]] of Object.entries(VARIANTS)) {
    await t.test(what, async () => {
      upstream.next({ body: JSON.stringify({ id: 'x', choices: [choice], usage: USAGE }) })

      const answer = await gateway.chat({}, { key: key.secret })

      assert.equal(answer.status, 200, answer.text)
      assertChatCompletion(answer.body)
      const said = (answer.body.choices as unknown as Loose[])[0] as Loose
      assert.deepEqual(pick(said, Object.keys(wanted)), wanted)
      assert.equal(typeof answer.body.system_fingerprint, 'string')
    })
  }

  await t.test("id, time, names and headers are the gateway's; unknown upstream fields are dropped", async () => {
    const strange = { provider: 'secret', x_groq: { id: 'req' }, cost: 99, service_tier: 'scale' }
    const usage = { ...USAGE, cost: 99, prompt_tokens_details: { cached_tokens: 2, audio_tokens: 0 } }
    const head = { id: 'theirs', object: 'text', created: 5, model: 'm1-2026', system_fingerprint: 'fp_theirs' }
    upstream.next({ body: JSON.stringify({ ...head, ...strange, choices: [VARIANTS['plain text']?.[0]], usage }) })

    const { body, headers, text } = await gateway.chat({ model: 'nick/name' }, { key: key.secret })

    const { id, object, created, model, system_fingerprint, choices, usage: counted, ...others } = body
    assert.equal(id, `chatcmpl-${headers['x-request-id']}`)
    assert.ok(Math.abs(Number(created) - Date.now() / 1000) < 60)
    assert.deepEqual([object, model, system_fingerprint], ['chat.completion', 'test/m1', 'fp_theirs'])
    assert.deepEqual([others, (choices as unknown as unknown[]).length], [{}, 1])
    assert.deepEqual(counted, {
      ...USAGE,
      prompt_tokens_details: { cached_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 0 },
      cost: 0.00006,
    })
    assert.match(text, /"cost":0\.00006\}\}$/)
    assertCommonHeaders(headers)
    const { 'content-type': type, 'x-svc-provider': provider, 'x-svc-cost': cost } = headers
    assert.deepEqual([type, provider, cost], [JSON_TYPE, 'up', '0.00006'])
  })

  await t.test('n choices are returned as n choices', async () => {
    const { body } = await gateway.chat({ n: 3 }, { key: key.secret })

    assertChatCompletion(body)
    assert.deepEqual(
      (body.choices as unknown as Loose[]).map(choice => choice.index),
      [0, 1, 2],
    )
  })

  await t.test('without upstream usage the answer has complete usage, equal to the row', async () => {
    for (const usage of [undefined, null, 'none', { prompt_tokens: -1, completion_tokens: 0.5 }]) {
      upstream.next({ body: JSON.stringify({ choices: [VARIANTS['plain text']?.[0]], usage }) })
      const { body, headers } = await gateway.chat({}, { key: key.secret })

      assertChatCompletion(body)
      const { body: row } = await gateway.get(`/v1/usage/${headers['x-request-id']}`, key.secret)
      assert.equal(row.usage_source, 'estimate')
      const said = [body.usage?.prompt_tokens, body.usage?.completion_tokens, String(body.usage?.cost)]
      assert.deepEqual(said, [row.prompt_tokens, row.completion_tokens, String(Number(row.cost))])
      assert.ok(Number(body.usage?.prompt_tokens) > 0 && Number(body.usage?.completion_tokens) > 0)
    }
  })

  assert.ok((await gateway.audit()).ok)
})

function pick(value: Loose, names: readonly string[]): object {
  return Object.fromEntries(names.map(name => [name, value[name]]))
}
