// Sends a streaming chat with a client's key instead of the operator's session, as any client would.
import { ApiError, errorOf } from './call.ts'

export type Message = { readonly role: 'user' | 'assistant' | 'system'; readonly content: string }

export type ChatRequest = {
  readonly key: string
  readonly model: string
  readonly messages: readonly Message[]
  readonly signal: AbortSignal
  // Called with each piece of the response.
  readonly onText: (text: string) => void
  readonly onRequestId: (id: string) => void
}

// Resolves when the response is complete; throws on a failure at the start or in the middle of the stream.
export async function streamChat({ key, model, messages, signal, onText, onRequestId }: ChatRequest): Promise<void> {
  const response = await fetch('/v1/chat/completions', {
    method: 'POST',
    // The endpoint does not read cookies.
    credentials: 'omit',
    signal,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages, stream: true }),
  })
  const id = response.headers.get('x-request-id')
  if (id !== null) onRequestId(id)
  if (!response.ok || response.body === null) throw await errorOf(response)
  for await (const data of eventsOf(response.body)) {
    if (data === '[DONE]') return
    const chunk = JSON.parse(data) as Chunk
    if (chunk.error !== undefined) {
      throw new ApiError(502, { message: chunk.error.message, code: chunk.error.code, param: null, requestId: id })
    }
    const delta = chunk.choices?.[0]?.delta
    const text = delta?.content ?? delta?.refusal ?? ''
    if (text !== '') onText(text)
  }
}

type Chunk = {
  readonly error?: { readonly message: string; readonly code: string }
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly refusal?: string | null }
  }[]
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
