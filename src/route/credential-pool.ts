// Round-robin over a provider's credentials, skipping rejected and rate-limited ones. A 401 only makes a credential suspect until
// a probe without any caller's content confirms it; a 403 may be about the input and says nothing. A limit applies to one
// credential and one model. See docs/decisions/credentials-and-retries.md.
import type { Credential } from '../domain/catalog.ts'

export type CredentialBounds = {
  readonly limitedMsDefault: number
  readonly retryAfterMsMax: number
  readonly deadCredentialProbedEveryMs: number
}

// One of a provider's credentials, or the slot of a provider that needs none.
export type CredentialState = {
  readonly provider: string
  readonly credential: Credential | undefined
  state: 'active' | 'suspected' | 'dead'
  // When it was last probed, and when a rejected one is probed again.
  probedAtMs: number
  probeAtMs: number
  // The model with which it was rejected, for the next probe.
  probeModel: string
  // The end of its rate limit, by model.
  readonly limitedUntilMs: Map<string, number>
}

// A provider's credentials and the position of the round-robin.
export type CredentialPool = { readonly credentials: readonly CredentialState[]; turn: number }

export function newCredentialState(provider: string, credential: Credential | undefined): CredentialState {
  const probedAtMs = Number.NEGATIVE_INFINITY
  return { provider, credential, state: 'active', probedAtMs, probeAtMs: 0, probeModel: '', limitedUntilMs: new Map() }
}

// Why nothing can be sent there now; read-only.
export function barred(
  credentialPool: CredentialPool,
  model: string,
  nowMs: number,
): 'no_credential' | 'rate_limited' | undefined {
  let alive = false
  for (const credentialState of credentialPool.credentials) {
    if (credentialState.state === 'dead') continue
    if (!isLimited(credentialState, model, nowMs)) return undefined
    alive = true
  }
  return alive ? 'rate_limited' : 'no_credential'
}

export type CredentialSelection = {
  readonly stickTo: number | undefined
  // Credentials that this request has already tried there.
  readonly tried: readonly CredentialState[]
  // No target can be called, and this request is sent anyway.
  readonly evenBarred: boolean
}

// The next one that is neither rejected, limited nor tried; a suspect one only if there is no other, and a rejected one only as
// the last resort: an operator may have fixed it at the provider. The same `stickTo` number gives the same credential as long as
// it can serve, since prompt caches belong to an organisation.
export function nextCredential(
  credentialPool: CredentialPool,
  model: string,
  nowMs: number,
  how: CredentialSelection,
): CredentialState | undefined {
  const { credentials } = credentialPool
  const first = how.stickTo ?? credentialPool.turn
  let suspected: CredentialState | undefined
  let dead: CredentialState | undefined
  for (let i = 0; i < credentials.length; i++) {
    const at = (first + i) % credentials.length
    const credentialState = credentials[at] as CredentialState
    if (how.tried.includes(credentialState)) continue
    if (credentialState.state === 'dead') {
      dead ??= credentialState
      continue
    }
    if (!how.evenBarred && isLimited(credentialState, model, nowMs)) continue
    if (credentialState.state === 'suspected') {
      suspected ??= credentialState
      continue
    }
    credentialPool.turn = (at + 1) % credentials.length
    return credentialState
  }
  return suspected ?? (how.evenBarred ? dead : undefined)
}

export function setAside(
  credentialState: CredentialState,
  model: string,
  retryAfter: number | undefined,
  nowMs: number,
  bounds: CredentialBounds,
) {
  const waitMs = Math.min(
    retryAfter === undefined ? bounds.limitedMsDefault : retryAfter * 1000,
    bounds.retryAfterMsMax,
  )
  credentialState.limitedUntilMs.set(model, nowMs + waitMs)
}

// It answered although it was limited.
export function noLongerLimited(credentialState: CredentialState, model: string): void {
  credentialState.limitedUntilMs.delete(model)
}

// When the first of them may be used again for a model; undefined when waiting does not help.
export function freeAtMs(credentialPool: CredentialPool, model: string): number | undefined {
  let soonest: number | undefined
  for (const credentialState of credentialPool.credentials) {
    if (credentialState.state === 'dead') continue
    const until = credentialState.limitedUntilMs.get(model) ?? 0
    if (soonest === undefined || until < soonest) soonest = until
  }
  return soonest
}

function isLimited(credentialState: CredentialState, model: string, nowMs: number): boolean {
  if (credentialState.limitedUntilMs.size === 0) return false
  return (credentialState.limitedUntilMs.get(model) ?? 0) > nowMs
}

// For operators: the end of the last of its limits; null when there is none.
export function limitedUntil(credentialState: CredentialState, nowMs: number): number | null {
  let until: number | null = null
  for (const end of credentialState.limitedUntilMs.values()) if (end > nowMs && end > (until ?? 0)) until = end
  return until
}

export function forgetPastLimits(credentialState: CredentialState, nowMs: number): void {
  for (const [model, until] of credentialState.limitedUntilMs)
    if (until <= nowMs) credentialState.limitedUntilMs.delete(model)
}
