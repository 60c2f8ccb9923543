// The sockets of a provider that is called through an AI SDK package: one pool for its host, another for Vertex' token host, and
// the `fetch` that the package uses for one call.
import type { Credential, Provider } from '../../domain/catalog.ts'
import { Failure } from '../../domain/failure.ts'
import type { SdkKind } from '../../domain/presets.ts'
import type { UpstreamRequest } from '../adapter.ts'
import { type FetchFunction, upstreamFetch } from '../fetch.ts'
import type { HttpClient } from '../http-client.ts'
import { openClient } from '../open-client.ts'
import type { WireBounds, WireNeeds } from '../openai/adapter.ts'
import type { Unsaid } from '../openai/error.ts'
import type { AnswerReservation } from '../response-memory.ts'
import { failureOfSdkStatus } from './error.ts'
import { serviceAccountOf, TOKEN_URL, type Tokens, vertexTokens } from './vertex-token.ts'

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
  const tokenUrl = new URL(provider.settings.token_url ?? TOKEN_URL)
  let tokenClient: HttpClient | undefined
  let tokens: Tokens | undefined

  function open(to: URL): HttpClient {
    const headers = { 'accept-encoding': 'identity', 'user-agent': 'turnpike' }
    const connectionsMax = bounds.connectionsPerProviderMax
    return openClient(provider, { ...needs, url: to, headers, connectionsMax }, needs.network)
  }

  function unsaid(credential: Credential | undefined): Unsaid {
    if (credential === undefined) return [url.host]
    const { secret } = credential
    if (kind === 'bedrock') return [url.host, secret, ...secret.split(':')]
    const account = kind === 'vertex' ? serviceAccountOf(credential).account : undefined
    if (account === undefined) return [url.host, secret]
    const token = tokens?.last(credential) ?? ''
    return [url.host, tokenUrl.host, secret, token, account.key, account.email, account.keyId ?? '']
  }

  // A token request belongs to no account: the token serves every call for an hour.
  function tokenService(): Tokens {
    tokenClient ??= open(tokenUrl)
    const patienceMs = Math.min(timeouts.firstByteStreamMs, timeouts.totalMs)
    const send = upstreamFetch(tokenClient, {
      requestId: 'token',
      accountId: '',
      origin: tokenUrl.origin,
      headers: {},
      stream: false,
      bounds,
      firstByteMs: patienceMs,
      totalMs: patienceMs,
      onSent: () => undefined,
      failure: ({ status }) =>
        new Failure(status < 500 ? 'credential' : 'status', `the token service returned ${status}`, { status }),
    })
    tokens ??= vertexTokens({ url: tokenUrl.href, clock: needs.clock, send })
    return tokens
  }

  // Undefined where none is needed.
  function tokenOf(credential: Credential): Promise<string> | undefined {
    const account = kind === 'vertex' ? serviceAccountOf(credential).account : undefined
    return account === undefined ? undefined : tokenService().get(credential, account)
  }

  return {
    async send(upstreamRequest, credential, signal, reserveMemory) {
      const { stream } = upstreamRequest.chat
      const firstByteMs = stream ? timeouts.firstByteStreamMs : timeouts.firstByteJsonMs
      const totalMs = Math.min(timeouts.totalMs, upstreamRequest.totalMsMax)
      const startedMs = needs.clock.monotonic()
      const token = tokenOf(credential)
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
      tokenClient?.retire()
    },
    async close() {
      await main.close()
      await tokenClient?.close()
    },
  }
}

function traceHeader({ traceparent }: UpstreamRequest): Readonly<Record<string, string>> {
  return traceparent === undefined ? {} : { traceparent }
}

// Replaces the placeholder API key of the package.
function tokenHeaders(token: string): Readonly<Record<string, string>> {
  return { 'x-goog-api-key': '', authorization: `Bearer ${token}` }
}

// Many requests wait for one token, each with its own time limit.
async function inTime(token: Promise<string>, patienceMs: number, signal: AbortSignal): Promise<string> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Failure('timeout', `no token after ${patienceMs} ms`)), patienceMs)
  const leave = () => late.reject(signal.reason)
  signal.addEventListener('abort', leave)
  try {
    return await Promise.race([token, late.promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
}
