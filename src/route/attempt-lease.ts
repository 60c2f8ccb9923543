// One attempt at one target, from its start to its end, and its effect on the target's health, its breaker and the credential
// that was used. A caller that leaves has no effect.
import type { Failure } from '../domain/failure.ts'
import { beganWell, endedWell as breakerEndedWell, type Cause, failed } from './circuit-breaker.ts'
import { type Badge, type BadgeWish, barred, nextBadge, noLongerLimited, setAside } from './credential-pool.ts'
import { alarm, askAboutBadge, askAboutTarget, saysNothing, trusted, waitMsOf } from './probing.ts'
import { beganToAnswer, endedBadly, endedWell, tookRequest } from './target-health.ts'
import type { Candidate, Fleet } from './targets.ts'

export type Trip = {
  readonly candidate: Candidate
  readonly badge: Badge
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

export type TripWish = BadgeWish & { readonly accountId: string }

// Undefined: the target cannot be called at this moment.
export function setOut(candidate: Candidate, wish: TripWish, fleet: Fleet): Trip | undefined {
  const { state, keyring, target } = candidate
  const nowMs = fleet.clock.monotonic()
  const isClosed = state.breaker.state === 'closed'
  if (!isClosed && !wish.evenBarred) return undefined
  const badge = nextBadge(keyring, target.model, nowMs, wish)
  if (badge === undefined) return undefined
  tookRequest(state.health)
  const { accountId, evenBarred } = wish
  return { candidate, badge, accountId, lastResort: !isClosed, evenBarred, startedMs: nowMs, sent: false, over: false }
}

// The first content arrived.
export function began(trip: Trip, stream: boolean, fleet: Fleet): void {
  const { state, target } = trip.candidate
  const nowMs = fleet.clock.monotonic()
  beganToAnswer(state.health, stream, nowMs - trip.startedMs, nowMs)
  // A request sent before a limit was reported says nothing about the limit.
  if (trip.evenBarred) noLongerLimited(trip.badge, target.model)
  if (trip.badge.state !== 'active') trusted(trip.badge, fleet)
  if (beganWell(state.breaker, trip.lastResort, nowMs)) alarm('breaker_closed', state, fleet)
}

// It ended, with or without a failure. Reported once; later calls are ignored.
export function ended(trip: Trip, failure: Failure | undefined, fleet: Fleet): void {
  if (trip.over) return
  if (failure !== undefined && saysNothing(failure)) {
    broughtBack(trip)
    return
  }
  trip.over = true
  const { state } = trip.candidate
  state.health.inFlight -= 1
  const nowMs = fleet.clock.monotonic()
  if (failure === undefined) {
    endedWell(state.health, nowMs)
    breakerEndedWell(state.breaker, nowMs, fleet.bounds)
    return
  }
  endedBadly(state.health, nowMs)
  const cause = learn(trip, failure, nowMs, fleet)
  if (cause === undefined) return
  const retryAfterMs = waitMsOf(failure, fleet)
  const verdict = failed(state.breaker, { cause, accountId: trip.accountId, retryAfterMs }, nowMs, fleet.bounds)
  if (verdict === 'opened') alarm('breaker_opened', state, fleet)
  if (verdict === 'ask_probe') askAboutTarget(trip.candidate, trip.badge, fleet)
}

// Ended by the gateway or by a caller that left: this says nothing about the target.
export function broughtBack(trip: Trip): void {
  if (trip.over) return
  trip.over = true
  trip.candidate.state.health.inFlight -= 1
}

// It was not sent at all: no time, no budget, or the caller has left.
export function neverLeft(trip: Trip): void {
  if (trip.over) return
  broughtBack(trip)
  trip.candidate.state.health.requests -= 1
}

// The credential's part in the failure; undefined: it is the only cause, and the target is not to blame.
function learn(trip: Trip, failure: Failure, nowMs: number, fleet: Fleet): Cause | undefined {
  const { badge, candidate } = trip
  const { keyring, target } = candidate
  if (failure.kind === 'credential' && failure.status === 401 && badge.credential !== undefined) {
    if (nowMs - badge.askedAtMs >= fleet.bounds.probeEveryMs) askAboutBadge(badge, target.model, fleet)
    return undefined
  }
  if (failure.kind === 'limited' && failure.status === 429) {
    setAside(badge, target.model, failure.retryAfter, nowMs, fleet.bounds)
    return barred(keyring, target.model, nowMs) === undefined ? undefined : 'target'
  }
  return causeOf(failure, trip.sent)
}

// A server that crashes while it reads or answers a request may do so because of the content.
function causeOf({ kind }: Failure, sent: boolean): Cause {
  if (!sent && NO_CONTENT_CAN_CAUSE.has(kind)) return 'target'
  // A provider's 403 is often about the input.
  return kind === 'credential' ? 'unsure' : 'maybe_content'
}

// Only while the request has not been sent.
const NO_CONTENT_CAN_CAUSE: ReadonlySet<string> = new Set(['refused', 'dns', 'tls', 'reset', 'connect_timeout'])
