// What went wrong on a wire, as a Failure: the socket's error codes, the reader's complaints, and what OpenSSL says.
import { Failure, type FailureKind } from '../domain/failure.ts'
import { BadResponse } from '../lib/http-response.ts'

export class ConnectTimeout extends Error {
  readonly code = 'ETIMEDOUT'
}

const KINDS: Readonly<Record<string, FailureKind>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  EADDRNOTAVAIL: 'refused',
  ENOTPUBLIC: 'refused',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ETIMEDOUT: 'connect_timeout',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  EPROTO: 'tls',
}

export type Circumstances = { readonly connected: boolean; readonly stale: boolean }

export function failureOf(error: Error | undefined, at: Circumstances): Failure {
  const { connected, stale } = at
  if (error === undefined)
    return new Failure('reset', 'the upstream closed the connection before its answer was complete', { stale })
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return failureOf(error.errors[0], at)
  if (error instanceof BadResponse)
    return new Failure('nonsense', `the upstream's answer cannot be read: ${error.message}`)
  const { code } = error as { code?: unknown }
  if (typeof code !== 'string') return new Failure('reset', error.message, { stale })
  // What is unknown and comes before a connection stands is about certificates: OpenSSL has many words for it.
  const kind = KINDS[code] ?? (connected ? 'reset' : 'tls')
  return new Failure(kind, `${code}: ${error.message}`, { stale: stale && kind === 'reset' })
}
