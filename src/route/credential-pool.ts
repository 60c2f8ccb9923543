// By which of our secrets a provider is called: in turn, but for those that it refuses and those that are limited. A 401
// only raises a suspicion, which a question without any caller's content confirms; a 403 may be about the input and says
// nothing. A limit is one credential's and one model's. See docs/decisions/credentials-and-retries.md.
import type { Credential } from '../domain/catalog.ts'

export type CredentialBounds = {
  readonly limitedMsDefault: number
  readonly retryAfterMsMax: number
  readonly deadCredentialProbedEveryMs: number
}

// One of a provider's credentials, or the place of the one that a provider does not ask for.
export type Badge = {
  readonly provider: string
  readonly credential: Credential | undefined
  state: 'active' | 'suspected' | 'dead'
  // When it was last asked about, and when a dead one is asked about again.
  askedAtMs: number
  probeAtMs: number
  // The model by which it was found dead, to ask about it again.
  probeModel: string
  // Until when it is limited, by model.
  readonly limitedUntilMs: Map<string, number>
}

// A provider's badges and whose turn it is.
export type Keyring = { readonly badges: readonly Badge[]; turn: number }

export function newBadge(provider: string, credential: Credential | undefined): Badge {
  const askedAtMs = Number.NEGATIVE_INFINITY
  return { provider, credential, state: 'active', askedAtMs, probeAtMs: 0, probeModel: '', limitedUntilMs: new Map() }
}

// Why nothing can be sent there now, if so; looks without changing anything.
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
  // Those that this request has tried there.
  readonly tried: readonly Badge[]
  // Nobody can be called, and this is the request that is sent all the same.
  readonly evenBarred: boolean
}

// The next in turn that is neither dead, limited nor tried; a suspected one only if there is no other, and a dead one only
// as the last resort: an operator may have mended it where we cannot see. The same number
// to stick to gives the same one as long as it can serve, since prompt caches are an organisation's own.
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

// When the first of them may be used again for a model; undefined when waiting alone helps none.
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

// For operators: until when the last of its limits is in force; null when there is none.
export function limitedUntil(badge: Badge, nowMs: number): number | null {
  let until: number | null = null
  for (const end of badge.limitedUntilMs.values()) if (end > nowMs && end > (until ?? 0)) until = end
  return until
}

export function forgetPastLimits(badge: Badge, nowMs: number): void {
  for (const [model, until] of badge.limitedUntilMs) if (until <= nowMs) badge.limitedUntilMs.delete(model)
}
