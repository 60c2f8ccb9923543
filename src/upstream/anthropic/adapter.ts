// Anthropic's Messages over our own sockets, for callers that speak it: request and answer pass through untranslated. Callers of
// other dialects are served by the adapter that translates.
import type { Provider } from '../../domain/catalog.ts'
import { isNative } from '../../domain/chat.ts'
import type { AnswerListener, UpstreamStream } from '../../domain/handoff.ts'
import { withoutTrailing } from '../../lib/text.ts'
import type { Adapter, UpstreamRequest } from '../adapter.ts'
import { type HttpClientRequest, headerLines, type ResponseStream, withTrace } from '../http-client.ts'
import { openClient } from '../open-client.ts'
import { byStatus, EVENT_STREAM, onEventLoop, sendWhole, type WireBounds, type WireNeeds } from '../openai/adapter.ts'
import { streamReader } from '../openai/readers.ts'
import { countReader } from './count.ts'
import { type Identity, identification } from './identity.ts'
import { countBody, countPath, ignoredNatively, messageBody, messagePath } from './request.ts'
import { messageFrames, readMessage } from './response.ts'

const VERSION = '2023-06-01'

export function anthropicAdapter(
  provider: Provider,
  translating: Adapter,
  bounds: WireBounds,
  needs: WireNeeds,
): Adapter {
  const url = new URL(provider.baseUrl)
  const base = withoutTrailing(url.pathname, '/')
  const headers = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'turnpike',
    'anthropic-version': VERSION,
    ...provider.quirks.headers,
  }
  const connectionsMax = bounds.connectionsPerProviderMax
  const open = (to: URL) => openClient(provider, { ...needs, url: to, headers, connectionsMax }, needs.network)
  const client = open(url)
  const { identified, ...tokens } = identification(provider, bounds, needs.clock, open)

  return {
    provider,
    call(upstreamRequest, listener) {
      if (!isNative(upstreamRequest.chat, provider)) return translating.call(upstreamRequest, listener)
      const begin = upstreamRequest.chat.stream ? streamed : atOnce
      return identified(upstreamRequest, listener.end, (identity, request) => begin(request, identity, listener))
    },
    countTokens(upstreamRequest, done) {
      return identified(upstreamRequest, done, ({ head, setup }, request) => {
        const own = { path: countPath(base, provider), body: countBody(request, provider) }
        const asked = requestOf(request, head, provider.timeouts.firstByteJsonMs, own)
        const stream = client.send(
          asked,
          countReader(done, () => stream.abort(), setup.unsaid),
        )
        return stream
      })
    },
    ignored: (chat, model) =>
      isNative(chat, provider) ? ignoredNatively(chat, provider) : translating.ignored(chat, model),
    retire() {
      client.retire()
      tokens.retire()
      translating.retire()
    },
    async close() {
      await client.close()
      await tokens.close()
      await translating.close()
    },
  }

  function streamed(
    upstreamRequest: UpstreamRequest,
    { head, setup }: Identity,
    listener: AnswerListener,
  ): UpstreamStream {
    const state = { upstreamId: null as string | null }
    let stream: ResponseStream | undefined
    const abort = () => stream?.abort()
    const reader = streamReader(listener, setup, state, abort, messageFrames(setup.unsaid))
    const request = requestOf(upstreamRequest, head, provider.timeouts.firstByteStreamMs)
    stream = client.send(request, byStatus(reader, listener, abort, EVENT_STREAM, setup.unsaid))
    return { pause: stream.pause, resume: stream.resume, abort: stream.abort, upstreamId: () => state.upstreamId }
  }

  function atOnce(
    upstreamRequest: UpstreamRequest,
    { head, setup }: Identity,
    listener: AnswerListener,
  ): UpstreamStream {
    const request = requestOf(upstreamRequest, head, provider.timeouts.firstByteJsonMs)
    const readerSetup = { ...onEventLoop(setup), read: readMessage }
    return sendWhole(request, listener, { readerSetup, memory: needs.memory }, { client, large: needs.large })
  }

  function requestOf(
    upstreamRequest: UpstreamRequest,
    head: string,
    firstByteMs: number,
    own?: Pick<HttpClientRequest, 'path' | 'body'>,
  ): HttpClientRequest {
    const { nativeHeaders } = upstreamRequest.chat
    return {
      requestId: upstreamRequest.requestId,
      accountId: upstreamRequest.accountId,
      head: withTrace(nativeHeaders === undefined ? head : head + headerLines(nativeHeaders), upstreamRequest),
      ...(own ?? {
        path: messagePath(base, upstreamRequest, provider),
        body: messageBody(upstreamRequest, provider),
      }),
      firstByteMs,
      totalMs: Math.min(provider.timeouts.totalMs, upstreamRequest.totalMsMax),
      silence: upstreamRequest.silence,
      onSent: upstreamRequest.onSent,
    }
  }
}
