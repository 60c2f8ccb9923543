// Vertex authentication: by an API key, or by a service account whose key signs a request for a token that is valid for an hour.
// No ambient credentials are used.
import { createPrivateKey, sign } from 'node:crypto'
import type { Credential } from '../../domain/catalog.ts'
import { Failure } from '../../domain/failure.ts'
import type { Clock } from '../../lib/clock.ts'
import { memoize } from '../../lib/memoize.ts'
import type { FetchFunction } from '../fetch.ts'

export type ServiceAccount = { readonly email: string; readonly key: string; readonly keyId: string | undefined }

// The token endpoint, and the audience of the request, which stays the same when a proxy is used.
export const TOKEN_URL = 'https://oauth2.googleapis.com/token'
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const LIFE_S = 3600
// A token is renewed while the old one is still valid.
const RENEWED_BEFORE_S = 300

// Undefined for an API key.
export const serviceAccountOf = memoize(({ secret }: Credential): { readonly account: ServiceAccount | undefined } => ({
  account: readAccount(secret.startsWith('{') ? secret : Buffer.from(secret, 'base64').toString()),
}))

export type Tokens = {
  get(credential: Credential, account: ServiceAccount): Promise<string>
  // The last token, so that it can be redacted; empty before the first.
  last(credential: Credential): string
}

export type TokenNeeds = { readonly url: string; readonly clock: Clock; readonly send: FetchFunction }

export function vertexTokens(needs: TokenNeeds): Tokens {
  type Kept = { token: string; sinceMs: number; untilMs: number; pending: Promise<string> | undefined }
  const kept = memoize((_: Credential): Kept => ({ token: '', sinceMs: 0, untilMs: 0, pending: undefined }))

  async function renew(state: Kept, account: ServiceAccount): Promise<string> {
    const now = needs.clock.now()
    const { token, seconds } = await ask(assertion(account, now), needs)
    state.token = token
    state.sinceMs = now
    state.untilMs = now + (seconds - RENEWED_BEFORE_S) * 1000
    return token
  }

  return {
    get(credential, account) {
      const state = kept(credential)
      // A clock that was set back says nothing about how long the token is still valid.
      const now = needs.clock.now()
      if (now >= state.sinceMs && now < state.untilMs) return Promise.resolve(state.token)
      // Concurrent callers wait for the same response.
      state.pending ??= renew(state, account).finally(() => {
        state.pending = undefined
      })
      return state.pending
    },
    last: credential => kept(credential).token,
  }
}

async function ask(jwt: string, { url, send }: TokenNeeds): Promise<{ token: string; seconds: number }> {
  const body = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: jwt })
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const answer = await send(url, { method: 'POST', headers, body: body.toString() })
  const { access_token: token, expires_in: seconds } = (await answer.json()) as Record<string, unknown>
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    throw new Failure('credential', 'the token service returned no token')
  return { token, seconds: typeof seconds === 'number' ? Math.min(seconds, LIFE_S) : LIFE_S }
}

function assertion({ email, key, keyId }: ServiceAccount, now: number): string {
  const issued = Math.floor(now / 1000)
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) }
  const claims = { iss: email, scope: SCOPE, aud: TOKEN_URL, iat: issued, exp: issued + LIFE_S }
  const signed = `${encoded(header)}.${encoded(claims)}`
  try {
    return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), createPrivateKey(key)).toString('base64url')}`
  } catch {
    throw new Failure('credential', "the service account's private key is invalid")
  }
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function readAccount(text: string): ServiceAccount | undefined {
  try {
    const { client_email: email, private_key: key, private_key_id: keyId } = JSON.parse(text) as Record<string, unknown>
    if (typeof email !== 'string' || typeof key !== 'string') return undefined
    return { email, key, keyId: typeof keyId === 'string' ? keyId : undefined }
  } catch {
    return undefined
  }
}
