// Requests to a vendor: the caller's request in the vendor's format, with the configured key, with at most the held
// output requested, and with every unsupported parameter reported.
import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { after, test } from 'node:test'
import { FORGETFUL, withBounds } from '../../support/bounds.ts'
import { startGateway } from '../../support/gateway.ts'
import { assertRefusal } from '../../support/refusal.ts'
import { standardModel } from '../../support/standard-config.ts'
import { startVendor } from '../../support/vendor.ts'
import { WIRES, wiresConfig } from '../../support/wires.ts'

const SDK = WIRES.filter(({ kind }) => kind !== 'openai')
// Variables of the operator's shell must not matter here.
const AMBIENT = {
  ANTHROPIC_API_KEY: 'ambient',
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:1',
  AWS_ACCESS_KEY_ID: 'ambient',
  AWS_BEARER_TOKEN_BEDROCK: 'ambient',
  AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
  AWS_REGION: 'ambient-1',
  AWS_SECRET_ACCESS_KEY: 'ambient',
  AWS_SESSION_TOKEN: 'ambient',
  COHERE_API_KEY: 'ambient',
  GOOGLE_CLIENT_EMAIL: 'ambient',
  GOOGLE_GENERATIVE_AI_API_KEY: 'ambient',
  GOOGLE_PRIVATE_KEY: 'ambient',
  GOOGLE_VERTEX_API_KEY: 'ambient',
  GOOGLE_VERTEX_LOCATION: 'ambient',
  GOOGLE_VERTEX_PROJECT: 'ambient',
}
const vendor = await startVendor()
const config = wiresConfig(vendor.origin) as { providers: object[]; models: object[] }
const signed = {
  id: 'signed',
  kind: 'bedrock',
  base_url: vendor.origin,
  region: 'eu-west-1',
  api_key: 'AKID:sEcReT:tOkEn',
}
const thinkers = [
  ['anthropic', 'claude-opus-4-1'],
  ['anthropic', 'claude-opus-4-7'],
  ['anthropic', 'claude-next'],
  ['anthropic', 'fixture-model'],
  ['google', 'gemini-2.5-pro'],
  ['google', 'gemini-3-pro-preview'],
  ['bedrock', 'anthropic.claude-3-7-sonnet-20250219-v1:0'],
  ['bedrock', 'anthropic.claude-opus-4-7'],
  ['bedrock', 'us.amazon.nova-2-lite-v1:0'],
  ['bedrock', 'openai.gpt-oss-120b-1:0'],
  ['cohere', 'command-a-reasoning-08-2025'],
] as const
const models = [
  standardModel({
    id: 'test/signed',
    targets: [{ provider: 'signed', model: 'anthropic.claude-3-haiku-20240307-v1:0' }],
  }),
  ...thinkers.map(([provider, model]) => standardModel({ id: `think/${model}`, targets: [{ provider, model }] })),
]
const forgetful = withBounds(FORGETFUL)
const gateway = await startGateway({
  nodeArgs: forgetful.nodeArgs,
  config: { providers: [...config.providers, signed], models: [...config.models, ...models] },
  env: { ...forgetful.env, ...AMBIENT },
})
after(async () => {
  await gateway[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

// Every answer is an error: only the sent request matters.
async function sent(model: string, request: object = {}) {
  const before = vendor.requests.length
  vendor.next({ status: 500, pieces: ['{}'] })
  const answer = await gateway.chat({ model, ...request })
  assert.equal(vendor.requests.length, before + 1, answer.text)
  return vendor.requests.at(-1)!
}

const call = (id: string, more: object = {}) => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: '{"city":"Oslo"}' },
  ...more,
})
const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
const RICH = {
  max_tokens: 4000,
  stop: 'END',
  temperature: 0.5,
  user: 'alice',
  parallel_tool_calls: false,
  tools: [{ type: 'function', function: { name: 'weather', description: 'd', parameters: { type: 'object' } } }],
  tool_choice: { type: 'function', function: { name: 'weather' } },
  messages: [
    { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '5m' } }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        { type: 'file', file: { filename: 'a.txt', file_data: 'aGVsbG8=' } },
      ],
    },
    {
      role: 'assistant',
      content: 'hm',
      reasoning_details: [
        { type: 'reasoning.text', text: 'th', index: 0 },
        { type: 'reasoning.text', text: 'ink', signature: 'SIG', index: 0 },
        { type: 'reasoning.text', text: 'unsigned', index: 1 },
      ],
      tool_calls: [call('c1', { extra_content: { google: { thought_signature: 'GSIG' } } }), call('c2')],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'cold' },
    { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'warm' }] },
    { role: 'developer', content: 'Be kind.' },
    { role: 'user', content: 'go on' },
  ],
}
const gemini: readonly Said[] = [
  ['systemInstruction.parts', [{ text: 'Be brief.' }, { text: 'Be kind.' }]],
  ['contents.0.parts.1.inlineData', { mimeType: 'image/png', data: 'iVBORw0KGgo=' }],
  ['contents.0.parts.2.inlineData', { mimeType: 'text/plain', data: 'aGVsbG8=' }],
  ['contents.1.parts.0', { text: 'think', thought: true, thoughtSignature: 'SIG' }],
  ['contents.1.parts.1', { text: 'hm' }],
  ['contents.1.parts.2.thoughtSignature', 'GSIG'],
  ['contents.1.parts.2.functionCall.args', { city: 'Oslo' }],
  ['contents.2.parts.1.functionResponse.response', { name: 'weather', content: 'warm' }],
  ['contents.3.parts', [{ text: 'go on' }]],
  ['toolConfig.functionCallingConfig.allowedFunctionNames', ['weather']],
  ['generationConfig.maxOutputTokens', 4000],
  ['generationConfig.stopSequences', ['END']],
  ['generationConfig.temperature', 0.5],
]
type Said = readonly [path: string, value: unknown]
const SAID: Readonly<Record<string, readonly Said[]>> = {
  anthropic: [
    ['system.0', { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    ['system.1', { type: 'text', text: 'Be kind.' }],
    ['messages.0.content.1.source', { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }],
    ['messages.0.content.2.source', { type: 'text', media_type: 'text/plain', data: 'hello' }],
    ['messages.1.content.0', { type: 'thinking', thinking: 'think', signature: 'SIG' }],
    ['messages.1.content.1', { type: 'text', text: 'hm' }],
    ['messages.1.content.2', { type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Oslo' } }],
    ['messages.2.content.1', { type: 'tool_result', tool_use_id: 'c2', content: 'warm' }],
    ['messages.2.content.2', { type: 'text', text: 'go on' }],
    ['tool_choice', { type: 'tool', name: 'weather', disable_parallel_tool_use: true }],
    ['tools.0.description', 'd'],
    ['max_tokens', 4000],
    ['stop_sequences', ['END']],
    ['temperature', 0.5],
  ],
  google: gemini,
  vertex: gemini,
  bedrock: [
    ['system', [{ text: 'Be brief.' }, { cachePoint: { type: 'default' } }, { text: 'Be kind.' }]],
    ['messages.0.content.1.image', { format: 'png', source: { bytes: 'iVBORw0KGgo=' } }],
    ['messages.0.content.2.document', { format: 'txt', name: 'a', source: { bytes: 'aGVsbG8=' } }],
    ['messages.1.content.0.reasoningContent.reasoningText', { text: 'think', signature: 'SIG' }],
    ['messages.1.content.2.toolUse', { toolUseId: 'c1', name: 'weather', input: { city: 'Oslo' } }],
    ['messages.2.content.1.toolResult', { toolUseId: 'c2', content: [{ text: 'warm' }] }],
    ['inferenceConfig', { maxTokens: 4000, temperature: 0.5, stopSequences: ['END'] }],
  ],
  cohere: [
    ['messages.0', { role: 'system', content: 'Be brief.' }],
    ['messages.1.content.1.image_url.url', 'data:image/png;base64,iVBORw0KGgo='],
    ['documents', [{ data: { text: 'hello', title: 'a.txt' } }]],
    ['messages.2.tool_calls.0.function', { name: 'weather', arguments: '{"city":"Oslo"}' }],
    ['messages.4', { role: 'tool', content: 'warm', tool_call_id: 'c2' }],
    ['messages.5', { role: 'system', content: 'Be kind.' }],
    ['tool_choice', 'REQUIRED'],
    ['max_tokens', 4000],
    ['stop_sequences', ['END']],
    ['temperature', 0.5],
  ],
}

for (const { kind, apiKey } of SDK) {
  test(`${kind}: a request with every feature arrives in the vendor's format`, async () => {
    const { body, headers } = await sent(`test/${kind}`, RICH)

    for (const [path, value] of SAID[kind] ?? []) assert.deepEqual(at(body, path), value, path)
    assert.ok(!JSON.stringify(body).includes('unsigned'), 'an unsigned reasoning block')
    assert.ok(!JSON.stringify(body).includes('alice'), "a user's name in plain text")
    assert.equal(headers['user-agent'], 'turnpike')
    assert.match(String(headers['x-request-id']), /^[0-9a-f-]{36}$/)
  })

  test(`${kind}: it authenticates with the configured key, and with nothing from the environment`, async () => {
    const { headers } = await sent(`test/${kind}`)

    const shown = { anthropic: 'x-api-key', google: 'x-goog-api-key', vertex: 'x-goog-api-key' }[kind as string]
    assert.equal(
      shown === undefined ? headers.authorization : headers[shown],
      shown === undefined ? `Bearer ${apiKey}` : apiKey,
    )
    assert.ok(!JSON.stringify(headers).includes('ambient'))
  })
}

test('Bedrock by access key: the signature is valid, for its region, with its session', async () => {
  const { headers, path, text } = await sent('test/signed')

  const date = String(headers['x-amz-date'])
  const scope = `${date.slice(0, 8)}/eu-west-1/bedrock/aws4_request`
  const [, names = '', signature] = /SignedHeaders=([^,]+), Signature=(\w+)/.exec(String(headers.authorization)) ?? []
  assert.match(String(headers.authorization), new RegExp(`Credential=AKID/${scope}`))
  assert.equal(headers['x-amz-security-token'], 'tOkEn')
  const canonical = [
    'POST',
    // Amazon encodes a path once more for its signature.
    path.replaceAll('%', '%25'),
    '',
    ...names.split(';').map(name => `${name}:${String(headers[name])}`),
    '',
    names,
    sha256(text),
  ].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')
  const key = ['eu-west-1', 'bedrock', 'aws4_request'].reduce<Buffer>(
    (from, part) => hmac(from, part),
    hmac(Buffer.from('AWS4sEcReT'), date.slice(0, 8)),
  )
  assert.equal(signature, hmac(key, toSign).toString('hex'))
})

for (const [provider, model] of thinkers) {
  for (const wish of [
    { reasoning_effort: 'high' },
    { thinking: { type: 'enabled', budget_tokens: 1_000_000 } },
    { reasoning: { max_tokens: 1_000_000 } },
  ]) {
    for (const max_tokens of [1, 1200, 4096]) {
      test(`${provider} ${model}: with ${JSON.stringify(wish)} and ${max_tokens} tokens the request has at most the held output as its limit`, async () => {
        const { body } = await sent(`think/${model}`, { ...wish, max_tokens })

        const cap = ['max_tokens', 'generationConfig.maxOutputTokens', 'inferenceConfig.maxTokens']
          .map(path => at(body, path))
          .find(value => value !== undefined)
        const budget = [
          'thinking.budget_tokens',
          'thinking.token_budget',
          'generationConfig.thinkingConfig.thinkingBudget',
          'additionalModelRequestFields.thinking.budget_tokens',
        ]
          .map(path => at(body, path))
          .find(value => value !== undefined)
        assert.equal(cap, max_tokens)
        assert.ok(budget === undefined || Number(budget) < max_tokens, `a budget of ${String(budget)}`)
      })
    }
  }
}

const REFUSED: readonly (readonly [what: string, kinds: readonly string[], request: object, words: RegExp])[] = [
  ['functions instead of tools', ['anthropic'], { functions: [{ name: 'f' }] }, /send tools/],
  ['a tool of another type', ['google'], { tools: [{ type: 'custom', custom: { name: 'f' } }] }, /type custom/],
  [
    'an unknown tool choice',
    ['cohere'],
    { ...pick('tools'), tool_choice: { type: 'allowed_tools' } },
    /tool_choice must be/,
  ],
  ['an unknown effort', ['bedrock'], { reasoning_effort: 'heroic' }, /reasoning_effort must be one of/],
  [
    'a response format without its schema',
    ['vertex'],
    { response_format: { type: 'json_schema' } },
    /must be a JSON schema/,
  ],
  ['an image by URL', ['google', 'vertex', 'bedrock'], picture('https://pictures.example/a.png'), /data: URLs/],
  ['a sound', ['anthropic', 'bedrock', 'cohere'], sound(), /does not support audio/],
  ['a file that is not text', ['cohere'], file('a.pdf'), /text files only/],
  ['a file of an unsupported type', ['anthropic'], file('a.html'), /not supported/],
]
for (const [what, kinds, request, words] of REFUSED) {
  for (const kind of kinds) {
    test(`${kind}: ${what} is refused with a message, and no upstream is called`, async () => {
      const before = vendor.requests.length

      const answer = await gateway.chat({ model: `test/${kind}`, ...request })

      assertRefusal(answer, 'upstream_rejected')
      assert.match(answer.text, words)
      assert.equal(vendor.requests.length, before)
    })
  }
}

test('an image URL is passed on if the vendor fetches it', async () => {
  const url = 'https://pictures.example/a.png'

  const { body } = await sent('test/anthropic', picture(url))
  const { body: other } = await sent('test/cohere', picture(url))

  assert.deepEqual(at(body, 'messages.0.content.0.source'), { type: 'url', url })
  assert.equal(at(other, 'messages.0.content.0.image_url.url'), url)
})

test('audio reaches models that accept it', async () => {
  const { body } = await sent('test/vertex', sound())

  assert.deepEqual(at(body, 'contents.0.parts.0.inlineData'), { mimeType: 'audio/wav', data: 'AAAA' })
})

test('a JSON format without a schema reaches vendors that support it', async () => {
  const response_format = { type: 'json_object' }

  assert.equal(
    at((await sent('test/google', { response_format })).body, 'generationConfig.responseMimeType'),
    'application/json',
  )
  assert.deepEqual(at((await sent('test/cohere', { response_format })).body, 'response_format'), {
    type: 'json_object',
  })
})

test('a schema reaches every vendor, natively or as a tool', async () => {
  const response_format = { type: 'json_schema', json_schema: { name: 'x', schema } }

  for (const { kind } of SDK) {
    const { text } = await sent(`test/${kind}`, { response_format })
    assert.match(text, /"properties":\{"a":\{"type":"string"\}\}/, kind)
  }
})

function picture(url: string): object {
  return { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] }
}

function sound(): object {
  return {
    messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }] }],
  }
}

function file(filename: string): object {
  return { messages: [{ role: 'user', content: [{ type: 'file', file: { filename, file_data: 'AAAA' } }] }] }
}

function pick(name: keyof typeof RICH): object {
  return { [name]: RICH[name] }
}

function at(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((within, name) => (within as Record<string, unknown> | undefined)?.[name], value)
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
