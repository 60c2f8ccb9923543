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
export type Badge = {
  readonly provider: string
  readonly credential: Credential | undefined
  state: 'active' | 'suspected' | 'dead'
  // When it was last probed, and when a rejected one is probed again.
  askedAtMs: number
  probeAtMs: number
  // The model with which it was rejected, for the next probe.
  probeModel: string
  // The end of its rate limit, by model.
  readonly limitedUntilMs: Map<string, number>
}

// A provider's credentials and the position of the round-robin.
export type Keyring = { readonly badges: readonly Badge[]; turn: number }

export function newBadge(provider: string, credential: Credential | undefined): Badge {
  const askedAtMs = Number.NEGATIVE_INFINITY
  return { provider, credential, state: 'active', askedAtMs, probeAtMs: 0, probeModel: '', limitedUntilMs: new Map() }
}

// Why nothing can be sent there now; read-only.
export function barred(keyring: Keyring, model: string, nowMs: number): 'no_credential' | 'rate_limited' | undefined {
  let alive = false
  for (const badge of keyring.badges) {
    if (badge.state === 'dead') continue
    if (!isLimited(badge, model, nowMs)) return undefined
    alive = true
  }
  return alive ? 'rate_limited' : 'no_credential'
}

export type BadgeWish = {
  readonly stickTo: number | undefined
  // Credentials that this request has already tried there.
  readonly tried: readonly Badge[]
  // No target can be called, and this request is sent anyway.
  readonly evenBarred: boolean
}

// The next one that is neither rejected, limited nor tried; a suspect one only if there is no other, and a rejected one only as
// the last resort: an operator may have fixed it at the provider. The same `stickTo` number gives the same credential as long as
// it can serve, since prompt caches belong to an organisation.
export function nextBadge(keyring: Keyring, model: string, nowMs: number, how: BadgeWish): Badge | undefined {
  const { badges } = keyring
  const first = how.stickTo ?? keyring.turn
  let suspected: Badge | undefined
  let dead: Badge | undefined
  for (let i = 0; i < badges.length; i++) {
    const at = (first + i) % badges.length
    const badge = badges[at] as Badge
    if (how.tried.includes(badge)) continue
    if (badge.state === 'dead') {
      dead ??= badge
      continue
    }
    if (!how.evenBarred && isLimited(badge, model, nowMs)) continue
    if (badge.state === 'suspected') {
      suspected ??= badge
      continue
    }
    keyring.turn = (at + 1) % badges.length
    return badge
  }
  return suspected ?? (how.evenBarred ? dead : undefined)
}

export function setAside(
  badge: Badge,
  model: string,
  retryAfter: number | undefined,
  nowMs: number,
  bounds: CredentialBounds,
) {
  const waitMs = Math.min(
    retryAfter === undefined ? bounds.limitedMsDefault : retryAfter * 1000,
    bounds.retryAfterMsMax,
  )
  badge.limitedUntilMs.set(model, nowMs + waitMs)
}

// It answered although it was limited.
export function noLongerLimited(badge: Badge, model: string): void {
  badge.limitedUntilMs.delete(model)
}

// When the first of them may be used again for a model; undefined when waiting does not help.
export function freeAtMs(keyring: Keyring, model: string): number | undefined {
  let soonest: number | undefined
  for (const badge of keyring.badges) {
    if (badge.state === 'dead') continue
    const until = badge.limitedUntilMs.get(model) ?? 0
    if (soonest === undefined || until < soonest) soonest = until
  }
  return soonest
}

function isLimited(badge: Badge, model: string, nowMs: number): boolean {
  if (badge.limitedUntilMs.size === 0) return false
  return (badge.limitedUntilMs.get(model) ?? 0) > nowMs
}

// For operators: the end of the last of its limits; null when there is none.
export function limitedUntil(badge: Badge, nowMs: number): number | null {
  let until: number | null = null
  for (const end of badge.limitedUntilMs.values()) if (end > nowMs && end > (until ?? 0)) until = end
  return until
}

export function forgetPastLimits(badge: Badge, nowMs: number): void {
  for (const [model, until] of badge.limitedUntilMs) if (until <= nowMs) badge.limitedUntilMs.delete(model)
}
