// Reads an event stream the way a client does: a whole body for assertions, or event by event from an open request.
import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { ChatCompletionChunk } from 'openai/resources/chat/completions'
import { request } from './node-http.ts'

// Our additions to OpenAI's chunk.
export type StreamChunk = ChatCompletionChunk & {
  readonly error?: { readonly message: string; readonly type: string; readonly param: unknown; readonly code: string }
  readonly usage?: (ChatCompletionChunk['usage'] & { readonly cost?: number }) | null
}

export type SseBody = {
  readonly chunks: StreamChunk[]
  readonly done: boolean
  // The number of [DONE]s, and whether anything came after the first.
  readonly doneCount: number
  readonly afterDone: number
  readonly comments: string[]
  // Lines that are neither data nor comment, such as `id:` or `event:`. Ours never has any.
  readonly others: string[]
  readonly content: string
  readonly raw: string
}

export function parseSse(raw: string): SseBody {
  const reader = sseReader()
  const events = reader.push(raw)
  const data = events.filter(event => event.kind === 'data').map(event => event.text)
  const firstDone = data.indexOf('[DONE]')
  const chunks = data.filter(text => text !== '[DONE]').map(text => JSON.parse(text) as StreamChunk)
  return {
    chunks,
    done: firstDone >= 0,
    doneCount: data.filter(text => text === '[DONE]').length,
    afterDone: firstDone < 0 ? 0 : data.length - firstDone - 1,
    comments: events.filter(event => event.kind === 'comment').map(event => event.text),
    others: events.filter(event => event.kind === 'other').map(event => event.text),
    content: contentOf(chunks),
    raw,
  }
}

function contentOf(chunks: readonly StreamChunk[]): string {
  return chunks.map(chunk => chunk.choices?.[0]?.delta?.content ?? '').join('')
}

export type SseEvent = { readonly kind: 'data' | 'comment' | 'other'; readonly text: string }

// A separate reader by the standard's rules (any of three line ends, one leading space dropped, data lines joined), so
// that the gateway's parser is not tested against itself.
function sseReader(): { push(text: string): SseEvent[] } {
  let buffer = ''
  let data: string[] = []
  let endedInCr = false

  return {
    push(text) {
      buffer += endedInCr && text.startsWith('\n') ? text.slice(1) : text
      if (text !== '') endedInCr = text.endsWith('\r')
      const events: SseEvent[] = []
      for (;;) {
        const match = /\r\n|\n|\r/.exec(buffer)
        if (match === null) return events
        const line = buffer.slice(0, match.index)
        buffer = buffer.slice(match.index + match[0].length)
        if (line.startsWith(':')) events.push({ kind: 'comment', text: line.slice(1).trim() })
        else if (line === '' && data.length > 0) {
          events.push({ kind: 'data', text: data.join('\n') })
          data = []
        } else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
        else if (line !== '') events.push({ kind: 'other', text: line })
      }
    },
  }
}

export type SseStream = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  // Complete only once the stream has ended.
  readonly trailers: NodeJS.Dict<string>
  // The next event, or undefined at a clean end; a broken connection throws, after everything that had arrived.
  nextEvent(): Promise<SseEvent | undefined>
  // The next chunk, or undefined at [DONE] or the end.
  nextChunk(): Promise<StreamChunk | undefined>
  // Reads to the end; returns everything since the request began.
  rest(): Promise<SseBody>
  abort(): void
  [Symbol.dispose](): void
}

export type StreamRequest = {
  readonly body: unknown
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
}

export async function openStream(url: string, call: StreamRequest): Promise<SseStream> {
  const authorization = call.key === undefined ? {} : { authorization: `Bearer ${call.key}` }
  const headers = { 'content-type': 'application/json', ...authorization, ...call.headers }
  const outgoing = request(url, { method: 'POST', agent: false, headers })
  outgoing.end(JSON.stringify(call.body))
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  const inbox = readInto(incoming)
  outgoing.on('error', () => {})

  async function nextChunk(): Promise<StreamChunk | undefined> {
    const event = await inbox.next()
    if (event === undefined || (event.kind === 'data' && event.text === '[DONE]')) return undefined
    return event.kind === 'data' ? (JSON.parse(event.text) as StreamChunk) : nextChunk()
  }

  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    get trailers() {
      return incoming.trailers
    },
    nextEvent: inbox.next,
    nextChunk,
    async rest() {
      while ((await inbox.next()) !== undefined);
      return parseSse(inbox.raw())
    },
    abort: () => void outgoing.destroy(),
    [Symbol.dispose]: () => void outgoing.destroy(),
  }
}

// Not by `for await`, which drops buffered data when the connection breaks.
function readInto(incoming: IncomingMessage): { next(): Promise<SseEvent | undefined>; raw(): string } {
  const reader = sseReader()
  const events: SseEvent[] = []
  let raw = ''
  let failure: Error | undefined
  let ended = false
  let news = Promise.withResolvers<void>()
  const tell = () => {
    news.resolve()
    news = Promise.withResolvers()
  }
  incoming.setEncoding('utf8')
  incoming.on('data', (text: string) => {
    raw += text
    events.push(...reader.push(text))
    tell()
  })
  incoming.on('error', error => {
    failure = error
  })
  incoming.on('close', () => {
    ended = true
    tell()
  })

  return {
    raw: () => raw,
    async next() {
      while (events.length === 0 && !ended) await news.promise
      const event = events.shift()
      if (event === undefined && failure !== undefined) throw failure
      return event
    },
  }
}
