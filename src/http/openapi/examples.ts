// Examples of requests and responses, for the OpenAPI document and its page. Tests validate each against its schema.
import { MODEL } from './snippets.ts'

const REQUEST_ID = '019a8f3e-5b7c-7d21-9c44-1f0a6be2d731'

export const CHAT_REQUEST = {
  model: MODEL,
  messages: [
    { role: 'system', content: 'Answer in one sentence.' },
    { role: 'user', content: 'What does a turnpike do?' },
  ],
  max_tokens: 200,
} as const

export const CHAT_COMPLETION = {
  id: `chatcmpl-${REQUEST_ID}`,
  object: 'chat.completion',
  created: 1_767_225_600,
  model: MODEL,
  system_fingerprint: 'fp_turnpike',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'It lets you through once you have paid.', refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: {
    prompt_tokens: 21,
    completion_tokens: 9,
    total_tokens: 30,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
    cost: 0.000039,
  },
} as const

const chunk = (choices: string, usage: string) =>
  `data: {"id":"chatcmpl-${REQUEST_ID}","object":"chat.completion.chunk","created":1767225600,"model":"${MODEL}",` +
  `"system_fingerprint":"fp_turnpike","choices":${choices},"usage":${usage}}\n\n`

// With `stream_options.include_usage`, as bytes on the wire.
export const CHAT_STREAM =
  chunk('[{"index":0,"delta":{"role":"assistant","content":"It lets"},"finish_reason":null}]', 'null') +
  chunk('[{"index":0,"delta":{"content":" you through."},"finish_reason":null}]', 'null') +
  chunk('[{"index":0,"delta":{},"finish_reason":"stop"}]', 'null') +
  chunk('[]', JSON.stringify(CHAT_COMPLETION.usage)) +
  'data: [DONE]\n\n'

// Bodies of the admin API, by operation.
export const ADMIN_BODIES: Readonly<Record<string, unknown>> = {
  createKey: { name: 'ci', scopes: ['chat.completions', 'models.read'], rpm_limit: 300, daily_limit: 10_000 },
  updateKey: { rpm_limit: 600, ip_allowlist: ['203.0.113.0/24'] },
  rotateKey: {},
  endGrace: { last4: 'Ab3d' },
  resetDay: {},
  revokeKey: { abort_streams: true },
  createAccount: { name: 'research' },
  updateAccount: { status: 'suspended' },
  addCredits: { amount: '10.00', note: 'invoice 1017' },
  createProvider: { id: 'acme', kind: 'openai', base_url: 'https://api.acme.example/v1', api_key: 'sk-example' },
  updateProvider: { timeouts: { first_byte_stream: 30 } },
  addCredential: { api_key: 'sk-example' },
  createModel: {
    id: 'acme/m1',
    context_length: 128_000,
    max_output_tokens: 16_384,
    pricing: { prompt: '0.0000025', completion: '0.00001' },
    targets: [{ provider: 'acme', model: 'm1' }],
  },
  updateModel: { pricing: { prompt: '0.000002', completion: '0.000008' } },
  importModels: { list: 'openai', provider: 'openai', match: 'gpt-4*', markup: '1.2', dry_run: true },
  applyCatalog: { dry_run: true },
  openSession: { token: 'tpk_op_…' },
  createOperator: { name: 'alice', role: 'viewer' },
  updateOperator: { role: 'admin' },
  rotateOperator: {},
}
