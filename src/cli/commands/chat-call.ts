// Sends one chat request and reads the streamed response.
import { sseReader } from '../../lib/sse.ts'
import { Failed } from '../command.ts'
import { callWithKey, type Json } from '../http-client.ts'

export type Turn = { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }

export type ChatOptions = {
  readonly key: string
  readonly model: string
  readonly maxTokens: number | undefined
  onText(text: string): void
}

export type Reply = {
  readonly model: string
  readonly content: string
  readonly finish_reason: string | null
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number }
  // Credits, exactly as the gateway wrote them.
  readonly cost: string
  readonly provider: string | null
  readonly request_id: string
}

const EVENT_BYTES_MAX = 4 * 1024 * 1024

type Chunk = {
  readonly model?: string
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null }
    readonly finish_reason?: string | null
  }[]
  readonly usage?: Reply['usage'] | null
  readonly error?: { readonly message?: string }
}

export async function sendChat(
  messages: readonly Turn[],
  { key, model, maxTokens, onText }: ChatOptions,
): Promise<Reply> {
  let reply = { ...NOTHING, model }
  const reader = sseReader(
    data => {
      if (data === '[DONE]') return
      const chunk = JSON.parse(data) as Chunk
      if (chunk.error !== undefined) throw new Failed(chunk.error.message ?? 'the response was interrupted')
      const choice = chunk.choices?.[0]
      const text = choice?.delta?.content ?? ''
      if (text !== '') onText(text)
      reply = {
        ...reply,
        model: chunk.model ?? reply.model,
        content: reply.content + text,
        finish_reason: choice?.finish_reason ?? reply.finish_reason,
        ...(chunk.usage ? { usage: chunk.usage, cost: /"cost":([\d.]+)/.exec(data)?.[1] ?? reply.cost } : {}),
      }
    },
    { eventBytesMax: EVENT_BYTES_MAX },
  )

  const body = { model, messages, stream: true, stream_options: { include_usage: true }, max_tokens: maxTokens }
  for await (const piece of callWithKey('/chat/completions', key, body)) {
    if (piece instanceof Headers) reply = { ...reply, ...fromHeaders(piece) }
    else reader.push(piece)
  }
  reader.end()
  return reply
}

const NOTHING: Reply = {
  model: '',
  content: '',
  finish_reason: null,
  usage: { prompt_tokens: 0, completion_tokens: 0 },
  cost: '0',
  provider: null,
  request_id: '',
}

// The prefix of the gateway's headers is configurable.
function fromHeaders(headers: Headers): Pick<Reply, 'provider' | 'request_id'> {
  const name = [...headers.keys()].find(each => each.endsWith('-provider')) ?? ''
  return { provider: name === '' ? null : headers.get(name), request_id: headers.get('x-request-id') ?? '' }
}

export async function firstModel(key: string): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of callWithKey('/models', key)) if (!(piece instanceof Headers)) pieces.push(piece)
  const { data } = JSON.parse(Buffer.concat(pieces).toString('utf8')) as { readonly data: readonly Json[] }
  const first = data[0]?.id
  if (typeof first !== 'string') throw new Failed('no active model')
  return first
}
