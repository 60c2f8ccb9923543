// Converts connection errors to a Failure: socket error codes, parser errors, and OpenSSL's errors.
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { Failure, type FailureKind } from '../domain/failure.ts'

// A response that cannot be parsed.
export class BadResponse extends Error {
  override readonly name = 'BadResponse'
}

export class ConnectTimeout extends Error {
  readonly code = 'ETIMEDOUT'
}

const KINDS: Readonly<Record<string, FailureKind>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  ENOTPUBLIC: 'refused',
  EPROXY: 'refused',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ETIMEDOUT: 'connect_timeout',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  EPROTO: 'tls',
}

// This machine has run out of a resource: the upstream was not contacted.
const EXHAUSTED: ReadonlySet<unknown> = new Set([
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'EADDRNOTAVAIL',
  'EADDRINUSE',
  'EAGAIN',
  'EAI_MEMORY',
])

export type Circumstances = { readonly connected: boolean; readonly stale: boolean }

export function failureOf(error: Error | undefined, at: Circumstances): Failure {
  const { connected, stale } = at
  if (error === undefined)
    return new Failure('reset', 'the upstream closed the connection before the response was complete', { stale })
  if (error instanceof AggregateError && error.errors[0] instanceof Error) {
    const ours = error.errors.find(one => EXHAUSTED.has((one as { code?: unknown }).code))
    return failureOf(ours ?? error.errors[0], at)
  }
  if (error instanceof BadResponse)
    return new Failure('invalid_response', `invalid upstream response: ${error.message}`)
  const { code } = error as { code?: unknown }
  if (typeof code !== 'string') return new Failure('reset', error.message, { stale })
  if (EXHAUSTED.has(code) && !connected) return new Failure('refused', `${code}: ${error.message}`, { ours: true })
  // Without a descriptor no name can be resolved, and the resolver only reports a failure.
  if (KINDS[code] === 'dns' && areDescriptorsOut())
    return new Failure('refused', `${code}: no file descriptors left`, { ours: true })
  // Unknown errors before the connection is established are about certificates: OpenSSL has many codes for them.
  const kind = KINDS[code] ?? (connected ? 'reset' : 'tls')
  return new Failure(kind, `${code}: ${error.message}`, { stale: stale && kind === 'reset' })
}

function areDescriptorsOut(): boolean {
  try {
    closeSync(openSync(devNull, 'r'))
    return false
  } catch (error) {
    return EXHAUSTED.has((error as { code?: unknown }).code)
  }
}
