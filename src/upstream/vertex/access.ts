// Access to a provider on Vertex: the token of its service account, and what of it must not be shown. A token request belongs to no
// account: the token serves every call for an hour.
import type { Credential, Provider } from '../../domain/catalog.ts'
import { Failure } from '../../domain/failure.ts'
import type { UpstreamStream } from '../../domain/handoff.ts'
import { isOnVertex } from '../../domain/presets.ts'
import type { Clock } from '../../lib/clock.ts'
import { upstreamFetch } from '../fetch.ts'
import type { HttpClient, ResponseStream } from '../http-client.ts'
import type { WireBounds } from '../openai/adapter.ts'
import type { Unsaid } from '../openai/error.ts'
import { serviceAccountOf, TOKEN_URL, type Tokens, vertexTokens } from './token.ts'

export type VertexAccess = {
  // Undefined where the credential is no service account.
  token(credential: Credential): Promise<string> | undefined
  unsaid(credential: Credential): Unsaid
  retire(): void
  close(): Promise<void>
}

export function vertexAccess(
  provider: Provider,
  bounds: WireBounds,
  clock: Clock,
  open: (url: URL) => HttpClient,
): VertexAccess {
  const url = new URL(provider.settings.token_url ?? TOKEN_URL)
  let client: HttpClient | undefined
  let tokens: Tokens | undefined

  function tokenService(): Tokens {
    client ??= open(url)
    const { firstByteStreamMs, totalMs } = provider.timeouts
    const patienceMs = Math.min(firstByteStreamMs, totalMs)
    const send = upstreamFetch(client, {
      requestId: 'token',
      accountId: '',
      origin: url.origin,
      headers: {},
      stream: false,
      bounds,
      firstByteMs: patienceMs,
      totalMs: patienceMs,
      onSent: () => undefined,
      failure: ({ status }) =>
        new Failure(status < 500 ? 'credential' : 'status', `the token service returned ${status}`, { status }),
    })
    tokens ??= vertexTokens({ url: url.href, clock, send })
    return tokens
  }

  function accountOf(credential: Credential) {
    return isOnVertex(provider) ? serviceAccountOf(credential).account : undefined
  }

  return {
    token(credential) {
      const account = accountOf(credential)
      return account === undefined ? undefined : tokenService().get(credential, account)
    },
    unsaid(credential) {
      const account = accountOf(credential)
      if (account === undefined) return [credential.secret]
      const token = tokens?.last(credential) ?? ''
      return [url.host, credential.secret, token, account.key, account.email, account.keyId ?? '']
    },
    retire: () => client?.retire(),
    close: async () => client?.close(),
  }
}

// Many requests wait for one token, each with its own time limit.
export async function inTime(token: Promise<string>, patienceMs: number, signal: AbortSignal): Promise<string> {
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

type Begun = ResponseStream & Partial<UpstreamStream>

// A call that begins when the token is there. Until then there is nothing to read, and it can be given up.
export function afterToken(
  token: (signal: AbortSignal) => Promise<string>,
  begin: (token: string) => Begun,
  fail: (error: unknown) => void,
): UpstreamStream {
  const stop = new AbortController()
  let isPaused = false
  let stream: Begun | undefined
  const start = (found: string) => {
    if (stop.signal.aborted) return
    stream = begin(found)
    if (isPaused) stream.pause()
  }
  token(stop.signal)
    .then(start)
    .catch(error => {
      if (!stop.signal.aborted) fail(error)
    })
  return {
    pause() {
      isPaused = true
      stream?.pause()
    },
    resume() {
      isPaused = false
      stream?.resume()
    },
    abort() {
      stop.abort()
      stream?.abort()
    },
    reservation: () => stream?.reservation?.(),
    upstreamId: () => stream?.upstreamId?.() ?? null,
  }
}
