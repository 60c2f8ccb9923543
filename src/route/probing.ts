// Which targets and credentials are probed, when, and what the results mean: an open target is called again, a suspect credential
// is rejected or cleared. No caller's content is involved, so no caller can decide for the others. See
// docs/decisions/circuit-breaker.md.
import type { Failure } from '../domain/failure.ts'
import { inconclusive, isDue, probed, probing } from './circuit-breaker.ts'
import { barred, type CredentialState, nextCredential, setAside } from './credential-pool.ts'
import type { Candidate, TargetState, Targets } from './targets.ts'

// Runs periodically: open targets whose pause is over and rejected credentials are probed and recover by themselves, and expired
// state is dropped.
export function maintainTargets(targets: Targets): void {
  const nowMs = targets.clock.monotonic()
  probeDueTargets(targets, nowMs)
  for (const credentialState of targets.credentialStates()) {
    if (credentialState.state !== 'dead' || credentialState.probeAtMs > nowMs) continue
    credentialState.probeAtMs = nowMs + targets.bounds.deadCredentialProbedEveryMs
    probeCredential(credentialState, credentialState.probeModel, targets)
  }
  targets.prune()
}

// Too many failures that content may have caused: a probe decides whether it was the content.
export function probeTarget({ state, target }: Candidate, credentialState: CredentialState, targets: Targets): void {
  const nowMs = targets.clock.monotonic()
  if (nowMs - state.probedAtMs < targets.bounds.probeEveryMs) return
  startProbe(credentialState, state, target.model, targets)
}

export function probeCredential(credentialState: CredentialState, model: string, targets: Targets): void {
  // A credential that was removed meanwhile, or belongs to another address, is sent nowhere.
  const provider = targets.providerOf(credentialState)
  const { credential } = credentialState
  if (provider === undefined || credential === undefined) return
  const about = `${credentialState.provider}\n\n${credential.id}`
  const onResult = (failure: Failure | undefined) => applyResult(credentialState, model, failure, targets)
  if (!targets.probes.start(about, { provider, model, credential }, onResult)) return
  credentialState.probedAtMs = targets.clock.monotonic()
  if (credentialState.state === 'active') credentialState.state = 'suspected'
}

// The credential was accepted, whatever its state was.
export function trusted(credentialState: CredentialState, targets: Targets): void {
  const { provider, credential } = credentialState
  const wasDead = credentialState.state === 'dead'
  credentialState.state = 'active'
  if (wasDead && credential !== undefined) {
    targets.onAlarm({ kind: 'credential_alive', provider, credential: credential.id })
  }
}

// A rejected request, an answer that only its own caller can have caused, or something the gateway ended or could not send
// itself.
export function saysNothing({ kind, stale, ours, bySize }: Failure): boolean {
  return kind === 'rejected' || kind === 'cancelled' || kind === 'too_large' || stale || ours || bySize
}

export function waitMsOf(failure: Failure | undefined, { bounds }: Targets): number {
  return Math.min((failure?.retryAfter ?? 0) * 1000, bounds.retryAfterMsMax)
}

export function alarm(
  kind: 'breaker_opened' | 'breaker_closed',
  { provider, model }: TargetState,
  targets: Targets,
): void {
  targets.onAlarm({ kind, provider, model })
}

// The one that has waited longest goes first: there may be more of them than probes at once.
function probeDueTargets(targets: Targets, nowMs: number): void {
  const due: TargetState[] = []
  for (const state of targets.states()) if (isDue(state.breaker, nowMs)) due.push(state)
  due.sort((a, b) => a.breaker.openUntilMs - b.breaker.openUntilMs)
  for (const state of due) {
    const credentialState = nextCredential(targets.credentialPoolOf(state), state.model, nowMs, ANY_USABLE)
    if (credentialState !== undefined && startProbe(credentialState, state, state.model, targets))
      probing(state.breaker)
  }
}

const ANY_USABLE = { stickTo: undefined, tried: [], evenBarred: false } as const

function startProbe(credentialState: CredentialState, state: TargetState, model: string, targets: Targets): boolean {
  const provider = targets.providerOf(credentialState)
  if (provider === undefined) return false
  const target = { provider, model, credential: credentialState.credential }
  const wasClosed = state.breaker.state === 'closed'
  const asked = targets.probes.start(state.key, target, failure =>
    answered(credentialState, state, failure, wasClosed, targets),
  )
  if (asked) state.probedAtMs = targets.clock.monotonic()
  return asked
}

function answered(
  credentialState: CredentialState,
  state: TargetState,
  failure: Failure | undefined,
  wasClosed: boolean,
  targets: Targets,
): void {
  const { breaker } = state
  const found = findingOf(credentialState, state, failure, targets)
  // Callers' requests have changed the breaker meanwhile, and they are better evidence.
  if (wasClosed !== (breaker.state === 'closed')) return
  if (found === 'nothing') {
    inconclusive(breaker)
    return
  }
  const isWell = found === 'well'
  if (!probed(breaker, isWell ? undefined : found, targets.clock.monotonic(), targets.bounds)) return
  alarm(isWell ? 'breaker_closed' : 'breaker_opened', state, targets)
}

// What a probe says about the target; a rejected or limited credential is not the target's fault while there is another.
function findingOf(
  credentialState: CredentialState,
  state: TargetState,
  failure: Failure | undefined,
  targets: Targets,
): 'well' | 'nothing' | { readonly retryAfterMs: number } {
  if (failure === undefined || failure.kind === 'rejected') return 'well'
  if (failure.kind === 'credential' && failure.status === 401 && credentialState.credential !== undefined) {
    applyResult(credentialState, state.model, failure, targets)
    return 'nothing'
  }
  if (saysNothing(failure)) return 'nothing'
  if (failure.kind === 'limited' && failure.status === 429) {
    const nowMs = targets.clock.monotonic()
    setAside(credentialState, state.model, failure.retryAfter, nowMs, targets.bounds)
    if (barred(targets.credentialPoolOf(state), state.model, nowMs) === undefined) return 'nothing'
  }
  return { retryAfterMs: waitMsOf(failure, targets) }
}

// The result of a probe with this credential. Only a second 401 confirms the rejection; a rejected credential becomes active
// again only by an answer.
function applyResult(
  credentialState: CredentialState,
  model: string,
  failure: Failure | undefined,
  targets: Targets,
): void {
  const { provider, credential } = credentialState
  if (credential === undefined) return
  if (failure?.kind === 'credential' && failure.status === 401) {
    credentialState.probeModel = model
    credentialState.probeAtMs = targets.clock.monotonic() + targets.bounds.deadCredentialProbedEveryMs
    if (credentialState.state === 'dead') return
    credentialState.state = 'dead'
    targets.onAlarm({ kind: 'credential_dead', provider, credential: credential.id })
  } else if (credentialState.state !== 'dead') {
    credentialState.state = 'active'
  } else if (failure === undefined || failure.kind === 'rejected' || failure.status === 429) {
    trusted(credentialState, targets)
  }
}
