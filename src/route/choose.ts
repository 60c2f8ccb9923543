// Chooses who serves a request: matches all targets of its models with its preferences and their health and orders them, each
// with the reason for its position. Read-only, so that a quote can use it as well.
import type { Model } from '../domain/catalog.ts'
import { type Chat, isNative, type Models } from '../domain/chat.ts'
import { fetchesMedia } from '../domain/remote-media.ts'
import { type Considered, NO_WISHES, REASON_OF, type Reason, type RoutingPreferences } from '../domain/routing.ts'
import { isUnhealthy } from './circuit-breaker.ts'
import { barred, freeAtMs } from './credential-pool.ts'
import { placeAsked, unfitModel, unwantedProvider } from './preferences.ts'
import { type Circumstances, type Ranked, rank } from './rank.ts'
import { stick } from './sticky.ts'
import type { Candidate, Choice, Targets } from './targets.ts'

export type ChooseRequest = {
  readonly chat: Chat
  // The models that may serve, in the caller's order: the first was requested, the others are fallbacks.
  readonly models: Models
  // Models that the caller names and that cannot answer, for the explanation.
  readonly unfit: readonly Considered[]
  // Requests with the same identifier go to the same target while it is healthy, so that its prompt cache stays warm.
  readonly stickTo: string | null
}

export type ChooseNeeds = { readonly targets: Targets; readonly random: () => number }

export function choose(request: ChooseRequest, needs: ChooseNeeds): Choice {
  const { targets } = needs
  const { preferences } = request.chat
  const nowMs = targets.clock.monotonic()
  const isPlain = request.chat.remoteMedia === undefined && request.chat.untranslatable === undefined
  if (request.models.length === 1 && preferences === NO_WISHES && request.stickTo === null && isPlain) {
    const all = targets.candidates(request.models[0])
    const only = all[0]
    if (only !== undefined && all.length === 1 && blockOf(only, nowMs) === undefined) return only.alone
  }

  const at: Circumstances = { chat: request.chat, nowMs, random: needs.random }
  const sorted = request.models.map((model, index) => sort(model, index, request, at, targets))
  const placed = sorted.flatMap(entry => entry.placed)
  const out = [...sorted.flatMap(entry => entry.out), ...request.unfit]
  const blocked = sorted.flatMap(entry => entry.blocked)
  if (!preferences.allowFallbacks) {
    for (const { candidate } of placed.splice(1)) out.push(notTried(candidate, 'no_fallbacks'))
  }
  if (placed.length === 0) return whenBlocked(blocked, out, nowMs, targets)
  return {
    queue: placed.map(({ candidate }) => candidate),
    considered: [
      ...placed.map(({ candidate, reason }, position) => considered(candidate, position, reason)),
      ...blocked.map(({ candidate, reason }) => notTried(candidate, reason)),
      ...out,
    ],
    evenBarred: false,
    lastResort: undefined,
    waitMs: 0,
    unwanted: false,
  }
}

// It would have to fetch an image, and does not.
function unfetching({ provider }: Candidate, { remoteMedia }: Chat): Reason | undefined {
  return remoteMedia === undefined || fetchesMedia(provider) ? undefined : 'no_remote_media'
}

// It speaks another dialect, in which the request cannot be expressed.
function untranslated({ provider }: Candidate, chat: Chat): Reason | undefined {
  return chat.untranslatable === undefined || isNative(chat, provider) ? undefined : 'other_dialect'
}

type Placed = { readonly candidate: Candidate; readonly reason: Reason }
type Blocked = Placed & { readonly untilMs: number | undefined }
type Sorted = { readonly placed: Placed[]; readonly blocked: readonly Blocked[]; readonly out: Considered[] }

// The candidates of one model: healthy ones in order, then unhealthy ones, then those that cannot be called now, then those that
// may not serve.
function sort(model: Model, index: number, request: ChooseRequest, at: Circumstances, targets: Targets): Sorted {
  const { chat, stickTo } = request
  const { preferences } = chat
  const well: Candidate[] = []
  const unwell: Candidate[] = []
  const blocked: Blocked[] = []
  const out: Considered[] = []
  const unfit = unfitModel(model, chat)
  for (const candidate of targets.candidates(model)) {
    const unwanted =
      unfit ??
      unwantedProvider(candidate.provider.id, preferences) ??
      untranslated(candidate, chat) ??
      unfetching(candidate, chat)
    const block = unwanted === undefined ? blockOf(candidate, at.nowMs) : undefined
    if (unwanted !== undefined) out.push(notTried(candidate, unwanted))
    else if (block !== undefined) blocked.push(block)
    else if (isUnhealthy(candidate.state.breaker, at.nowMs, targets.bounds)) unwell.push(candidate)
    else well.push(candidate)
  }

  const strategy = preferences.sort ?? model.strategy
  const asked = (ranked: readonly Ranked[]) =>
    preferences.order.length === 0 ? ranked : inAskedOrder(ranked, preferences)
  const first = asked(rank(well, strategy, at))
  const isNamed = (candidate: Candidate) => placeAsked(candidate.provider.id, preferences) < preferences.order.length
  const stuck = stickTo === null ? first : stick(first, stickTo)
  const placed = stuck.map(({ candidate }, position): Placed => {
    if (index > 0) return { candidate, reason: 'fallback_model' }
    if (isNamed(candidate)) return { candidate, reason: 'requested_order' }
    return { candidate, reason: stickTo !== null && position === 0 ? 'sticky' : REASON_OF[strategy] }
  })
  const behind = asked(rank(unwell, strategy, at)).map(({ candidate }): Placed => ({ candidate, reason: 'unhealthy' }))
  return { placed: [...placed, ...behind], blocked, out }
}

// Providers named by the caller go first, and each is a separate group: nothing may be ordered before them.
function inAskedOrder(ranked: readonly Ranked[], preferences: RoutingPreferences): readonly Ranked[] {
  const place = ({ candidate }: Ranked) => placeAsked(candidate.provider.id, preferences)
  return ranked
    .map(entry => {
      const at = place(entry)
      return at < preferences.order.length ? { ...entry, group: Number.MIN_SAFE_INTEGER + at } : entry
    })
    .sort((a, b) => place(a) - place(b))
}

// Why it cannot be called at this moment, and until when.
function blockOf(candidate: Candidate, nowMs: number): Blocked | undefined {
  const { breaker } = candidate.state
  if (breaker.state !== 'closed') {
    // After its pause a probe is in flight: the result is near.
    const untilMs = Math.max(breaker.openUntilMs, nowMs)
    return { candidate, reason: 'breaker_open', untilMs }
  }
  const reason = barred(candidate.credentialPool, candidate.target.model, nowMs)
  if (reason === undefined) return undefined
  return { candidate, reason, untilMs: freeAtMs(candidate.credentialPool, candidate.target.model) }
}

// No target can be called normally. Where only credentials are the obstacle, they are tried anyway: there is no alternative, and
// the upstream's current answer is better than its last one. Where breakers are open, one request at a time goes to the least
// bad.
function whenBlocked(blocked: readonly Blocked[], out: readonly Considered[], nowMs: number, targets: Targets): Choice {
  const inOrder = blocked.toSorted((a, b) => badness(a) - badness(b))
  const barredOnly = inOrder.filter(({ reason }) => reason !== 'breaker_open')
  const leastBad = barredOnly.length === 0 ? inOrder[0] : undefined
  const lastResort = leastBad?.candidate.model.id
  const isTaken = lastResort !== undefined && !targets.lastResorts.isFree(lastResort)
  const tried = leastBad === undefined || isTaken ? barredOnly : [leastBad]
  const left = inOrder.filter(entry => !tried.includes(entry))
  return {
    queue: tried.map(({ candidate }) => candidate),
    considered: [
      ...tried.map(({ candidate, reason }, at) =>
        considered(candidate, at, leastBad === undefined ? reason : 'last_resort'),
      ),
      ...left.map(({ candidate, reason }) => notTried(candidate, reason)),
      ...out,
    ],
    evenBarred: true,
    lastResort,
    waitMs: Math.max(0, (inOrder[0]?.untilMs ?? nowMs) - nowMs),
    unwanted: blocked.length === 0,
  }
}

// Targets for which waiting helps, soonest first, go before one whose credentials are all rejected.
function badness({ untilMs }: Blocked): number {
  return untilMs ?? Number.POSITIVE_INFINITY
}

function considered({ model, provider }: Candidate, position: number, reason: Reason): Considered {
  return { model: model.id, provider: provider.id, position, reason }
}

function notTried({ model, provider }: Candidate, reason: Reason): Considered {
  return { model: model.id, provider: provider.id, position: null, reason }
}
