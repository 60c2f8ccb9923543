// The OpenAI wire, our fast path: one serialisation of the request, one parse of each frame. Serves every provider that
// speaks it; what differs between them is data on the provider.
import type { Provider } from '../domain/catalog.ts'
import { Failure } from '../domain/failure.ts'
import type { AnswerListener, Chunk, Flow } from '../domain/handoff.ts'
import { sseReader } from '../lib/sse.ts'
import type { Adapter, Errand } from './adapter.ts'
import { type OutwardFlow, type OutwardHandler, outward } from './call.ts'
import { readChunk, readWhole } from './openai-answer.ts'
import { failureOfStatus } from './openai-error.ts'

export type WireBounds = { readonly answerBytesMax: number; readonly sseEventBytesMax: number }

const ERROR_BYTES_MAX = 65_536

export function openaiAdapter(provider: Provider, apiKey: string | undefined, bounds: WireBounds): Adapter {
  const base = new URL(provider.baseUrl)
  const path = base.pathname.replace(/\/+$/, '') + '/chat/completions' + base.search
  const wire = outward(base.origin, provider.timeouts)
  const headers = ['content-type', 'application/json', 'accept-encoding', 'identity', 'user-agent', 'turnpike']
  if (apiKey !== undefined) headers.push('authorization', `Bearer ${apiKey}`)

  return {
    provider,
    call(errand, listener) {
      const { stream } = errand.chat
      const state = { upstreamId: null as string | null }
      let flow: OutwardFlow | undefined
      const abort = () => flow?.abort()
      const reader = stream ? streamReader(listener, bounds, state, abort) : jsonReader(listener, bounds, state, abort)
      const request = {
        path,
        headers: [...headers, 'x-request-id', errand.requestId],
        body: requestBody(errand, provider),
        firstByteMs: stream ? provider.timeouts.firstByteStreamMs : provider.timeouts.firstByteJsonMs,
      }
      flow = wire.send(request, byStatus(reader, listener, abort, stream))
      return flowWithId(flow, state)
    },
    close: wire.close,
  }
}

function flowWithId(flow: OutwardFlow, state: { readonly upstreamId: string | null }): Flow {
  return {
    pause: flow.pause,
    resume: flow.resume,
    abort: flow.abort,
    get upstreamId() {
      return state.upstreamId
    },
  }
}

export function requestBody(errand: Errand, provider: Provider): string {
  const { chat } = errand
  const fields: Record<string, unknown> = { model: errand.model, ...chat.forwarded, ...errand.identifiers }
  for (const name of provider.passthrough) {
    if (Object.hasOwn(chat.extras, name)) fields[name] = chat.extras[name]
  }
  if (errand.outputTokens !== null) fields[provider.maxTokensField] = errand.outputTokens
  if (chat.stream) {
    fields.stream = true
    // Usage is always asked for, whatever the caller asked.
    fields.stream_options = { include_usage: true }
  }
  // The messages were serialised when they were measured.
  return `${JSON.stringify(fields).slice(0, -1)},"messages":${chat.messagesJson}}`
}

type Reader = Pick<OutwardHandler, 'data' | 'end'>

// Looks at the status and type first: an answer goes to its reader, anything else is collected for its error message.
function byStatus(reader: Reader, listener: AnswerListener, abort: () => void, stream: boolean): OutwardHandler {
  let refused: { status: number; retryAfter: string | undefined; pieces: Buffer[]; bytes: number } | undefined
  let failed = false
  const fail = (failure: Failure) => {
    failed = true
    abort()
    listener.end(failure)
  }
  return {
    start(status, headers) {
      const type = String(headers['content-type'] ?? '')
      const encoding = headers['content-encoding']
      if (status !== 200) {
        refused = { status, retryAfter: one(headers['retry-after']), pieces: [], bytes: 0 }
      } else if (encoding !== undefined && encoding !== 'identity') {
        fail(new Failure('nonsense', 'the answer is encoded although identity was asked for', { status }))
      } else if (stream && !type.startsWith('text/event-stream')) {
        // Some answer a stream request with a JSON error and status 200.
        fail(new Failure('nonsense', 'a stream was asked for, something else came', { status }))
      }
    },
    data(chunk) {
      if (failed) return
      if (refused === undefined) return reader.data(chunk)
      refused.bytes += chunk.length
      if (refused.bytes <= ERROR_BYTES_MAX) refused.pieces.push(chunk)
      else fail(failureOfStatus(refused.status, Buffer.concat(refused.pieces), refused.retryAfter))
    },
    end(failure) {
      if (failed) return
      if (refused === undefined) return reader.end(failure)
      listener.end(failureOfStatus(refused.status, Buffer.concat(refused.pieces), refused.retryAfter))
    },
  }
}

function streamReader(
  listener: AnswerListener,
  bounds: WireBounds,
  state: { upstreamId: string | null },
  abort: () => void,
): Reader {
  let gathered: Chunk[] = []
  let finished = false
  let done = false
  let over = false

  const end = (failure: Failure | undefined) => {
    if (over) return
    over = true
    listener.end(failure)
  }
  const flush = () => {
    if (gathered.length === 0) return
    const batch = gathered
    gathered = []
    listener.chunks(batch)
  }
  const sse = sseReader(
    data => {
      if (done) return
      if (data === '[DONE]') {
        done = true
        return
      }
      const frame = readChunk(data)
      state.upstreamId ??= frame.id
      finished ||= frame.chunk.choices.some(choice => choice.finish_reason !== null)
      gathered.push(frame.chunk)
    },
    { eventBytesMax: bounds.sseEventBytesMax },
  )
  // What was read before the trouble is still delivered.
  const guarded = (work: () => void) => {
    try {
      work()
      flush()
    } catch (error) {
      flush()
      abort()
      end(error instanceof Failure ? error : new Failure('oversize', (error as Error).message))
    }
  }

  return {
    data(chunk) {
      if (over) return
      guarded(() => sse.push(chunk))
      if (done) end(undefined)
    },
    end(failure) {
      if (over) return
      guarded(() => sse.end())
      if (done || (failure === undefined && finished)) end(undefined)
      else end(failure ?? new Failure('broke', 'the stream ended with neither finish_reason nor [DONE]'))
    },
  }
}

function jsonReader(
  listener: AnswerListener,
  bounds: WireBounds,
  state: { upstreamId: string | null },
  abort: () => void,
): Reader {
  const pieces: Buffer[] = []
  let bytes = 0
  let over = false
  const end = (failure: Failure | undefined) => {
    if (over) return
    over = true
    listener.end(failure)
  }
  return {
    data(chunk) {
      if (over) return
      bytes += chunk.length
      pieces.push(chunk)
      if (bytes <= bounds.answerBytesMax) return
      abort()
      end(new Failure('oversize', `the answer is over ${bounds.answerBytesMax} bytes`))
    },
    end(failure) {
      if (over) return
      if (failure !== undefined) return end(failure)
      try {
        const answer = readWhole(pieces.length === 1 ? String(pieces[0]) : Buffer.concat(pieces).toString())
        state.upstreamId = answer.id
        listener.whole(answer.whole)
        end(undefined)
      } catch (error) {
        end(error instanceof Failure ? error : new Failure('nonsense', 'the answer is not JSON', { status: 200 }))
      }
    },
  }
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
