// The OpenAI wire, our fast path: one serialisation of the request, one parse of each frame. Serves every provider that
// speaks it; what differs between them is data on the provider.
import type { Provider } from '../domain/catalog.ts'
import { Failure } from '../domain/failure.ts'
import type { AnswerListener, Chunk, ChunkChoice } from '../domain/handoff.ts'
import type { Clock } from '../lib/clock.ts'
import { sseReader } from '../lib/sse.ts'
import type { Adapter, Errand } from './adapter.ts'
import { type OutwardFlow, type OutwardHandler, outward } from './call.ts'
import { readChunk, readWhole } from './openai-answer.ts'
import { failureOfStatus, type Unsaid, type UpstreamError } from './openai-error.ts'
import { toolCallNumbers } from './openai-tool-calls.ts'

export type WireBounds = {
  readonly answerBytesMax: number
  readonly sseEventBytesMax: number
  readonly endAfterDoneMs: number
  readonly connectionsPerProviderMax: number
}
type ReaderSetup = WireBounds & { readonly unsaid: Unsaid }

const ERROR_BYTES_MAX = 65_536

export function openaiAdapter(
  provider: Provider,
  apiKey: string | undefined,
  bounds: WireBounds,
  clock: Clock,
): Adapter {
  const url = new URL(provider.baseUrl)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/chat/completions`
  const wire = outward({
    url,
    headers: {
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'turnpike',
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    timeouts: provider.timeouts,
    connectionsMax: bounds.connectionsPerProviderMax,
    clock,
  })
  const setup = { ...bounds, unsaid: [url.host, ...(apiKey === undefined ? [] : [apiKey])] }

  return {
    provider,
    call(errand, listener) {
      const { stream } = errand.chat
      const state = { upstreamId: null as string | null }
      let flow: OutwardFlow | undefined
      const abort = () => flow?.abort()
      const reader = stream ? streamReader(listener, setup, state, abort) : jsonReader(listener, setup, state, abort)
      const request = {
        requestId: errand.requestId,
        body: requestBody(errand, provider),
        firstByteMs: stream ? provider.timeouts.firstByteStreamMs : provider.timeouts.firstByteJsonMs,
        totalMs: Math.min(provider.timeouts.totalMs, errand.totalMsMax),
        onSent: errand.onSent,
      }
      flow = wire.send(request, byStatus(reader, listener, abort, stream, setup.unsaid))
      return { pause: flow.pause, resume: flow.resume, abort: flow.abort, upstreamId: () => state.upstreamId }
    },
    close: wire.close,
  }
}

function requestBody(errand: Errand, provider: Provider): string {
  const { chat } = errand
  const fields: Record<string, unknown> = { model: errand.model, ...chat.forwarded, ...errand.identifiers }
  for (const name of provider.passthrough) {
    if (Object.hasOwn(chat.extras, name)) fields[name] = withinCap(name, chat.extras[name], errand.outputBound)
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

// A budget for thinking is output too: one above the cap would be produced and never paid for.
function withinCap(name: string, value: unknown, cap: number): unknown {
  if (typeof value === 'number') return BUDGETS.has(name) ? Math.min(value, cap) : value
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([inner, part]) => [inner, withinCap(inner, part, cap)]))
}

const BUDGETS = new Set(['budget_tokens', 'max_tokens', 'thinking_budget', 'reasoning_budget', 'thinkingBudget'])

type Reader = Pick<OutwardHandler, 'data' | 'end'>

// Looks at the status and type first: an answer goes to its reader, anything else is collected for its error message.
function byStatus(
  reader: Reader,
  listener: AnswerListener,
  abort: () => void,
  stream: boolean,
  unsaid: Unsaid,
): OutwardHandler {
  let refused: Omit<UpstreamError, 'body'> | undefined
  const pieces: Buffer[] = []
  let bytes = 0
  let failed = false
  const fail = (failure: Failure) => {
    failed = true
    abort()
    listener.end(failure)
  }
  return {
    start(status, headers) {
      const type = headers.get('content-type') ?? ''
      const encoding = headers.get('content-encoding')
      if (status !== 200) {
        refused = { status, retryAfter: headers.get('retry-after'), date: headers.get('date') }
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
      bytes += chunk.length
      if (bytes <= ERROR_BYTES_MAX) pieces.push(Buffer.from(chunk))
      else fail(failureOfStatus({ ...refused, body: Buffer.concat(pieces) }, unsaid))
    },
    end(failure) {
      if (failed) return
      if (refused === undefined) return reader.end(failure)
      listener.end(failureOfStatus({ ...refused, body: Buffer.concat(pieces) }, unsaid))
    },
  }
}

function streamReader(
  listener: AnswerListener,
  setup: ReaderSetup,
  state: { upstreamId: string | null },
  abort: () => void,
): Reader {
  let gathered: Chunk[] = []
  const speaking = new Set<number>()
  const finished = new Set<number>()
  const numberCalls = toolCallNumbers()
  let done = false
  let over = false
  let lingering: NodeJS.Timeout | undefined

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
  const note = ({ index, finish_reason }: ChunkChoice) => {
    if (finish_reason !== null) finished.add(index)
    if (finished.has(index)) speaking.delete(index)
    else speaking.add(index)
  }
  const sse = sseReader(
    data => {
      // An empty event is what some send to keep the connection alive.
      if (done || data === '') return
      if (data === '[DONE]') {
        done = true
        return
      }
      const frame = readChunk(data, setup.unsaid)
      state.upstreamId ??= frame.id
      for (const choice of frame.chunk.choices) {
        note(choice)
        numberCalls(choice)
      }
      gathered.push(frame.chunk)
    },
    { eventBytesMax: setup.sseEventBytesMax },
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
      // Whoever goes on after the end, or after we gave up, is not listened to.
      if (over) return abort()
      guarded(() => sse.push(chunk))
      if (!done) return
      endDone()
      lingering = setTimeout(abort, setup.endAfterDoneMs).unref()
    },
    end(failure) {
      clearTimeout(lingering)
      if (over) return
      guarded(() => sse.end())
      if (done) return endDone()
      // Every choice has said that it finished: what is missing is at most a count.
      if (finished.size > 0 && speaking.size === 0) return end(undefined)
      end(failure ?? new Failure('broke', 'the stream ended with neither finish_reason nor [DONE]'))
    },
  }

  function endDone(): void {
    const empty = finished.size === 0 && speaking.size === 0
    end(empty ? new Failure('nonsense', 'the stream has no choices', { status: 200 }) : undefined)
  }
}

function jsonReader(
  listener: AnswerListener,
  setup: ReaderSetup,
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
      pieces.push(Buffer.from(chunk))
      if (bytes <= setup.answerBytesMax) return
      abort()
      end(new Failure('oversize', `the answer is over ${setup.answerBytesMax} bytes`))
    },
    end(failure) {
      if (over) return
      if (failure !== undefined) return end(failure)
      try {
        const answer = readWhole(String(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)), setup.unsaid)
        state.upstreamId = answer.id
        listener.whole(answer.whole)
        end(undefined)
      } catch (error) {
        end(error instanceof Failure ? error : new Failure('nonsense', 'the answer is not JSON', { status: 200 }))
      }
    },
  }
}
