// Anthropic's Messages over our own sockets, for callers that speak it: request and answer pass through untranslated. Callers of
// other dialects are served by the adapter that translates.
import type { Credential, Provider } from '../../domain/catalog.ts'
import { isNative } from '../../domain/chat.ts'
import type { AnswerListener, UpstreamStream } from '../../domain/handoff.ts'
import { memoize } from '../../lib/memoize.ts'
import { withoutTrailing } from '../../lib/text.ts'
import type { Adapter, UpstreamRequest } from '../adapter.ts'
import { type HttpClientRequest, headerLines, type ResponseStream, withTrace } from '../http-client.ts'
import { openClient } from '../open-client.ts'
import { byStatus, EVENT_STREAM, onEventLoop, sendWhole, type WireBounds, type WireNeeds } from '../openai/adapter.ts'
import { streamReader } from '../openai/readers.ts'
import { countReader } from './count.ts'
import { countBody, ignoredNatively, messageBody } from './request.ts'
import { messageFrames, readMessage } from './response.ts'

const VERSION = '2023-06-01'

export function anthropicAdapter(
  provider: Provider,
  translating: Adapter,
  bounds: WireBounds,
  needs: WireNeeds,
): Adapter {
  const url = new URL(provider.baseUrl)
  const path = `${withoutTrailing(url.pathname, '/')}/messages`
  const headers = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'turnpike',
    'anthropic-version': VERSION,
    ...provider.quirks.headers,
  }
  const connectionsMax = bounds.connectionsPerProviderMax
  const client = openClient(provider, { ...needs, url, headers, connectionsMax }, needs.network)
  const known = memoize((credential: Credential) => ({
    head: headerLines({ 'x-api-key': credential.secret }),
    setup: { ...bounds, unsaid: [url.host, credential.secret] },
  }))
  const unknown = { head: '', setup: { ...bounds, unsaid: [url.host] } }

  return {
    provider,
    call(upstreamRequest, listener) {
      if (!isNative(upstreamRequest.chat, provider)) return translating.call(upstreamRequest, listener)
      return upstreamRequest.chat.stream ? streamed(upstreamRequest, listener) : atOnce(upstreamRequest, listener)
    },
    countTokens(upstreamRequest, done) {
      const { head, setup } = setupFor(upstreamRequest)
      const own = { path: `${path}/count_tokens`, body: countBody(upstreamRequest) }
      const stream = client.send(
        requestOf(upstreamRequest, head, provider.timeouts.firstByteJsonMs, own),
        countReader(done, () => stream.abort(), setup.unsaid),
      )
      return stream
    },
    ignored: (chat, model) =>
      isNative(chat, provider) ? ignoredNatively(chat, provider) : translating.ignored(chat, model),
    retire() {
      client.retire()
      translating.retire()
    },
    async close() {
      await client.close()
      await translating.close()
    },
  }

  function streamed(upstreamRequest: UpstreamRequest, listener: AnswerListener): UpstreamStream {
    const { head, setup } = setupFor(upstreamRequest)
    const state = { upstreamId: null as string | null }
    let stream: ResponseStream | undefined
    const abort = () => stream?.abort()
    const reader = streamReader(listener, setup, state, abort, messageFrames(setup.unsaid))
    const request = requestOf(upstreamRequest, head, provider.timeouts.firstByteStreamMs)
    stream = client.send(request, byStatus(reader, listener, abort, EVENT_STREAM, setup.unsaid))
    return { pause: stream.pause, resume: stream.resume, abort: stream.abort, upstreamId: () => state.upstreamId }
  }

  function atOnce(upstreamRequest: UpstreamRequest, listener: AnswerListener): UpstreamStream {
    const { head, setup } = setupFor(upstreamRequest)
    const request = requestOf(upstreamRequest, head, provider.timeouts.firstByteJsonMs)
    const readerSetup = { ...onEventLoop(setup), read: readMessage }
    return sendWhole(request, listener, { readerSetup, memory: needs.memory }, { client, large: needs.large })
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
    const { nativeHeaders } = upstreamRequest.chat
    return {
      requestId: upstreamRequest.requestId,
      accountId: upstreamRequest.accountId,
      head: withTrace(nativeHeaders === undefined ? head : head + headerLines(nativeHeaders), upstreamRequest),
      ...(own ?? { path, body: messageBody(upstreamRequest, provider) }),
      firstByteMs,
      totalMs: Math.min(provider.timeouts.totalMs, upstreamRequest.totalMsMax),
      silence: upstreamRequest.silence,
      onSent: upstreamRequest.onSent,
    }
  }
}
