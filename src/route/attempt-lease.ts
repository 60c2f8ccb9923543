// One attempt at one target, from its start to its end, and its effect on the target's health, its breaker and the credential
// that was used. A caller that leaves has no effect.
import type { Failure } from '../domain/failure.ts'
import { beganWell, endedWell as breakerEndedWell, type Cause, failed } from './circuit-breaker.ts'
import {
  barred,
  type CredentialSelection,
  type CredentialState,
  nextCredential,
  noLongerLimited,
  setAside,
} from './credential-pool.ts'
import { alarm, probeCredential, probeTarget, saysNothing, trusted, waitMsOf } from './probing.ts'
import { beganToAnswer, endedBadly, endedWell, tookRequest } from './target-health.ts'
import type { Candidate, Targets } from './targets.ts'

export type AttemptLease = {
  readonly candidate: Candidate
  readonly credentialState: CredentialState
  readonly accountId: string
  // The one request at a time that goes to an open target because all are open: an answer closes the breaker.
  readonly lastResort: boolean
  // It was sent although its credential was limited or its breaker open.
  readonly evenBarred: boolean
  readonly startedMs: number
  // The request was sent: from here on its content may be the cause of any failure.
  sent: boolean
  over: boolean
}

export type LeaseRequest = CredentialSelection & { readonly accountId: string }

// Undefined: the target cannot be called at this moment.
export function beginAttempt(
  candidate: Candidate,
  preference: LeaseRequest,
  targets: Targets,
): AttemptLease | undefined {
  const { state, credentialPool, target } = candidate
  const nowMs = targets.clock.monotonic()
  const isClosed = state.breaker.state === 'closed'
  if (!isClosed && !preference.evenBarred) return undefined
  const credentialState = nextCredential(credentialPool, target.model, nowMs, preference)
  if (credentialState === undefined) return undefined
  tookRequest(state.health)
  const { accountId, evenBarred } = preference
  return {
    candidate,
    credentialState,
    accountId,
    lastResort: !isClosed,
    evenBarred,
    startedMs: nowMs,
    sent: false,
    over: false,
  }
}

// The first content arrived.
export function attemptAnswered(lease: AttemptLease, stream: boolean, targets: Targets): void {
  const { state, target } = lease.candidate
  const nowMs = targets.clock.monotonic()
  beganToAnswer(state.health, stream, nowMs - lease.startedMs, nowMs)
  // A request sent before a limit was reported says nothing about the limit.
  if (lease.evenBarred) noLongerLimited(lease.credentialState, target.model)
  if (lease.credentialState.state !== 'active') trusted(lease.credentialState, targets)
  if (beganWell(state.breaker, lease.lastResort, nowMs)) alarm('breaker_closed', state, targets)
}

// It ended, with or without a failure. Reported once; later calls are ignored.
export function finishAttempt(lease: AttemptLease, failure: Failure | undefined, targets: Targets): void {
  if (lease.over) return
  if (failure !== undefined && saysNothing(failure)) {
    cancelAttempt(lease)
    return
  }
  lease.over = true
  const { state } = lease.candidate
  state.health.inFlight -= 1
  const nowMs = targets.clock.monotonic()
  if (failure === undefined) {
    endedWell(state.health, nowMs)
    breakerEndedWell(state.breaker, nowMs, targets.bounds)
    return
  }
  endedBadly(state.health, nowMs)
  const cause = learn(lease, failure, nowMs, targets)
  if (cause === undefined) return
  const retryAfterMs = waitMsOf(failure, targets)
  const verdict = failed(state.breaker, { cause, accountId: lease.accountId, retryAfterMs }, nowMs, targets.bounds)
  if (verdict === 'opened') alarm('breaker_opened', state, targets)
  if (verdict === 'ask_probe') probeTarget(lease.candidate, lease.credentialState, targets)
}

// Ended by the gateway or by a caller that left: this says nothing about the target.
export function cancelAttempt(lease: AttemptLease): void {
  if (lease.over) return
  lease.over = true
  lease.candidate.state.health.inFlight -= 1
}

// It was not sent at all: no time, no budget, or the caller has left.
export function discardAttempt(lease: AttemptLease): void {
  if (lease.over) return
  cancelAttempt(lease)
  lease.candidate.state.health.requests -= 1
}

// The credential's part in the failure; undefined: it is the only cause, and the target is not to blame.
function learn(lease: AttemptLease, failure: Failure, nowMs: number, targets: Targets): Cause | undefined {
  const { credentialState, candidate } = lease
  const { credentialPool, target } = candidate
  if (failure.kind === 'credential' && failure.status === 401 && credentialState.credential !== undefined) {
    if (nowMs - credentialState.probedAtMs >= targets.bounds.probeEveryMs)
      probeCredential(credentialState, target.model, targets)
    return undefined
  }
  if (failure.kind === 'limited' && failure.status === 429) {
    setAside(credentialState, target.model, failure.retryAfter, nowMs, targets.bounds)
    return barred(credentialPool, target.model, nowMs) === undefined ? undefined : 'target'
  }
  return causeOf(failure, lease.sent)
}

// A server that crashes while it reads or answers a request may do so because of the content.
function causeOf({ kind }: Failure, sent: boolean): Cause {
  if (!sent && NO_CONTENT_CAN_CAUSE.has(kind)) return 'target'
  // A provider's 403 is often about the input.
  return kind === 'credential' ? 'unsure' : 'maybe_content'
}

// Only while the request has not been sent.
const NO_CONTENT_CAN_CAUSE: ReadonlySet<string> = new Set(['refused', 'dns', 'tls', 'reset', 'connect_timeout'])
