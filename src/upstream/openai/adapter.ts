// OpenAI's protocol, our fast path: one serialisation of the request, one parse of each frame. Serves every provider that speaks
// it; their differences are data on the provider.
import type { Credential, Provider } from '../../domain/catalog.ts'
import type { Failure } from '../../domain/failure.ts'
import type { AnswerListener, UpstreamStream } from '../../domain/handoff.ts'
import type { Clock } from '../../lib/clock.ts'
import { memoize } from '../../lib/memoize.ts'
import { withoutTrailing } from '../../lib/text.ts'
import type { Adapter, UpstreamRequest } from '../adapter.ts'
import type { ConnectionLimit } from '../connection-limit.ts'
import {
  type HttpClient,
  type HttpClientRequest,
  headerLines,
  type ResponseHandler,
  type ResponseStream,
  withTrace,
} from '../http-client.ts'
import type { LargeAnswers } from '../large-answers.ts'
import { type Network, openClient } from '../open-client.ts'
import { type ErrorBody, errorBody, unlikeAnswer } from '../response-head.ts'
import type { AnswerMemory } from '../response-memory.ts'
import { embedder, embeddingsPath } from './embed.ts'
import { failureOfStatus, type Unsaid } from './error.ts'
import { type JsonReaderBounds, jsonReader, type WholeSetup } from './json-reader.ts'
import { type Reader, type ReaderBounds, streamReader } from './readers.ts'
import { requestWriter } from './request.ts'
import { apiFor } from './responses/api.ts'
import { responsesFrames } from './responses/events.ts'
import { responsesRequestWriter } from './responses/request.ts'
import { readResponse } from './responses/response.ts'

export type WireNeeds = {
  readonly clock: Clock
  readonly onBug: (error: unknown) => void
  // Where whole answers are buffered and, if large, read.
  readonly memory: AnswerMemory
  readonly large: LargeAnswers
  readonly limit: ConnectionLimit
  readonly network: Network
}
export type WireBounds = ReaderBounds &
  JsonReaderBounds & { readonly connectionsPerProviderMax: number; readonly packageAnswerBytesMax: number }

export function openaiAdapter(provider: Provider, bounds: WireBounds, needs: WireNeeds): Adapter {
  const url = new URL(provider.baseUrl)
  const path = pathOf(url, provider, provider.quirks.path)
  const responsesPath = pathOf(url, provider, provider.quirks.path.replace(/(\/chat\/completions)?$/, '/responses'))
  const requests = requestWriter(provider)
  const responses = responsesRequestWriter(provider)
  const headers = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'turnpike',
    ...provider.quirks.headers,
  }
  const connectionsMax = bounds.connectionsPerProviderMax
  const client = openClient(provider, { ...needs, url, headers, connectionsMax }, needs.network)
  const known = memoize((credential: Credential) => ({
    head: headerLines({ [provider.quirks.authHeader]: authorization(credential, provider) }),
    setup: { ...bounds, unsaid: [url.host, credential.secret] },
  }))
  const unknown = { head: '', setup: { ...bounds, unsaid: [url.host] } }
  const embedded = embedder(provider, {
    ...needs,
    path: pathOf(url, provider, embeddingsPath(provider.quirks.path)),
    bodyOf: requests.embeddingBody,
    setupFor,
    requestOf,
    whole,
  })

  return {
    provider,
    call(upstreamRequest, listener) {
      if (upstreamRequest.chat.embedding !== undefined) return embedded(upstreamRequest, listener)
      return upstreamRequest.chat.stream ? streamed(upstreamRequest, listener) : atOnce(upstreamRequest, listener)
    },
    ignored(chat, model) {
      const api = apiFor(provider, chat, model)
      return api === 'chat' || chat.embedding !== undefined
        ? requests.ignored(chat)
        : responses.ignored(chat, api === 'passthrough')
    },
    retire: client.retire,
    close: client.close,
  }

  function streamed(upstreamRequest: UpstreamRequest, listener: AnswerListener): UpstreamStream {
    const { head, setup } = setupFor(upstreamRequest)
    const state = { upstreamId: null as string | null }
    let stream: ResponseStream | undefined
    const abort = () => stream?.abort()
    const api = apiFor(provider, upstreamRequest.chat, upstreamRequest.model)
    const reader =
      api === 'chat'
        ? streamReader(listener, setup, state, abort)
        : streamReader(listener, repeating(setup), state, abort, responsesFrames(setup.unsaid, api === 'passthrough'))
    const request = requestOf(upstreamRequest, head, provider.timeouts.firstByteStreamMs)
    stream = client.send(request, byStatus(reader, listener, abort, EVENT_STREAM, setup.unsaid))
    return { pause: stream.pause, resume: stream.resume, abort: stream.abort, upstreamId: () => state.upstreamId }
  }

  function atOnce(upstreamRequest: UpstreamRequest, listener: AnswerListener): UpstreamStream {
    const { head, setup } = setupFor(upstreamRequest)
    const { chat, model } = upstreamRequest
    const api = apiFor(provider, chat, model)
    const bounded = chat.dialect === 'chat' && api === 'chat' ? setup : onEventLoop(setup)
    const read = (text: string, unsaid: Unsaid) => readResponse(text, unsaid, api === 'passthrough')
    const readerSetup = api === 'chat' ? bounded : { ...bounded, read }
    const request = requestOf(upstreamRequest, head, provider.timeouts.firstByteJsonMs)
    return whole(request, listener, { readerSetup, memory: needs.memory })
  }

  function whole(request: HttpClientRequest, listener: AnswerListener, setup: WholeSetup): UpstreamStream {
    return sendWhole(request, listener, setup, { client, large: needs.large })
  }

  function messageOf(upstreamRequest: UpstreamRequest): Pick<HttpClientRequest, 'path' | 'body'> {
    const { chat, model } = upstreamRequest
    const api = apiFor(provider, chat, model)
    return api === 'chat'
      ? { path: path(model), body: requests.body(upstreamRequest) }
      : { path: responsesPath(model), body: responses.body(upstreamRequest, api === 'passthrough') }
  }

  function setupFor({ credential }: UpstreamRequest) {
    return credential === undefined ? unknown : known(credential)
  }

  function requestOf(
    upstreamRequest: UpstreamRequest,
    head: string,
    firstByteMs: number,
    own?: Pick<HttpClientRequest, 'path' | 'body'>,
  ): HttpClientRequest {
    const { path, body } = own ?? messageOf(upstreamRequest)
    return {
      requestId: upstreamRequest.requestId,
      accountId: upstreamRequest.accountId,
      head: withTrace(head, upstreamRequest),
      path,
      body,
      firstByteMs,
      totalMs: Math.min(provider.timeouts.totalMs, upstreamRequest.totalMsMax),
      silence: upstreamRequest.silence,
      onSent: upstreamRequest.onSent,
    }
  }
}

// A call whose answer is read as a whole.
export function sendWhole(
  request: HttpClientRequest,
  listener: AnswerListener,
  { readerSetup, memory }: WholeSetup,
  { client, large }: { readonly client: HttpClient; readonly large: LargeAnswers },
): UpstreamStream {
  const state = { upstreamId: null as string | null }
  let stream: ResponseStream | undefined
  const abort = () => stream?.abort()
  const reader = jsonReader(listener, readerSetup, state, {
    accountId: request.accountId,
    memory,
    large,
    pause: () => stream?.pause(),
    resume: () => stream?.resume(),
    abort,
  })
  stream = client.send(request, byStatus(reader, listener, abort, undefined, readerSetup.unsaid))
  const { pause, resume } = stream
  return {
    pause,
    resume() {
      if (!reader.isWaiting()) resume()
    },
    abort() {
      abort()
      reader.abandon()
    },
    reservation: reader.reservation,
    upstreamId: () => state.upstreamId,
  }
}

// An answer that is translated to another dialect must be read as a whole.
export function onEventLoop<Setup extends WireBounds>(setup: Setup): Setup {
  const { packageAnswerBytesMax: bytesMax } = setup
  return { ...setup, answerBytesMax: bytesMax, answerInlineBytesMax: bytesMax }
}

// The first and the last event of a Responses stream repeat the request and the answer.
function repeating<Setup extends WireBounds>(setup: Setup): Setup {
  return { ...setup, sseEventBytesMax: Math.max(setup.sseEventBytesMax, setup.packageAnswerBytesMax) }
}

// By the provider's name of the model; most do not have it in the path.
function pathOf(url: URL, { quirks }: Provider, own: string): (model: string) => string {
  const base = withoutTrailing(url.pathname, '/')
  const query = new URLSearchParams(quirks.query).toString()
  const path = `${base}${own}${query === '' ? '' : `?${query}`}`
  if (!own.includes('{model}')) return () => path
  return model => path.replaceAll('{model}', () => encodeURIComponent(model))
}

function authorization({ secret }: Credential, { quirks }: Provider): string {
  return quirks.authHeader === 'authorization' ? `Bearer ${secret}` : secret
}

// Checks status and type first: an answer goes to its reader, anything else is collected for its error message.
export function byStatus(
  reader: Reader,
  listener: AnswerListener,
  abort: () => void,
  stream: RegExp | undefined,
  unsaid: Unsaid,
): ResponseHandler {
  let refused: ErrorBody | undefined
  let failed = false
  const fail = (failure: Failure) => {
    failed = true
    abort()
    listener.end(failure)
  }
  return {
    start(status, headers) {
      refused = errorBody(status, headers)
      if (refused !== undefined) return
      const failure = unlikeAnswer(headers, stream)
      if (failure !== undefined) return fail(failure)
      const length = headers.get('content-length')
      reader.start?.(length === undefined ? undefined : Number(length))
    },
    data(chunk) {
      if (failed) return
      if (refused === undefined) return reader.data(chunk)
      if (!refused.take(chunk)) fail(failureOfStatus(refused.whole(), unsaid))
    },
    end(failure) {
      if (failed) return
      if (refused === undefined) return reader.end(failure)
      listener.end(failureOfStatus(refused.whole(), unsaid))
    },
  }
}

export const EVENT_STREAM = /^text\/event-stream/i
