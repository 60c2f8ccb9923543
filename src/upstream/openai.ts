// The OpenAI wire, our fast path: one serialisation of the request, one parse of each frame. Serves every provider that
// speaks it; what differs between them is data on the provider.
import type { Credential, Provider } from '../domain/catalog.ts'
import type { Failure } from '../domain/failure.ts'
import type { AnswerListener } from '../domain/handoff.ts'
import type { Clock } from '../lib/clock.ts'
import { remembered } from '../lib/remembered.ts'
import { withoutTrailing } from '../lib/trailing.ts'
import type { Adapter } from './adapter.ts'
import { type ErrorBody, errorBody, unlikeAnswer } from './answer-head.ts'
import { type OutwardFlow, outward } from './call.ts'
import { headerLines } from './call-head.ts'
import type { OutwardHandler } from './call-line.ts'
import { failureOfStatus, type Unsaid } from './openai-error.ts'
import { jsonReader, type Reader, type ReaderBounds, streamReader } from './openai-readers.ts'
import { requestWriter } from './openai-request.ts'

export type WireNeeds = { readonly clock: Clock; readonly onBug: (error: unknown) => void }
export type WireBounds = ReaderBounds & { readonly connectionsPerProviderMax: number }

export function openaiAdapter(provider: Provider, bounds: WireBounds, needs: WireNeeds): Adapter {
  const url = new URL(provider.baseUrl)
  const path = pathOf(url, provider)
  const requests = requestWriter(provider)
  const wire = outward({
    url,
    headers: {
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'turnpike',
      ...provider.quirks.headers,
    },
    publicOnly: provider.publicOnly,
    timeouts: provider.timeouts,
    connectionsMax: bounds.connectionsPerProviderMax,
    clock: needs.clock,
    onBug: needs.onBug,
  })
  const known = remembered((credential: Credential) => ({
    head: headerLines({ [provider.quirks.authHeader]: authorization(credential, provider) }),
    setup: { ...bounds, unsaid: [url.host, credential.secret] },
  }))
  const unknown = { head: '', setup: { ...bounds, unsaid: [url.host] } }

  return {
    provider,
    call(errand, listener) {
      const { stream } = errand.chat
      const { head, setup } = errand.credential === undefined ? unknown : known(errand.credential)
      const state = { upstreamId: null as string | null }
      let flow: OutwardFlow | undefined
      const abort = () => flow?.abort()
      const reader = stream ? streamReader(listener, setup, state, abort) : jsonReader(listener, setup, state, abort)
      const request = {
        requestId: errand.requestId,
        path: path(errand.model),
        head,
        body: requests.body(errand),
        firstByteMs: stream ? provider.timeouts.firstByteStreamMs : provider.timeouts.firstByteJsonMs,
        totalMs: Math.min(provider.timeouts.totalMs, errand.totalMsMax),
        onSent: errand.onSent,
      }
      flow = wire.send(request, byStatus(reader, listener, abort, stream, setup.unsaid))
      return { pause: flow.pause, resume: flow.resume, abort: flow.abort, upstreamId: () => state.upstreamId }
    },
    ignored: requests.ignored,
    retire: wire.retire,
    close: wire.close,
  }
}

// By the provider's name of the model; most do not have it there.
function pathOf(url: URL, { quirks }: Provider): (model: string) => string {
  const base = withoutTrailing(url.pathname, '/')
  const query = new URLSearchParams(quirks.query).toString()
  const path = `${base}${quirks.path}${query === '' ? '' : `?${query}`}`
  if (!quirks.path.includes('{model}')) return () => path
  return model => path.replaceAll('{model}', () => encodeURIComponent(model))
}

function authorization({ secret }: Credential, { quirks }: Provider): string {
  return quirks.authHeader === 'authorization' ? `Bearer ${secret}` : secret
}

// Looks at the status and type first: an answer goes to its reader, anything else is collected for its error message.
function byStatus(
  reader: Reader,
  listener: AnswerListener,
  abort: () => void,
  stream: boolean,
  unsaid: Unsaid,
): OutwardHandler {
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
      const failure = unlikeAnswer(headers, stream ? EVENT_STREAM : undefined)
      if (failure !== undefined) fail(failure)
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

const EVENT_STREAM = /^text\/event-stream/i
