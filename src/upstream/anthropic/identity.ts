// How a call to Anthropic's API is authorised: by an API key, or on Vertex by a token.
import type { Credential, Provider } from '../../domain/catalog.ts'
import type { Failure } from '../../domain/failure.ts'
import type { UpstreamStream } from '../../domain/handoff.ts'
import { isOnVertex } from '../../domain/presets.ts'
import type { Clock } from '../../lib/clock.ts'
import { memoize } from '../../lib/memoize.ts'
import type { UpstreamRequest } from '../adapter.ts'
import { failureOfSdk } from '../ai-sdk/error.ts'
import { type HttpClient, headerLines, type ResponseStream } from '../http-client.ts'
import type { WireBounds } from '../openai/adapter.ts'
import type { Unsaid } from '../openai/error.ts'
import { afterToken, inTime, vertexAccess } from '../vertex/access.ts'

// Header lines, and what must not be shown.
export type Identity = { readonly head: string; readonly setup: WireBounds & { readonly unsaid: Unsaid } }

type Begun = ResponseStream & Partial<UpstreamStream>

export function identification(provider: Provider, bounds: WireBounds, clock: Clock, open: (url: URL) => HttpClient) {
  const { timeouts } = provider
  const { host } = new URL(provider.baseUrl)
  const access = isOnVertex(provider) ? vertexAccess(provider, bounds, clock, open) : undefined
  const unknown: Identity = { head: '', setup: { ...bounds, unsaid: [host] } }
  const known = memoize((credential: Credential): Identity => {
    const head = access === undefined ? headerLines({ 'x-api-key': credential.secret }) : bearer(credential.secret)
    return { head, setup: { ...bounds, unsaid: [host, credential.secret] } }
  })

  // Begins at once, or when there is a token; the time for that is the call's.
  function identified<Stream extends Begun>(
    upstreamRequest: UpstreamRequest,
    fail: (failure: Failure) => void,
    begin: (identity: Identity, upstreamRequest: UpstreamRequest) => Stream,
  ): Stream | UpstreamStream {
    const { credential } = upstreamRequest
    if (credential === undefined) return begin(unknown, upstreamRequest)
    const token = access?.token(credential)
    if (access === undefined || token === undefined) return begin(known(credential), upstreamRequest)
    const startedMs = clock.monotonic()
    const totalMs = Math.min(timeouts.totalMs, upstreamRequest.totalMsMax)
    const firstByteMs = upstreamRequest.chat.stream ? timeouts.firstByteStreamMs : timeouts.firstByteJsonMs
    const unsaid = () => [host, ...access.unsaid(credential)]
    return afterToken(
      signal => inTime(token, Math.min(firstByteMs, totalMs), signal),
      found => {
        const totalMsMax = Math.max(1, totalMs - (clock.monotonic() - startedMs))
        const identity = { head: bearer(found), setup: { ...bounds, unsaid: unsaid() } }
        return begin(identity, { ...upstreamRequest, totalMsMax })
      },
      error => fail(failureOfSdk(error, unsaid())),
    )
  }

  return { identified, retire: () => access?.retire(), close: async () => access?.close() }
}

function bearer(token: string): string {
  return headerLines({ authorization: `Bearer ${token}` })
}
