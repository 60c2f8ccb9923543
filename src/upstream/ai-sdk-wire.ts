// The sockets of a provider that is spoken to through an AI SDK package: one pool for its host, for Vertex another for the
// host that gives tokens, and what the package uses as `fetch` for one call.
import type { Credential, Provider } from '../domain/catalog.ts'
import { Failure } from '../domain/failure.ts'
import type { SdkKind } from '../domain/presets.ts'
import type { Errand } from './adapter.ts'
import { failureOfSdkStatus } from './ai-sdk-error.ts'
import { type Outward, outward } from './call.ts'
import type { WireBounds, WireNeeds } from './openai.ts'
import type { Unsaid } from './openai-error.ts'
import { type FetchFunction, outwardFetch } from './outward-fetch.ts'
import { serviceAccountOf, TOKEN_URL, type Tokens, vertexTokens } from './vertex-token.ts'

export type SdkWire = {
  // A `fetch` for this errand alone.
  send(errand: Errand, credential: Credential): Promise<FetchFunction>
  unsaid(credential: Credential | undefined): Unsaid
  retire(): void
  close(): Promise<void>
}

export function sdkWire(provider: Provider, kind: SdkKind, bounds: WireBounds, needs: WireNeeds): SdkWire {
  const { timeouts } = provider
  const url = new URL(provider.baseUrl)
  const main = open(url)
  const tokenUrl = new URL(provider.settings.token_url ?? TOKEN_URL)
  let tokenWire: Outward | undefined
  let tokens: Tokens | undefined

  function open(to: URL): Outward {
    return outward({
      url: to,
      headers: { 'accept-encoding': 'identity', 'user-agent': 'turnpike' },
      timeouts,
      publicOnly: provider.publicOnly,
      connectionsMax: bounds.connectionsPerProviderMax,
      clock: needs.clock,
      onBug: needs.onBug,
    })
  }

  function unsaid(credential: Credential | undefined): Unsaid {
    return [url.host, ...(credential === undefined ? [] : [credential.secret, ...credential.secret.split(':')])]
  }

  // A token is asked for on nobody's behalf in particular: it serves every call for an hour.
  function tokenService(): Tokens {
    tokenWire ??= open(tokenUrl)
    const send = outwardFetch(tokenWire, {
      requestId: 'token',
      origin: tokenUrl.origin,
      headers: {},
      stream: false,
      bounds,
      firstByteMs: timeouts.firstByteStreamMs,
      totalMs: timeouts.firstByteStreamMs,
      onSent: () => undefined,
      failure: ({ status }) =>
        new Failure(status < 500 ? 'credential' : 'status', `the token service answered ${status}`, { status }),
    })
    tokens ??= vertexTokens({ url: tokenUrl.href, clock: needs.clock, send })
    return tokens
  }

  // In place of the API key that the package believes it has.
  async function tokenHeaders(credential: Credential): Promise<Readonly<Record<string, string>>> {
    const account = kind === 'vertex' ? serviceAccountOf(credential).account : undefined
    if (account === undefined) return {}
    return { 'x-goog-api-key': '', authorization: `Bearer ${await tokenService().get(credential, account)}` }
  }

  return {
    async send(errand, credential) {
      const { stream } = errand.chat
      const secrets = unsaid(credential)
      let isSent = false
      return outwardFetch(main, {
        requestId: errand.requestId,
        origin: url.origin,
        headers: { ...provider.quirks.headers, ...(await tokenHeaders(credential)) },
        stream,
        bounds,
        firstByteMs: stream ? timeouts.firstByteStreamMs : timeouts.firstByteJsonMs,
        totalMs: Math.min(timeouts.totalMs, errand.totalMsMax),
        // A package may go on with a second call; the request has left with the first.
        onSent() {
          if (!isSent) errand.onSent()
          isSent = true
        },
        failure: error => failureOfSdkStatus(error, kind, secrets),
      })
    },
    unsaid,
    retire() {
      main.retire()
      tokenWire?.retire()
    },
    async close() {
      await main.close()
      await tokenWire?.close()
    },
  }
}
