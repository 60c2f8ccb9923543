// The sockets of a provider that is called through an AI SDK package: one pool for its host, another for Vertex' token host, and
// the `fetch` that the package uses for one call.
import type { Credential, Provider } from '../../domain/catalog.ts'
import type { SdkKind } from '../../domain/presets.ts'
import type { UpstreamRequest } from '../adapter.ts'
import { type FetchFunction, upstreamFetch } from '../fetch.ts'
import type { HttpClient } from '../http-client.ts'
import { openClient } from '../open-client.ts'
import type { WireBounds, WireNeeds } from '../openai/adapter.ts'
import type { Unsaid } from '../openai/error.ts'
import type { AnswerReservation } from '../response-memory.ts'
import { inTime, vertexAccess } from '../vertex/access.ts'
import { failureOfSdkStatus } from './error.ts'

export type SdkWire = {
  // A `fetch` for this request alone. Waiting for a token counts towards the request's time and ends with the signal.
  send(
    upstreamRequest: UpstreamRequest,
    credential: Credential,
    signal: AbortSignal,
    reserveMemory: (resume: () => void) => AnswerReservation,
  ): Promise<FetchFunction>
  unsaid(credential: Credential | undefined): Unsaid
  retire(): void
  close(): Promise<void>
}

export function sdkWire(provider: Provider, kind: SdkKind, wireBounds: WireBounds, needs: WireNeeds): SdkWire {
  const { timeouts } = provider
  const bounds = { ...wireBounds, answerBytesMax: wireBounds.packageAnswerBytesMax }
  const url = new URL(provider.baseUrl)
  const main = open(url)
  const access = vertexAccess(provider, bounds, needs.clock, open)

  function open(to: URL): HttpClient {
    const headers = { 'accept-encoding': 'identity', 'user-agent': 'turnpike' }
    const connectionsMax = bounds.connectionsPerProviderMax
    return openClient(provider, { ...needs, url: to, headers, connectionsMax }, needs.network)
  }

  function unsaid(credential: Credential | undefined): Unsaid {
    if (credential === undefined) return [url.host]
    if (kind === 'bedrock') return [url.host, credential.secret, ...credential.secret.split(':')]
    return [url.host, ...access.unsaid(credential)]
  }

  return {
    async send(upstreamRequest, credential, signal, reserveMemory) {
      const { stream } = upstreamRequest.chat
      const firstByteMs = stream ? timeouts.firstByteStreamMs : timeouts.firstByteJsonMs
      const totalMs = Math.min(timeouts.totalMs, upstreamRequest.totalMsMax)
      const startedMs = needs.clock.monotonic()
      const token = access.token(credential)
      const headers =
        token === undefined ? {} : tokenHeaders(await inTime(token, Math.min(firstByteMs, totalMs), signal))
      const secrets = unsaid(credential)
      let isSent = false
      return upstreamFetch(main, {
        requestId: upstreamRequest.requestId,
        accountId: upstreamRequest.accountId,
        origin: url.origin,
        headers: { ...provider.quirks.headers, ...headers, ...traceHeader(upstreamRequest) },
        stream,
        bounds,
        reserveMemory,
        firstByteMs,
        totalMs: totalMs - (needs.clock.monotonic() - startedMs),
        silence: upstreamRequest.silence,
        // A package may make a second call; the request counts as sent with the first.
        onSent() {
          if (!isSent) upstreamRequest.onSent()
          isSent = true
        },
        failure: error => failureOfSdkStatus(error, kind, secrets),
      })
    },
    unsaid,
    retire() {
      main.retire()
      access.retire()
    },
    async close() {
      await main.close()
      await access.close()
    },
  }
}

function traceHeader({ traceparent }: UpstreamRequest): Readonly<Record<string, string>> {
  return traceparent === undefined ? {} : { traceparent }
}

// Replaces the placeholder that the package was given.
function tokenHeaders(token: string): Readonly<Record<string, string>> {
  return { 'x-goog-api-key': '', authorization: `Bearer ${token}` }
}
