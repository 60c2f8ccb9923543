// The same gateway called in each dialect: passed through to an upstream that speaks it, and translated for one that speaks chat
// completions. Every gateway has its own store; chat is what the others are compared with.

import type { Dialect } from './answer-reader.ts'
import type { Contestant, Place, Running } from './contestant.ts'
import { startTurnpike } from './turnpike.ts'

export type DialectContestant = Contestant & {
  readonly dialect: Dialect
  // Undefined for chat itself; how much of its CPU a request may take.
  readonly ratioMax: number | undefined
}

const PASSED_THROUGH_MAX = 1.3
const TRANSLATED_MAX = 1.8

export const CHAT = 'chat'

export const DIALECTS: readonly DialectContestant[] = [
  contestant(CHAT, 'chat', 'kind: openai', undefined),
  contestant('messages, passed through', 'messages', 'kind: anthropic', PASSED_THROUGH_MAX),
  contestant('messages, translated', 'messages', 'kind: openai', TRANSLATED_MAX),
  contestant('responses, passed through', 'responses', 'kind: openai, api: responses', PASSED_THROUGH_MAX),
  contestant('responses, translated', 'responses', 'kind: openai, api: chat', TRANSLATED_MAX),
]

// There are no streams of these.
export const EMBEDDINGS: readonly DialectContestant[] = [
  contestant(CHAT, 'chat', 'kind: openai', undefined),
  contestant('embeddings', 'embeddings', 'kind: openai', PASSED_THROUGH_MAX),
]

const PATHS: Readonly<Record<Dialect, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
}

function contestant(name: string, dialect: Dialect, provider: string, ratioMax: number | undefined): DialectContestant {
  return { name, dialect, ratioMax, start: place => start(place, dialect, provider) }
}

async function start(place: Place, dialect: Dialect, provider: string): Promise<Running> {
  const config = yaml(place.upstreamPort, dialect, provider)
  const running = await startTurnpike({ ...place, config })
  const path = PATHS[dialect]
  return { ...running, paths: { json: path, stream: path }, dialect }
}

function yaml(upstreamPort: number, dialect: Dialect, provider: string): string {
  const model =
    dialect === 'embeddings'
      ? 'type: embedding, dimensions: 256, pricing: { prompt: "0.00000002" }'
      : 'max_output_tokens: 4096, pricing: { prompt: "0.00000015", completion: "0.0000006" }'
  return `providers:
  - { id: mock, ${provider}, base_url: "http://127.0.0.1:${upstreamPort}/v1", api_key: "bench" }
models:
  - { id: bench, context_length: 128000, ${model}, targets: [{ provider: mock, model: bench }] }
`
}
