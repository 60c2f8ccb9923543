// Which targets and credentials are probed, when, and what the results mean: an open target is called again, a suspect credential
// is rejected or cleared. No caller's content is involved, so no caller can decide for the others. See
// docs/decisions/circuit-breaker.md.
import type { Failure } from '../domain/failure.ts'
import { inconclusive, isDue, probed, probing } from './circuit-breaker.ts'
import { type Badge, barred, nextBadge, setAside } from './credential-pool.ts'
import type { Candidate, Fleet, TargetState } from './targets.ts'

// Runs periodically: open targets whose pause is over and rejected credentials are probed and recover by themselves, and expired
// state is dropped.
export function tend(fleet: Fleet): void {
  const nowMs = fleet.clock.monotonic()
  probeDueTargets(fleet, nowMs)
  for (const badge of fleet.badges()) {
    if (badge.state !== 'dead' || badge.probeAtMs > nowMs) continue
    badge.probeAtMs = nowMs + fleet.bounds.deadCredentialProbedEveryMs
    askAboutBadge(badge, badge.probeModel, fleet)
  }
  fleet.prune()
}

// Too many failures that content may have caused: a probe decides whether it was the content.
export function askAboutTarget({ state, target }: Candidate, badge: Badge, fleet: Fleet): void {
  const nowMs = fleet.clock.monotonic()
  if (nowMs - state.probedAtMs < fleet.bounds.probeEveryMs) return
  askBy(badge, state, target.model, fleet)
}

export function askAboutBadge(badge: Badge, model: string, fleet: Fleet): void {
  // A credential that was removed meanwhile, or belongs to another address, is sent nowhere.
  const provider = fleet.providerOf(badge)
  const { credential } = badge
  if (provider === undefined || credential === undefined) return
  const about = `${badge.provider}\n\n${credential.id}`
  const tell = (failure: Failure | undefined) => judge(badge, model, failure, fleet)
  if (!fleet.probes.ask(about, { provider, model, credential }, tell)) return
  badge.askedAtMs = fleet.clock.monotonic()
  if (badge.state === 'active') badge.state = 'suspected'
}

// The credential was accepted, whatever its state was.
export function trusted(badge: Badge, fleet: Fleet): void {
  const { provider, credential } = badge
  const wasDead = badge.state === 'dead'
  badge.state = 'active'
  if (wasDead && credential !== undefined) {
    fleet.onAlarm({ kind: 'credential_alive', provider, credential: credential.id })
  }
}

// A rejected request, an answer that only its own caller can have caused, or something the gateway ended or could not send
// itself.
export function saysNothing({ kind, stale, ours, bySize }: Failure): boolean {
  return kind === 'rejected' || kind === 'cut' || kind === 'oversize' || stale || ours || bySize
}

export function waitMsOf(failure: Failure | undefined, { bounds }: Fleet): number {
  return Math.min((failure?.retryAfter ?? 0) * 1000, bounds.retryAfterMsMax)
}

export function alarm(kind: 'breaker_opened' | 'breaker_closed', { provider, model }: TargetState, fleet: Fleet): void {
  fleet.onAlarm({ kind, provider, model })
}

// The one that has waited longest goes first: there may be more of them than probes at once.
function probeDueTargets(fleet: Fleet, nowMs: number): void {
  const due: TargetState[] = []
  for (const state of fleet.targets()) if (isDue(state.breaker, nowMs)) due.push(state)
  due.sort((a, b) => a.breaker.openUntilMs - b.breaker.openUntilMs)
  for (const state of due) {
    const badge = nextBadge(fleet.keyringOf(state), state.model, nowMs, ANY_USABLE)
    if (badge !== undefined && askBy(badge, state, state.model, fleet)) probing(state.breaker)
  }
}

const ANY_USABLE = { stickTo: undefined, tried: [], evenBarred: false } as const

function askBy(badge: Badge, state: TargetState, model: string, fleet: Fleet): boolean {
  const provider = fleet.providerOf(badge)
  if (provider === undefined) return false
  const question = { provider, model, credential: badge.credential }
  const wasClosed = state.breaker.state === 'closed'
  const asked = fleet.probes.ask(state.key, question, failure => answered(badge, state, failure, wasClosed, fleet))
  if (asked) state.probedAtMs = fleet.clock.monotonic()
  return asked
}

function answered(
  badge: Badge,
  state: TargetState,
  failure: Failure | undefined,
  wasClosed: boolean,
  fleet: Fleet,
): void {
  const { breaker } = state
  const found = findingOf(badge, state, failure, fleet)
  // Callers' requests have changed the breaker meanwhile, and they are better evidence.
  if (wasClosed !== (breaker.state === 'closed')) return
  if (found === 'nothing') {
    inconclusive(breaker)
    return
  }
  const isWell = found === 'well'
  if (!probed(breaker, isWell ? undefined : found, fleet.clock.monotonic(), fleet.bounds)) return
  alarm(isWell ? 'breaker_closed' : 'breaker_opened', state, fleet)
}

// What a probe says about the target; a rejected or limited credential is not the target's fault while there is another.
function findingOf(
  badge: Badge,
  state: TargetState,
  failure: Failure | undefined,
  fleet: Fleet,
): 'well' | 'nothing' | { readonly retryAfterMs: number } {
  if (failure === undefined || failure.kind === 'rejected') return 'well'
  if (failure.kind === 'credential' && failure.status === 401 && badge.credential !== undefined) {
    judge(badge, state.model, failure, fleet)
    return 'nothing'
  }
  if (saysNothing(failure)) return 'nothing'
  if (failure.kind === 'limited' && failure.status === 429) {
    const nowMs = fleet.clock.monotonic()
    setAside(badge, state.model, failure.retryAfter, nowMs, fleet.bounds)
    if (barred(fleet.keyringOf(state), state.model, nowMs) === undefined) return 'nothing'
  }
  return { retryAfterMs: waitMsOf(failure, fleet) }
}

// The result of a probe with this credential. Only a second 401 confirms the rejection; a rejected credential becomes active
// again only by an answer.
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
