// The reservation: the request's row is committed, or the decision becomes the caller's refusal. The cached key record may turn
// out to be stale here; then it is read again.
import assert from 'node:assert/strict'
import { formatCredits } from '../domain/credits.ts'
import type { Pass } from '../domain/handoff.ts'
import type { Key } from '../domain/key.ts'
import { Refusal } from '../domain/refusal.ts'
import type { Clock } from '../lib/clock.ts'
import type {
  BillingStore,
  HoldEntry,
  Reservation,
  ReservationRequest,
  UnbilledEntry,
} from '../store/contract/store.ts'
import type { Authenticator } from './authenticate.ts'
import { type EndpointRule, permit } from './authorize.ts'
import type { Limits } from './rate-limit.ts'
import type { RefusalNotes } from './refusal-log.ts'

export type EnterNeeds = {
  readonly billing: Pick<BillingStore, 'reserve'>
  readonly authenticator: Authenticator
  readonly limits: Limits
  readonly clock: Clock
  readonly notes: Pick<RefusalNotes, 'hasRoom' | 'wrote'>
}

export type Granted = Extract<Reservation, { kind: 'reserved' }>
export type EntryTicket = {
  readonly rule: EndpointRule
  readonly entry: UnbilledEntry | HoldEntry
  // For an entry that is too expensive by the bytes of its prompt: the same by its token count, which is final.
  readonly counted?: () => Promise<HoldEntry>
}

const LOOKS_MAX = 5

export async function enter(pass: Pass, ticket: EntryTicket, needs: EnterNeeds): Promise<Granted> {
  let { entry } = ticket
  for (let look = 0; look < LOOKS_MAX; look++) {
    const { bearer } = pass
    const isRefusalCounted = !needs.notes.hasRoom(bearer.key.id)
    let verdict: Reservation
    try {
      verdict = await needs.billing.reserve(askOf(pass, ticket, entry, isRefusalCounted))
      if (verdict.kind === 'count_first') {
        entry = await countedOf(ticket)
        verdict = await needs.billing.reserve(askOf(pass, ticket, entry, isRefusalCounted))
      }
    } catch (error) {
      // An unavailable store is not the caller's fault: it must not lead to a 429 once the store is back.
      pass.giveBack()
      throw error
    }
    // A stale key and a suspended account leave no row.
    pass.hasRow = verdict.kind !== 'key_changed' && verdict.kind !== 'suspended' && verdict.kind !== 'count_first'
    if (verdict.kind === 'reserved') {
      needs.limits.sawDay(bearer.key, verdict.day, verdict.dayCount)
      needs.limits.confirmed?.(bearer.key)
      return verdict
    }
    if (verdict.kind === 'insufficient_funds' || verdict.kind === 'daily_spent') {
      pass.hasRow = !isRefusalCounted
      if (pass.hasRow) needs.notes.wrote(bearer.key.id)
    }
    assert(verdict.kind !== 'count_first')
    if (verdict.kind !== 'key_changed') throw refusalOf(verdict, pass, needs)
    needs.authenticator.forget(bearer.key.id)
    const since = needs.clock.monotonic()
    pass.bearer = await needs.authenticator.again(pass.call, pass.hash, { since, known: bearer })
    permit(pass.call, pass.bearer, ticket.rule)
    if (hasOtherLimits(bearer.key, pass.bearer.key)) await limitAgain(pass, needs)
  }
  throw new Refusal('service_unavailable', {
    retryAfter: 1,
    message: 'The key was changed several times during this request; try again.',
  })
}

async function countedOf({ counted }: EntryTicket): Promise<HoldEntry> {
  assert(counted !== undefined, 'an entry that may be counted comes with a way to count it')
  const entry = await counted()
  assert(entry.baseAtBest === null, 'a prompt is counted once')
  return entry
}

function askOf(
  pass: Pass,
  ticket: EntryTicket,
  entry: EntryTicket['entry'],
  isRefusalCounted: boolean,
): ReservationRequest {
  return {
    facts: pass.facts(),
    keyVersion: pass.bearer.key.version,
    graceExpiresAt: pass.bearer.secret.graceExpiresAt,
    evenIfSuspended: ticket.rule.evenIfSuspended,
    modelRequested: pass.modelRequested,
    stream: pass.stream,
    entry,
    isRefusalCounted,
  }
}

// The reservation's figures for the day and the credits are more recent than ours.
function hasOtherLimits(before: Key, now: Key): boolean {
  return before.rpmLimit !== now.rpmLimit || before.maxConcurrent !== now.maxConcurrent
}

// The record it was admitted with is no longer valid: it is admitted again.
async function limitAgain(pass: Pass, { limits }: EnterNeeds): Promise<void> {
  pass.giveBack()
  pass.leave()
  pass.giveBack = nothing
  const { giveBack, leave } = await limits.enter(pass.bearer, pass.endpoint)
  pass.giveBack = giveBack
  pass.leave = leave
}

function nothing(): void {}

function refusalOf(
  verdict: Exclude<Reservation, { kind: 'reserved' | 'key_changed' | 'count_first' }>,
  pass: Pass,
  needs: EnterNeeds,
): Refusal {
  const { bearer } = pass
  switch (verdict.kind) {
    case 'suspended':
      needs.authenticator.forgetAccounts()
      return new Refusal('account_suspended')
    case 'daily_spent':
      needs.limits.sawDay(bearer.key, verdict.day, verdict.dayCount)
      return needs.limits.dailySpent(bearer)
    case 'insufficient_funds':
      needs.limits.wasUnpaid(bearer.key)
      return short(verdict)
  }
}

function short(verdict: Extract<Reservation, { kind: 'insufficient_funds' }>): Refusal {
  const metadata = {
    available: formatCredits(verdict.available),
    owed: formatCredits(verdict.owed),
    required: formatCredits(verdict.required),
    affordable_max_tokens: verdict.affordableTokens,
    limit: verdict.limit,
  }
  if (verdict.heldByOthers) {
    return new Refusal('credits_held', { metadata, retryAfter: 2, headers: { 'x-should-retry': 'true' } })
  }
  const whose = verdict.limit === 'key' ? "the key's credit limit" : 'the account'
  const message =
    verdict.owed > 0n
      ? `The account is overdrawn by ${formatCredits(verdict.owed)} credits; add credits first.`
      : `This request needs up to ${metadata.required} credits; ${whose} has ${metadata.available} available.`
  return new Refusal('insufficient_credits', { message, metadata })
}
