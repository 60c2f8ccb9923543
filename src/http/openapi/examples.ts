// Examples of requests and responses, which tests validate against their schemas, and code samples: the first call in three
// languages, and a curl command for every operation.
import type { CodeSample, Operation } from './document.ts'

const REQUEST_ID = '019a8f3e-5b7c-7d21-9c44-1f0a6be2d731'

// Samples and examples are written with these two. The document that is sent names this gateway and a model that it serves instead.
export const SERVER = 'http://127.0.0.1:8080'
export const MODEL = 'demo/echo'

export const CHAT_REQUEST = {
  model: MODEL,
  messages: [
    { role: 'system', content: 'Answer in one sentence.' },
    { role: 'user', content: 'What does a turnpike do?' },
  ],
  max_tokens: 200,
} as const

export const MESSAGES_REQUEST = {
  model: MODEL,
  max_tokens: 200,
  system: 'Answer in one sentence.',
  messages: [{ role: 'user', content: 'What does a turnpike do?' }],
} as const

export const MESSAGES_ANSWER = {
  id: `msg_${REQUEST_ID}`,
  type: 'message',
  role: 'assistant',
  model: MODEL,
  content: [{ type: 'text', text: 'It lets you through once you have paid.', citations: null }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: {
    input_tokens: 21,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 9,
    cost: 0.000039,
  },
} as const

// As bytes on the wire.
export const MESSAGES_STREAM = [
  `{"type":"message_start","message":{"id":"msg_${REQUEST_ID}","model":"${MODEL}","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}`,
  '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
  '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It lets you through once you have paid."}}',
  '{"type":"content_block_stop","index":0}',
  '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":21,"output_tokens":9,"cost":0.000039}}',
  '{"type":"message_stop"}',
]
  .map(data => `event: ${/"type":"(\w+)"/.exec(data)?.[1]}\ndata: ${data}\n\n`)
  .join('')

export const RESPONSES_REQUEST = {
  model: MODEL,
  instructions: 'Answer in one sentence.',
  input: 'What does a turnpike do?',
  max_output_tokens: 200,
} as const

export const RESPONSES_ANSWER = {
  id: `resp_${REQUEST_ID}`,
  object: 'response',
  created_at: 1_763_000_000,
  status: 'completed',
  error: null,
  incomplete_details: null,
  instructions: 'Answer in one sentence.',
  model: MODEL,
  output: [
    {
      id: `msg_${REQUEST_ID}_0`,
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [
        { type: 'output_text', text: 'It lets you through once you have paid.', annotations: [], logprobs: [] },
      ],
    },
  ],
  store: false,
  usage: {
    input_tokens: 21,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 9,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 30,
    cost: 0.000039,
  },
} as const

// As bytes on the wire, without the events between.
export const RESPONSES_STREAM = [
  `{"type":"response.created","sequence_number":0,"response":{"id":"resp_${REQUEST_ID}","object":"response","status":"in_progress","model":"${MODEL}","output":[],"usage":null}}`,
  `{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_${REQUEST_ID}_0","output_index":0,"content_index":0,"delta":"It lets you through","logprobs":[]}`,
  `{"type":"response.completed","sequence_number":9,"response":${JSON.stringify(RESPONSES_ANSWER)}}`,
]
  .map(data => `event: ${/"type":"([\w.]+)"/.exec(data)?.[1]}\ndata: ${data}\n\n`)
  .join('')

export const EMBEDDINGS_REQUEST = { model: 'demo/embed', input: ['A gate.', 'A toll.'] } as const

export const EMBEDDINGS = {
  object: 'list',
  data: [
    { object: 'embedding', index: 0, embedding: [0.25, -0.5, 0.125] },
    { object: 'embedding', index: 1, embedding: [0.5, 0.25, -0.125] },
  ],
  model: 'demo/embed',
  usage: { prompt_tokens: 6, total_tokens: 6, cost: 0.000006 },
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
  createPlaygroundKey: {},
  updateKey: { rpm_limit: 600, ip_allowlist: ['203.0.113.0/24'] },
  rotateKey: {},
  endGrace: { last4: 'Ab3d' },
  resetDay: {},
  revokeKey: { abort_streams: true },
  createAccount: { name: 'research' },
  updateAccount: { status: 'suspended' },
  addCredits: { amount: '10.00', note: 'invoice 1017' },
  createWebhook: {
    url: 'https://hooks.example.com/turnpike',
    events: ['balance.*', 'key.revoked'],
    description: 'billing alerts',
  },
  updateWebhook: { enabled: false },
  rotateWebhookSecret: {},
  testWebhook: { type: 'balance.low' },
  resendDelivery: {},
  createProvider: { id: 'acme', kind: 'openai', base_url: 'https://api.acme.example/v1', api_key: 'sk-example' },
  updateProvider: { timeouts: { first_byte_stream: 30 } },
  addCredential: { api_key: 'sk-example' },
  setTarget: { model: 'm1', disabled: true },
  testTarget: { model: 'm1' },
  createModel: {
    id: 'acme/m1',
    context_length: 128_000,
    max_output_tokens: 16_384,
    pricing: { prompt: '0.0000025', completion: '0.00001' },
    targets: [{ provider: 'acme', model: 'm1' }],
  },
  updateModel: { pricing: { prompt: '0.000002', completion: '0.000008' } },
  repriceModels: { percent: '10', dry_run: true },
  importModels: { list: 'openai', provider: 'openai', match: 'gpt-4*', markup: '1.2', dry_run: true },
  applyCatalog: { dry_run: true },
  openSession: { token: 'tpk_op_…' },
  createOperator: { name: 'alice', role: 'viewer' },
  updateOperator: { role: 'admin' },
  rotateOperator: {},
}

export const QUICK_START: readonly CodeSample[] = [
  {
    lang: 'Shell',
    label: 'curl',
    source: `curl ${SERVER}/v1/chat/completions \\
  -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model":"${MODEL}","messages":[{"role":"user","content":"Hello"}]}'

# The same as a stream; -N prints the chunks as they arrive.
curl -N ${SERVER}/v1/chat/completions \\
  -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model":"${MODEL}","stream":true,"stream_options":{"include_usage":true},
       "messages":[{"role":"user","content":"Hello"}]}'
`,
  },
  {
    lang: 'Python',
    label: 'Python',
    source: `import os
from openai import OpenAI  # pip install openai

client = OpenAI(base_url="${SERVER}/v1", api_key=os.environ["KEY"])

answer = client.chat.completions.create(
    model="${MODEL}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content, answer.usage.model_extra["cost"])

stream = client.chat.completions.create(
    model="${MODEL}",
    messages=[{"role": "user", "content": "Hello"}],
    stream=True,
    stream_options={"include_usage": True},
)
for chunk in stream:
    for choice in chunk.choices:
        print(choice.delta.content or "", end="", flush=True)
`,
  },
  {
    lang: 'TypeScript',
    label: 'TypeScript',
    // Text for the reader of the document; it is never run here.
    source: `import OpenAI from 'openai' // npm install openai

const client = new OpenAI({ baseURL: '${SERVER}/v1', apiKey: process.env.KEY })
const messages = [{ role: 'user' as const, content: 'Hello' }]

const { data, response } = await client.chat.completions
  .create({ model: '${MODEL}', messages })
  .withResponse()
console.log(data.choices[0]?.message.content, response.headers.get('x-request-id'))

const stream = await client.chat.completions.create({ model: '${MODEL}', messages, stream: true })
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')
`,
  },
]

const TOKENS: Readonly<Record<string, string>> = {
  apiKey: '$KEY',
  adminToken: '$TURNPIKE_ADMIN_TOKEN',
  metricsToken: '$TURNPIKE_METRICS_TOKEN',
}

export function curlOf(path: string, method: string, operation: Operation): string {
  const token = TOKENS[Object.keys(operation.security[0] ?? {})[0] ?? '']
  const parameters = operation.parameters ?? []
  const example = operation.requestBody?.content['application/json']?.example
  const headers = parameters.filter(parameter => parameter.in === 'header' && parameter.required)
  const query = parameters.filter(parameter => parameter.in === 'query' && parameter.required)
  const filled = parameters.reduce(
    (url, { name, example: value }) => url.replace(`{${name}}`, value ?? placeholder(name)),
    path,
  )
  const asked = query.map(({ name, schema }) => `${name}=${String(schema.enum?.[0] ?? placeholder(name))}`).join('&')
  const words = [
    `curl ${method === 'get' || (method === 'post' && example !== undefined) ? '' : `-X ${method.toUpperCase()} `}${quoted(SERVER + filled + (asked === '' ? '' : `?${asked}`))}`,
    ...(token === undefined ? [] : [`-H "Authorization: Bearer ${token}"`]),
    ...headers.map(({ name }) => `-H "${name}: ${placeholder(name)}"`),
    ...(example === undefined ? [] : ['-H "Content-Type: application/json"', `-d '${written(example)}'`]),
  ]
  return words.join(' \\\n  ')
}

function placeholder(name: string): string {
  return name === 'Idempotency-Key' ? 'invoice-1017' : `$${name.toUpperCase()}`
}

function quoted(url: string): string {
  return /[$?&]/.test(url) ? `"${url}"` : url
}

function written(body: unknown): string {
  const line = JSON.stringify(body)
  return line.length <= 90 ? line : JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')
}
