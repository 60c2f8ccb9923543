// One try at one target, from its taking to its end, and what it teaches: the target's health, its breaker, and the
// credential that was used. A caller that leaves teaches nothing.
import type { Failure } from '../domain/failure.ts'
import {
  beganWell,
  endedWell as breakerEndedWell,
  type Cause,
  failed,
  letThrough,
  probed,
  standing,
  withdrawn,
} from './breaker.ts'
import { type Badge, type BadgeWish, barred, nextBadge, noLongerLimited, setAside } from './credentials.ts'
import type { Candidate, Fleet, TargetState } from './fleet.ts'
import { beganToAnswer, endedBadly, endedWell, tookRequest } from './health.ts'

export type Trip = {
  readonly candidate: Candidate
  readonly badge: Badge
  readonly accountId: string
  // It shows whether an open target is well again.
  readonly trial: boolean
  // It was sent although its credential was limited or its breaker open.
  readonly evenBarred: boolean
  readonly startedMs: number
  over: boolean
}

export type TripWish = BadgeWish & { readonly accountId: string }

// Undefined: there is no way to it at this moment.
export function setOut(candidate: Candidate, wish: TripWish, fleet: Fleet): Trip | undefined {
  const { state, keyring, target } = candidate
  const nowMs = fleet.clock.monotonic()
  if (!wish.evenBarred && standing(state.breaker, nowMs, fleet.bounds) === 'open') return undefined
  const badge = nextBadge(keyring, target.model, nowMs, wish)
  if (badge === undefined) return undefined
  tookRequest(state.health)
  const trial = letThrough(state.breaker, nowMs)
  const { accountId, evenBarred } = wish
  return { candidate, badge, accountId, trial, evenBarred, startedMs: nowMs, over: false }
}

// The first content came.
export function began(trip: Trip, stream: boolean, fleet: Fleet): void {
  const { state, target } = trip.candidate
  const nowMs = fleet.clock.monotonic()
  beganToAnswer(state.health, stream, nowMs - trip.startedMs, nowMs)
  // What was sent before a limit was told knows nothing of it.
  if (trip.evenBarred) noLongerLimited(trip.badge, target.model)
  if (trip.badge.state !== 'active') trusted(trip.badge, fleet)
  if (beganWell(state.breaker, trip.trial, nowMs)) alarm('breaker_closed', state, fleet)
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
  if (cause === undefined) {
    if (trip.trial) withdrawn(state.breaker)
    return
  }
  const retryAfterMs = waitMsOf(failure, fleet)
  const verdict = failed(
    state.breaker,
    { cause, accountId: trip.accountId, retryAfterMs, trial: trip.trial },
    nowMs,
    fleet.bounds,
  )
  if (verdict === 'opened') alarm('breaker_opened', state, fleet)
  if (verdict === 'ask_probe') askAboutTarget(trip, fleet)
}

// It was taken, whatever was thought of it.
function trusted(badge: Badge, fleet: Fleet): void {
  const { provider, credential } = badge
  const wasDead = badge.state === 'dead'
  badge.state = 'active'
  if (wasDead && credential !== undefined) {
    fleet.onAlarm({ kind: 'credential_alive', provider, credential: credential.id })
  }
}

// Ended by us or by a caller that left: it says nothing about the target.
export function broughtBack(trip: Trip): void {
  if (trip.over) return
  trip.over = true
  const { health, breaker } = trip.candidate.state
  health.inFlight -= 1
  if (trip.trial) withdrawn(breaker)
}

// It was not sent at all: no time, no budget, nobody there to wait for it.
export function neverLeft(trip: Trip): void {
  if (trip.over) return
  broughtBack(trip)
  trip.candidate.state.health.requests -= 1
}

// To be done now and then: dead credentials are asked about and come back by themselves, and what is past is forgotten.
export function tend(fleet: Fleet): void {
  const nowMs = fleet.clock.monotonic()
  for (const badge of fleet.badges()) {
    if (badge.state !== 'dead' || badge.probeAtMs > nowMs) continue
    badge.probeAtMs = nowMs + fleet.bounds.deadCredentialProbedEveryMs
    askAboutBadge(badge, badge.probeModel, fleet)
  }
  fleet.prune()
}

// A request of the caller's that was refused as it deserved, or what we cut off or could not send ourselves.
function saysNothing(failure: Failure): boolean {
  return failure.kind === 'rejected' || failure.kind === 'cut' || failure.stale || failure.ours
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
  return causeOf(failure)
}

function causeOf(failure: Failure): Cause {
  if (NO_CONTENT_CAN_CAUSE.has(failure.kind)) return 'target'
  // What a provider forbids is often the input.
  return failure.kind === 'credential' ? 'unsure' : 'maybe_content'
}

const NO_CONTENT_CAN_CAUSE: ReadonlySet<string> = new Set(['refused', 'dns', 'tls', 'reset', 'connect_timeout'])

function askAboutTarget({ candidate, badge }: Trip, fleet: Fleet): void {
  const { state, target } = candidate
  const provider = fleet.providerOf(badge)
  const nowMs = fleet.clock.monotonic()
  if (provider === undefined || nowMs - state.probedAtMs < fleet.bounds.probeEveryMs) return
  const question = { provider, model: target.model, credential: badge.credential }
  const asked = fleet.probes.ask(state.key, question, failure => {
    if (failure?.kind === 'credential' && failure.status === 401 && badge.credential !== undefined) {
      return judge(badge, target.model, failure, fleet)
    }
    const isWell = failure === undefined || failure.kind === 'rejected'
    if (failure !== undefined && !isWell && saysNothing(failure)) return
    const found = isWell ? undefined : { retryAfterMs: waitMsOf(failure, fleet) }
    if (!probed(state.breaker, found, fleet.clock.monotonic(), fleet.bounds)) return
    alarm(isWell ? 'breaker_closed' : 'breaker_opened', state, fleet)
  })
  if (asked) state.probedAtMs = nowMs
}

function askAboutBadge(badge: Badge, model: string, fleet: Fleet): void {
  // What was forgotten meanwhile, or belongs to another address, is sent nowhere.
  const provider = fleet.providerOf(badge)
  const { credential } = badge
  if (provider === undefined || credential === undefined) return
  const about = `${badge.provider}\n\n${credential.id}`
  const tell = (failure: Failure | undefined) => judge(badge, model, failure, fleet)
  if (!fleet.probes.ask(about, { provider, model, credential }, tell)) return
  badge.askedAtMs = fleet.clock.monotonic()
  if (badge.state === 'active') badge.state = 'suspected'
}

// What a question by this credential came to. Only a second 401 confirms the suspicion; whoever was dead is alive again
// only by an answer.
function judge(badge: Badge, model: string, failure: Failure | undefined, fleet: Fleet): void {
  const { provider, credential } = badge
  if (credential === undefined) return
  if (failure?.kind === 'credential' && failure.status === 401) {
    badge.probeModel = model
    badge.probeAtMs = fleet.clock.monotonic() + fleet.bounds.deadCredentialProbedEveryMs
    if (badge.state === 'dead') return
    badge.state = 'dead'
    fleet.onAlarm({ kind: 'credential_dead', provider, credential: credential.id })
  } else if (badge.state !== 'dead') {
    badge.state = 'active'
  } else if (failure === undefined || failure.kind === 'rejected' || failure.status === 429) {
    trusted(badge, fleet)
  }
}

function waitMsOf(failure: Failure | undefined, { bounds }: Fleet): number {
  return Math.min((failure?.retryAfter ?? 0) * 1000, bounds.retryAfterMsMax)
}

function alarm(kind: 'breaker_opened' | 'breaker_closed', { provider, model }: TargetState, fleet: Fleet): void {
  fleet.onAlarm({ kind, provider, model })
}
