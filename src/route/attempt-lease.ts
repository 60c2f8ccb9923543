// One try at one target, from its taking to its end, and what it teaches: the target's health, its breaker, and the
// credential that was used. A caller that leaves teaches nothing.
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
  // It is the one request in a while that goes to an open target, since all of them are: an answer closes the breaker.
  readonly lastResort: boolean
  // It was sent although its credential was limited or its breaker open.
  readonly evenBarred: boolean
  readonly startedMs: number
  // The request has left: from here on its content may be the cause of whatever happens.
  sent: boolean
  over: boolean
}

export type TripWish = BadgeWish & { readonly accountId: string }

// Undefined: there is no way to it at this moment.
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

// The first content came.
export function began(trip: Trip, stream: boolean, fleet: Fleet): void {
  const { state, target } = trip.candidate
  const nowMs = fleet.clock.monotonic()
  beganToAnswer(state.health, stream, nowMs - trip.startedMs, nowMs)
  // What was sent before a limit was told knows nothing of it.
  if (trip.evenBarred) noLongerLimited(trip.badge, target.model)
  if (trip.badge.state !== 'active') trusted(trip.badge, fleet)
  if (beganWell(state.breaker, trip.lastResort, nowMs)) alarm('breaker_closed', state, fleet)
}

// It came to its end, with or without a failure. Told once; what comes later is not heard.
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

// Ended by us or by a caller that left: it says nothing about the target.
export function broughtBack(trip: Trip): void {
  if (trip.over) return
  trip.over = true
  trip.candidate.state.health.inFlight -= 1
}

// It was not sent at all: no time, no budget, nobody there to wait for it.
export function neverLeft(trip: Trip): void {
  if (trip.over) return
  broughtBack(trip)
  trip.candidate.state.health.requests -= 1
}

// What the credential has to do with it; undefined: all of it, the target is not to blame.
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

// A server that falls over while it reads or answers a request may do so because of what is in it.
function causeOf({ kind }: Failure, sent: boolean): Cause {
  if (!sent && NO_CONTENT_CAN_CAUSE.has(kind)) return 'target'
  // What a provider forbids is often the input.
  return kind === 'credential' ? 'unsure' : 'maybe_content'
}

// As long as the request has not been sent.
const NO_CONTENT_CAN_CAUSE: ReadonlySet<string> = new Set(['refused', 'dns', 'tls', 'reset', 'connect_timeout'])
