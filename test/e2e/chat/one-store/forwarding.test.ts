// What reaches the upstream, to the byte of its body: allowlisted fields as the caller sent them, with nothing added
// and nothing of the caller's connection.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { assertCommonHeaders, assertRefusal } from '../../../support/refusal.ts'
import { PROVIDER_KEY_CANARY, standardModel, standardProvider } from '../../../support/standard-config.ts'
import { startUpstream } from '../../../support/upstream.ts'

const tool = {
  type: 'function',
  function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: null },
}
const FORWARDED = {
  frequency_penalty: 0.1,
  function_call: 'auto',
  functions: [{ name: 'f', parameters: {} }],
  logit_bias: { 1: -1 },
  logprobs: true,
  metadata: { a: 'b' },
  modalities: ['text'],
  n: 2,
  parallel_tool_calls: false,
  presence_penalty: -0.1,
  prompt_cache_options: { mode: 'explicit' },
  prompt_cache_retention: '24h',
  reasoning_effort: 'low',
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { default: null } } },
  seed: 7,
  service_tier: 'default',
  stop: ['x'],
  store: false,
  temperature: 0.5,
  tool_choice: 'auto',
  tools: [tool],
  top_logprobs: 3,
  top_p: 0.9,
  verbosity: 'low',
  top_k: 40,
  min_p: 0.1,
  min_tokens: 1,
  top_a: 0.2,
  typical_p: 0.3,
  repetition_penalty: 1.1,
}
const REFUSED: readonly (readonly [field: string, bad: unknown, harmless?: unknown])[] = [
  ['service_tier', 'flex', 'auto'],
  ['web_search_options', {}],
  ['prediction', { type: 'content', content: 'x' }],
  ['audio', { voice: 'alloy', format: 'wav' }],
  ['modalities', ['text', 'audio'], ['text']],
  ['best_of', 2, 1],
  ['plugins', [{ id: 'web' }], []],
  ['mcp_servers', [{ url: 'http://169.254.169.254' }], []],
  ['store', true, false],
  ['background', true, false],
  ['search_parameters', { mode: 'on' }],
  ['speed', 'fast', 'standard'],
  ['inference_geo', 'us', 'global'],
  ['prompt_cache_options', { mode: 'explicit', ttl: '12h' }, { mode: 'explicit', ttl: '30m' }],
  ['prompt_cache_options', { mode: 'explicit', prewarm: true }],
  ['prompt_cache_retention', '7d', 'in_memory'],
  ['cached_content', 'cachedContents/1'],
]
const WRITTEN_BY_US = ['model', 'messages', 'max_tokens', 'max_completion_tokens', 'stream', 'stream_options']
const HASHED = ['user', 'safety_identifier', 'prompt_cache_key']
// Its results would be in a response field that is not forwarded: the field is dropped and named.
const NAMED_AS_IGNORED = ['moderation']

test('only allowlisted fields are forwarded, unchanged', async t => {
  await using upstream = await startUpstream()
  const newer = {
    id: 'newer',
    max_tokens_field: 'max_completion_tokens',
    passthrough: ['thinking', 'messages', 'model'],
  }
  const config = standardConfig(upstream.url, {
    providers: [standardProvider(upstream.url), standardProvider(upstream.url, newer)],
    models: [standardModel(), standardModel({ id: 'test/newer', targets: [{ provider: 'newer', model: 'm2' }] })],
  })
  await using gateway = await startGateway({ config })
  const messages = [{ role: 'user', content: 'hi', name: 'alice' }]
  const sent = () => upstream.journal.at(-1)?.body

  await t.test('every allowlisted field arrives unchanged, and nothing is added', async () => {
    const answer = await gateway.chat({ ...FORWARDED, messages })

    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(sent(), { model: 'm1', ...FORWARDED, messages })
    assert.equal(answer.headers['x-svc-ignored-fields'], undefined)
  })

  await t.test('a minimal request stays minimal', async () => {
    await gateway.chat({ messages, stream: false })

    assert.equal(upstream.journal.at(-1)?.rawBody.toString(), JSON.stringify({ model: 'm1', messages }))
  })

  await t.test('a stream always requests usage upstream', async () => {
    for (const stream_options of [undefined, null, {}, { include_usage: false }, { include_usage: true, other: 1 }]) {
      await gateway.chat({ messages, stream: true, stream_options })

      assert.deepEqual(sent(), { model: 'm1', stream: true, stream_options: { include_usage: true }, messages })
    }
    const stream_options = { include_usage: true, include_obfuscation: false, other: null }
    const { headers } = await gateway.chat({ messages, stream: true, stream_options })
    assert.equal(headers['x-svc-ignored-fields'], 'stream_options.include_obfuscation')
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`option${i}`, i]))
    const named = (await gateway.chat({ messages, stream: true, stream_options: many })).headers['x-svc-ignored-fields']
    assert.equal(String(named).split(', ').length, 32)
  })

  await t.test('unknown fields are dropped and named in a header', async () => {
    const unknown = { thinking: 1, 'a b': 1, naïve: 1, 'x,y\r\nX-Evil: 1': 1, transforms: [], api_base: 'http://evil' }
    const answer = await gateway.chat({ messages, ...unknown, models: ['a'], provider: { order: ['up2'] } })

    assert.deepEqual(sent(), { model: 'm1', messages })
    const named = 'thinking, a?b, na?ve, x?y??X-Evil:?1, transforms, api_base'
    assert.equal(answer.headers['x-svc-ignored-fields'], named)
    const streamed = await gateway.chat({ messages, thinking: 1, stream: true })
    assert.equal(streamed.headers['x-svc-ignored-fields'], 'thinking')
  })

  await t.test('a provider gets exactly the passthrough fields that its operator lists', async () => {
    const answer = await gateway.chat({ model: 'test/newer', messages, thinking: { budget: 1 }, other: 1 })

    assert.deepEqual(sent(), { model: 'm2', thinking: { budget: 1 }, messages })
    assert.equal(answer.headers['x-svc-ignored-fields'], 'other')
  })

  await t.test('the output cap uses the field name of the provider', async () => {
    for (const name of ['max_tokens', 'max_completion_tokens']) {
      await gateway.chat({ messages, [name]: 7 })
      assert.deepEqual(sent(), { model: 'm1', max_tokens: 7, messages })

      await gateway.chat({ model: 'test/newer', messages, [name]: 7 })
      assert.deepEqual(sent(), { model: 'm2', max_completion_tokens: 7, messages })
    }
  })

  await t.test('a cap from a low balance is sent upstream and reported to the caller', async () => {
    const { secret } = await gateway.createKey({ credits: '0.02' })

    const answer = await gateway.chat({ messages }, { key: secret })

    const cap = Number(answer.headers['x-svc-output-cap'])
    assert.ok(cap >= 256 && cap < 1000, `${cap}`)
    assert.deepEqual(sent(), { model: 'm1', max_tokens: cap, messages })
  })

  await t.test('fields that cost extra or have side effects are refused, unless their value is harmless', async () => {
    for (const [field, bad, harmless] of REFUSED) {
      assertRefusal(await gateway.chat({ [field]: bad }), 'unsupported_value', field)
      if (harmless === undefined) continue
      const answer = await gateway.chat({ [field]: harmless })

      assert.equal(answer.status, 200, answer.text)
      const forwarded = Object.hasOwn(sent() as object, field)
      assert.equal(answer.headers['x-svc-ignored-fields'], forwarded ? undefined : field)
    }
  })

  await t.test('fields that cost extra are refused on parts, on tools and inside passthrough fields', async () => {
    const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } }
    const part = { type: 'text', text: 'x', ...hour }
    const named = { type: 'function', function: { name: 'f' } }
    const said = { role: 'assistant', content: 'x' }
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
    const called = (extra: object) => [...messages, { ...said, tool_calls: [{ ...call, ...extra }] }]
    const cases: readonly (readonly [string, object])[] = [
      ['messages.0.content.0.cache_control', { messages: [{ role: 'system', content: [part] }] }],
      [
        'messages.0.content.0.prompt_cache_breakpoint',
        {
          messages: [
            {
              role: 'user',
              content: [{ type: 'text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } }],
            },
          ],
        },
      ],
      ['tools.0.cache_control', { messages, tools: [{ ...named, ...hour }] }],
      ['tools.0.function.cache_control', { messages, tools: [{ type: 'function', function: { name: 'f', ...hour } }] }],
      ['tools.0.custom.cache_control', { messages, tools: [{ ...named, custom: hour }] }],
      ['functions.0.cache_control', { messages, functions: [{ name: 'f', ...hour }] }],
      ['messages.1.tool_calls.0.cache_control', { messages: called(hour) }],
      ['messages.1.tool_calls.0.extra_content.0.cache_control', { messages: called({ extra_content: [hour] }) }],
      [
        'messages.1.reasoning_details.0.cache_control',
        { messages: [...messages, { ...said, reasoning_details: [hour] }] },
      ],
      ['cache_control', { messages, ...hour }],
      ['thinking.extra.0.service_tier', { messages, thinking: { extra: [{ service_tier: 'priority' }] } }],
    ]
    const before = upstream.journal.length
    for (const [param, body] of cases) {
      assertRefusal(await gateway.chat({ model: 'test/newer', ...body }), 'unsupported_value', param)
    }
    assert.equal(upstream.journal.length, before)

    const usual = { cache_control: { type: 'ephemeral', ttl: '5m' } }
    const schema = { type: 'object', properties: { speed: { type: 'string' } }, speed: 'fast' }
    const tools = [{ type: 'function', function: { name: 'f', parameters: schema }, ...usual }]
    const answer = await gateway.chat({ messages: [{ role: 'user', content: [{ ...part, ...usual }] }], tools })
    assert.equal(answer.status, 200, answer.text)
  })

  await t.test('more logprobs than an answer may hold are refused', async () => {
    const asked = { messages, logprobs: true, top_logprobs: 20, n: 8 }

    assertRefusal(await gateway.chat({ ...asked, max_tokens: 1600 }), 'invalid_value', 'top_logprobs')
    assertRefusal(await gateway.chat({ ...asked, max_tokens: 1600, stream: true }), 'invalid_value', 'top_logprobs')
    assert.equal((await gateway.chat({ ...asked, max_tokens: 1500 })).status, 200)
  })

  await t.test(
    "the upstream gets the request id and the provider's key, and none of the caller's headers",
    async () => {
      const headers = {
        cookie: 'a=b',
        'x-forwarded-for': '1.2.3.4',
        'x-request-id': 'mine',
        'openai-organization': 'o',
        'x-any': '1',
      }
      const answer = await gateway.chat({ messages }, { headers })

      const { headers: got, path, method } = upstream.journal.at(-1) as (typeof upstream.journal)[number]
      const { host: _, connection: __, 'content-length': ___, ...rest } = got
      assert.deepEqual([method, path], ['POST', '/v1/chat/completions'])
      assertCommonHeaders(answer.headers)
      assert.deepEqual(rest, {
        'content-type': 'application/json',
        'accept-encoding': 'identity',
        'user-agent': 'turnpike',
        authorization: `Bearer ${PROVIDER_KEY_CANARY}`,
        'x-request-id': answer.headers['x-request-id'],
      })
    },
  )

  await t.test('no field that OpenAI documents is dropped silently', () => {
    const decided = [...Object.keys(FORWARDED), ...REFUSED.map(([field]) => field), ...WRITTEN_BY_US, ...HASHED]

    const forgotten = documentedFields().filter(name => !decided.includes(name))

    assert.deepEqual(forgotten, NAMED_AS_IGNORED)
  })

  assert.ok((await gateway.audit()).ok)
})

function documentedFields(): string[] {
  const folder = join(import.meta.dirname, '../../../../node_modules/openai/resources/chat/completions')
  const text = readFileSync(join(folder, 'completions.d.ts'), 'utf8')
  const start = text.indexOf('interface ChatCompletionCreateParamsBase')
  const body = text.slice(start, text.indexOf('\n}\n', start))
  return [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(match => match[1] ?? '')
}
