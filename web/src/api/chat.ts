// Sends a streaming chat with a client's key instead of the operator's session, as any client would, in one of the dialects that
// clients speak.
import { ApiError, errorOf } from './call.ts'

export type Message = { readonly role: 'user' | 'assistant' | 'system'; readonly content: string }

export type Dialect = keyof typeof DIALECTS

export type ChatRequest = {
  readonly dialect: Dialect
  readonly key: string
  readonly model: string
  readonly messages: readonly Message[]
  readonly signal: AbortSignal
  // Called with each piece of the response.
  readonly onText: (text: string) => void
  readonly onRequestId: (id: string) => void
}

type Speech = {
  readonly label: string
  readonly path: string
  body(model: string, messages: readonly Message[]): object
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
    body: (model, messages) => ({ model, messages, stream: true }),
    read({ choices }) {
      const delta = choices?.[0]?.delta
      return delta?.content ?? delta?.refusal ?? ''
    },
  },
  messages: {
    label: 'Messages',
    path: '/v1/messages',
    body: (model, messages) => ({ model, messages, max_tokens: MESSAGES_MAX_TOKENS, stream: true }),
    read: ({ type, delta }) =>
      type === 'message_stop' ? undefined : typeof delta === 'object' ? (delta.text ?? '') : '',
  },
  responses: {
    label: 'Responses',
    path: '/v1/responses',
    body: (model, input) => ({ model, input, stream: true }),
    read({ type, delta }) {
      if (type === 'response.completed' || type === 'response.incomplete') return undefined
      return type === 'response.output_text.delta' && typeof delta === 'string' ? delta : ''
    },
  },
} as const satisfies Record<string, Speech>

// Resolves when the response is complete; throws on a failure at the start or in the middle of the stream.
export async function streamChat(request: ChatRequest): Promise<void> {
  const { dialect, key, model, messages, signal, onText, onRequestId } = request
  const speech: Speech = DIALECTS[dialect]
  const response = await fetch(speech.path, {
    method: 'POST',
    // The endpoint does not read cookies.
    credentials: 'omit',
    signal,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(speech.body(model, messages)),
  })
  const id = response.headers.get('x-request-id')
  if (id !== null) onRequestId(id)
  if (!response.ok || response.body === null) throw await errorOf(response)
  for await (const data of eventsOf(response.body)) {
    if (data === '[DONE]') return
    const event = JSON.parse(data) as Event
    const error = event.error ?? event.response?.error ?? undefined
    if (error !== undefined)
      throw new ApiError(502, { message: error.message, code: error.code, param: null, requestId: id })
    const text = speech.read(event)
    if (text === undefined) return
    if (text !== '') onText(text)
  }
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('data: ')) yield line.slice(6).trimEnd()
    }
  }
}
