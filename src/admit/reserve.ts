// The reservation: the request's row is committed, or the decision becomes the caller's refusal. The cached key record may turn
// out to be stale here; then it is read again.
import assert from 'node:assert/strict'
import type { Pass } from '../domain/handoff.ts'
import type { Key } from '../domain/key.ts'
import { budgetExceeded, insufficientFunds } from '../domain/limit-refusals.ts'
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
import { authorize, type EndpointRule } from './authorize.ts'
import type { Limits } from './rate-limit.ts'
import type { RefusalLog } from './refusal-log.ts'

export type ReserveNeeds = {
  readonly billing: Pick<BillingStore, 'reserve'>
  readonly authenticator: Authenticator
  readonly limits: Limits
  readonly clock: Clock
  readonly refusalLog: Pick<RefusalLog, 'hasCapacity' | 'wrote'>
}

export type Reserved = Extract<Reservation, { kind: 'reserved' }>
export type ReserveOptions = {
  readonly rule: EndpointRule
  readonly entry: UnbilledEntry | HoldEntry
  // For an entry that is too expensive by the bytes of its prompt: the same by its token count, which is final.
  readonly counted?: () => Promise<HoldEntry>
  // The key's record was replaced: decides again what depended on it, and may refuse.
  readonly whenChanged?: () => UnbilledEntry | HoldEntry | Promise<UnbilledEntry>
}

const LOOKS_MAX = 5

// These leave a row, unless refusals are counted.
const ROW_IF_REFUSED: ReadonlySet<Reservation['kind']> = new Set([
  'insufficient_funds',
  'budget_exceeded',
  'daily_spent',
])

export async function reserve(pass: Pass, options: ReserveOptions, needs: ReserveNeeds): Promise<Reserved> {
  let { entry } = options
  for (let look = 0; look < LOOKS_MAX; look++) {
    const { caller } = pass
    const isRefusalCounted = !needs.refusalLog.hasCapacity(caller.key.id)
    let reservation: Reservation
    try {
      reservation = await needs.billing.reserve(requestOf(pass, options, entry, isRefusalCounted))
      if (reservation.kind === 'count_first') {
        entry = await countedOf(options)
        reservation = await needs.billing.reserve(requestOf(pass, options, entry, isRefusalCounted))
      }
    } catch (error) {
      // An unavailable store is not the caller's fault: it must not lead to a 429 once the store is back.
      pass.giveBack()
      throw error
    }
    // A stale key and a suspended account leave no row.
    pass.hasRow =
      reservation.kind !== 'key_changed' && reservation.kind !== 'suspended' && reservation.kind !== 'count_first'
    if (reservation.kind === 'reserved') {
      needs.limits.sawDay(caller.key, reservation.day, reservation.dayCount)
      needs.limits.confirmed?.(caller.key)
      return reservation
    }
    if (ROW_IF_REFUSED.has(reservation.kind)) {
      pass.hasRow = !isRefusalCounted
      if (pass.hasRow) needs.refusalLog.wrote(caller.key.id)
    }
    assert(reservation.kind !== 'count_first')
    if (reservation.kind !== 'key_changed') throw refusalOf(reservation, pass, needs)
    needs.authenticator.forget(caller.key.id)
    const since = needs.clock.monotonic()
    pass.caller = await needs.authenticator.again(pass.call, pass.hash, { since, known: caller })
    authorize(pass.call, pass.caller, options.rule)
    if (hasOtherLimits(caller.key, pass.caller.key)) await limitAgain(pass, needs)
    if (options.whenChanged !== undefined) entry = await options.whenChanged()
  }
  throw new Refusal('service_unavailable', {
    retryAfter: 1,
    message: 'The key was changed several times during this request; try again.',
  })
}

async function countedOf({ counted }: ReserveOptions): Promise<HoldEntry> {
  assert(counted !== undefined, 'an entry that may be counted comes with a way to count it')
  const entry = await counted()
  assert(entry.baseAtBest === null, 'a prompt is counted once')
  return entry
}

function requestOf(
  pass: Pass,
  options: ReserveOptions,
  entry: ReserveOptions['entry'],
  isRefusalCounted: boolean,
): ReservationRequest {
  return {
    facts: pass.facts(),
    keyVersion: pass.caller.key.version,
    graceExpiresAt: pass.caller.secret.graceExpiresAt,
    evenIfSuspended: options.rule.evenIfSuspended,
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
async function limitAgain(pass: Pass, { limits }: ReserveNeeds): Promise<void> {
  pass.giveBack()
  pass.leave()
  pass.giveBack = nothing
  const { giveBack, leave } = await limits.enter(pass.caller, pass.endpoint)
  pass.giveBack = giveBack
  pass.leave = leave
}

function nothing(): void {}

function refusalOf(
  reservation: Exclude<Reservation, { kind: 'reserved' | 'key_changed' | 'count_first' }>,
  pass: Pass,
  needs: ReserveNeeds,
): Refusal {
  const { caller } = pass
  switch (reservation.kind) {
    case 'suspended':
      needs.authenticator.forgetAccounts()
      return new Refusal('account_suspended')
    case 'daily_spent':
      needs.limits.sawDay(caller.key, reservation.day, reservation.dayCount)
      return needs.limits.dailySpent(caller)
    case 'insufficient_funds':
      needs.limits.wasUnpaid(caller.key)
      return insufficientFunds(reservation)
    case 'budget_exceeded':
      needs.limits.wasUnpaid(caller.key)
      return budgetExceeded(reservation)
  }
}

export type CurrentKeyNeeds = Pick<ReserveNeeds, 'authenticator' | 'clock'>

// Decides by the key's record. It may have changed since it was read: a refusal stands only once a record that is read now gives
// the same result.
export function byCurrentKey<T>(decide: () => T, pass: Pass, needs: CurrentKeyNeeds): T | Promise<T> {
  try {
    return decide()
  } catch (error) {
    const isOfKey = error instanceof Refusal && error.code === 'model_not_allowed'
    if (!isOfKey) throw error
    return readAgain(pass, needs).then(decide)
  }
}

async function readAgain(pass: Pass, { authenticator, clock }: CurrentKeyNeeds): Promise<void> {
  pass.caller = await authenticator.again(pass.call, pass.hash, { since: clock.monotonic(), known: pass.caller })
}
