// A failed upstream call. A failure says whether another upstream may be tried and which error the caller gets.
import { Refusal } from './refusal.ts'

export type FailureKind =
  | 'refused' // connection refused, no route
  | 'dns'
  | 'tls'
  | 'reset'
  | 'connect_timeout'
  | 'timeout' // first byte, idle or total
  | 'rejected' // 400, 413, 422: the caller's fault, with the upstream's message
  | 'limited' // 429, 503
  | 'credential' // 401, 403
  | 'status' // any other status
  | 'invalid_response' // 200 that is not an answer
  | 'too_large' // more than we can take: it was produced, so it is billed, tried nowhere else and no fault of the target
  | 'interrupted' // ended or died midway
  | 'cancelled' // ended by us: a shutdown, or a revoke that ends streams

export class Failure extends Error {
  readonly kind: FailureKind
  readonly status: number | undefined
  // The upstream's own message, sanitised; it may quote the prompt. Callers get it only for `rejected`.
  readonly words: string | undefined
  readonly retryAfter: number | undefined
  // A reused connection was closed before any response arrived: this says nothing about the upstream.
  readonly stale: boolean
  // A limit of this gateway was reached before anything was sent: this says nothing about the upstream, and another may be tried.
  readonly ours: boolean
  // What was read of an answer that could not be accepted: billed, since it was produced.
  readonly producedBytes: number
  // Rejected because the prompt exceeds the model's context: a model with a longer context may accept it.
  readonly tooLong: boolean
  // Limited because this one request exceeds the allowance per minute: other requests are not limited by it.
  readonly bySize: boolean

  constructor(
    kind: FailureKind,
    message: string,
    more: {
      readonly status?: number
      readonly words?: string
      readonly retryAfter?: number
      readonly stale?: boolean
      readonly ours?: boolean
      readonly producedBytes?: number
      readonly tooLong?: boolean
      readonly bySize?: boolean
    } = {},
  ) {
    super(message)
    this.kind = kind
    this.status = more.status
    this.words = more.words
    this.retryAfter = more.retryAfter
    this.stale = more.stale ?? false
    this.ours = more.ours ?? false
    this.producedBytes = more.producedBytes ?? 0
    this.tooLong = more.tooLong ?? false
    this.bySize = more.bySize ?? false
  }
}

export function mayTryAnother(failure: Failure): boolean {
  return failure.kind !== 'rejected' && failure.kind !== 'cancelled' && failure.producedBytes === 0
}

// All attempts failed, or no target could be called: the error that sums this up. Rejections come first, then limits if all were
// limits, then timeouts. Failures caused by this gateway are never attributed to an upstream; if an upstream failed too, its
// failure counts.
export function refusalFor(all: readonly Failure[]): Refusal {
  const theirs = all.filter(failure => !failure.ours)
  if (theirs.length === 0 && all.length > 0) return new Refusal('service_unavailable', { retryAfter: 1 })
  // A prompt that is too long for one model does not explain why a model with a longer context failed.
  const others = theirs.filter(failure => !failure.tooLong)
  const failures = others.length === 0 ? theirs : others
  const rejected = failures.find(failure => failure.kind === 'rejected')
  if (rejected !== undefined) return new Refusal('upstream_rejected', rejected.words ? { message: rejected.words } : {})
  if (failures.at(-1)?.kind === 'cancelled') return new Refusal('service_unavailable', { retryAfter: 5 })
  if (failures.length === 0 || failures.every(failure => failure.kind === 'limited')) {
    const waits = failures.map(failure => failure.retryAfter ?? 1)
    const wait = waits.length === 0 ? 1 : Math.min(...waits, RETRY_AFTER_SECONDS_MAX)
    return new Refusal('provider_unavailable', { retryAfter: Math.max(1, wait) })
  }
  const last = failures.at(-1)
  if (last?.kind === 'too_large') return new Refusal('all_providers_failed', { message: TOO_LARGE })
  if (last?.kind === 'timeout' || last?.kind === 'connect_timeout') return new Refusal('upstream_timeout')
  return new Refusal('all_providers_failed')
}

const TOO_LARGE = "The provider's response is larger than this gateway accepts; request fewer tokens or use streaming."

export const RETRY_AFTER_SECONDS_MAX = 300
