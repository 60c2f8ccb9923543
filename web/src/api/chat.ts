// Sends a streaming chat with a client's key instead of the operator's session, as any client would, in one of the dialects that
// clients speak.
import { ApiError, errorOf } from './call.ts'

export type Message = { readonly role: 'user' | 'assistant' | 'system'; readonly content: string }

export type Dialect = keyof typeof DIALECTS

// Empty or undefined: not sent, so that the model's default applies.
export type ChatOptions = {
  readonly system: string
  readonly temperature: number | undefined
  readonly maxTokens: number | undefined
  // The only provider that may serve it.
  readonly provider: string | undefined
}

export type ChatRequest = {
  readonly dialect: Dialect
  readonly key: string
  readonly model: string
  readonly messages: readonly Message[]
  readonly options: ChatOptions
  readonly signal: AbortSignal
  // Called with each piece of the response.
  readonly onText: (text: string) => void
  readonly onRequestId: (id: string) => void
  // What was sent and received so far, without the key.
  readonly onRaw: (raw: RawExchange) => void
}

export type RawExchange = {
  readonly path: string
  readonly request: string
  readonly status: number | null
  readonly response: string
}

type Speech = {
  readonly label: string
  readonly path: string
  body(model: string, messages: readonly Message[], options: ChatOptions): object
  // The text of an event; undefined at the end of the answer.
  read(event: Event): string | undefined
}

type Event = {
  readonly type?: string
  readonly error?: EventError
  readonly response?: { readonly error?: EventError | null }
  readonly delta?: string | { readonly text?: string }
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly refusal?: string | null }
  }[]
}

type EventError = { readonly message: string; readonly code: string }

// Messages requires a maximum; it is reserved while the answer is written.
const MESSAGES_MAX_TOKENS = 1024

export const DIALECTS = {
  chat: {
    label: 'Chat Completions',
    path: '/v1/chat/completions',
    body: (model, messages, { system, temperature, maxTokens, provider }) => ({
      model,
      messages: system === '' ? messages : [{ role: 'system', content: system }, ...messages],
      ...given({ temperature, max_tokens: maxTokens }),
      ...pinned(provider),
      stream: true,
    }),
    read({ choices }) {
      const delta = choices?.[0]?.delta
      return delta?.content ?? delta?.refusal ?? ''
    },
  },
  messages: {
    label: 'Messages',
    path: '/v1/messages',
    body: (model, messages, { system, temperature, maxTokens, provider }) => ({
      model,
      ...(system === '' ? {} : { system }),
      messages,
      max_tokens: maxTokens ?? MESSAGES_MAX_TOKENS,
      ...given({ temperature }),
      ...pinned(provider),
      stream: true,
    }),
    read: ({ type, delta }) =>
      type === 'message_stop' ? undefined : typeof delta === 'object' ? (delta.text ?? '') : '',
  },
  responses: {
    label: 'Responses',
    path: '/v1/responses',
    body: (model, input, { system, temperature, maxTokens, provider }) => ({
      model,
      ...(system === '' ? {} : { instructions: system }),
      input,
      ...given({ temperature, max_output_tokens: maxTokens }),
      ...pinned(provider),
      stream: true,
    }),
    read({ type, delta }) {
      if (type === 'response.completed' || type === 'response.incomplete') return undefined
      return type === 'response.output_text.delta' && typeof delta === 'string' ? delta : ''
    },
  },
} as const satisfies Record<string, Speech>

function given(fields: Readonly<Record<string, number | undefined>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function pinned(provider: string | undefined): object {
  return provider === undefined ? {} : { provider: { only: [provider], allow_fallbacks: false } }
}

// Of a response, as much is kept for display.
const RAW_CHARS_MAX = 100_000

// Resolves when the response is complete; throws on a failure at the start or in the middle of the stream.
export async function streamChat(request: ChatRequest): Promise<void> {
  const { dialect, key, model, messages, options, signal, onText, onRequestId, onRaw } = request
  const speech: Speech = DIALECTS[dialect]
  const body = speech.body(model, messages, options)
  const raw = { path: speech.path, request: JSON.stringify(body, null, 2) }
  onRaw({ ...raw, status: null, response: '' })
  const response = await fetch(speech.path, {
    method: 'POST',
    // The endpoint does not read cookies.
    credentials: 'omit',
    signal,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const { status } = response
  const id = response.headers.get('x-request-id')
  if (id !== null) onRequestId(id)
  if (!response.ok || response.body === null) {
    const text = await response.text()
    onRaw({ ...raw, status, response: text.slice(0, RAW_CHARS_MAX) })
    throw await errorOf(new Response(text, { status, headers: response.headers }))
  }
  let received = ''
  const seen = (line: string) => {
    if (received.length < RAW_CHARS_MAX) received += `${line}\n`
  }
  try {
    for await (const data of eventsOf(response.body, seen)) {
      if (data === '[DONE]') return
      const text = speech.read(readEvent(data, id))
      if (text === undefined) return
      if (text !== '') onText(text)
    }
  } finally {
    onRaw({ ...raw, status, response: received })
  }
}

function readEvent(data: string, requestId: string | null): Event {
  const event = JSON.parse(data) as Event
  const error = event.error ?? event.response?.error ?? undefined
  if (error === undefined) return event
  throw new ApiError(502, { message: error.message, code: error.code, param: null, requestId })
}

async function* eventsOf(body: ReadableStream<Uint8Array>, seen: (line: string) => void): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      seen(line.trimEnd())
      if (line.startsWith('data: ')) yield line.slice(6).trimEnd()
    }
  }
}
