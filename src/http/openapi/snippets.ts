// Code samples of the OpenAPI document: the first call in three languages, and a curl command for every operation.
import type { CodeSample, Operation } from './document.ts'

// Samples and examples are written with these two. The document that is sent names this gateway and a model that it serves instead.
export const SERVER = 'http://127.0.0.1:8080'
export const MODEL = 'demo/echo'

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
