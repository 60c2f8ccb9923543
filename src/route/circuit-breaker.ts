// The circuit breaker of a target. Consecutive failures, or too high a failure rate, open it; after a pause a probe without any
// caller's content tests whether the target is healthy again. A failure that content may have caused counts only if other
// accounts corroborate it, so that one tenant's content cannot switch a target off for all (docs/decisions/circuit-breaker.md).
import { add, type Ewma, nothingYet, sumAt, weightAt } from '../lib/ewma.ts'

export type BreakerBounds = {
  readonly breakerFailuresInARowMax: number
  // Percent, and the minimum number of recent requests for it to apply.
  readonly breakerErrorPercentMax: number
  readonly breakerRequestsMin: number
  readonly breakerWindowMs: number
  readonly breakerOpenMs: number
  readonly breakerOpenMsMax: number
}

export type Breaker = {
  // In half_open a probe is in flight.
  state: 'closed' | 'open' | 'half_open'
  openUntilMs: number
  // How often it opened without a long healthy period in between: each time it stays open longer.
  opened: number
  closedAtMs: number
  // Consecutive failures that no content can cause.
  certainInARow: number
  // Every completed request, with 1 for a failure that no content can cause.
  readonly ends: Ewma
  // Failures that content may have caused, by account.
  readonly suspect: Map<string, SuspectFailures>
}

type SuspectFailures = { inARow: number; readonly recent: Ewma }

// Whether content may have caused a failure; `unsure` is not corroborated even by several accounts.
export type Cause = 'target' | 'maybe_content' | 'unsure'

export function newBreaker(): Breaker {
  return {
    state: 'closed',
    openUntilMs: 0,
    opened: 0,
    closedAtMs: 0,
    certainInARow: 0,
    ends: nothingYet(),
    suspect: new Map(),
  }
}

// Its pause is over: a probe tests whether the target is healthy again.
export function isDue(breaker: Breaker, nowMs: number): boolean {
  return breaker.state === 'open' && nowMs >= breaker.openUntilMs
}

export function probing(breaker: Breaker): void {
  if (breaker.state === 'open') breaker.state = 'half_open'
}

// The probe said nothing about the target, only about the gateway or a credential: the next one may.
export function inconclusive(breaker: Breaker): void {
  if (breaker.state === 'half_open') breaker.state = 'open'
}

// True if that closed it. Only a request that was sent although it was open can close it: requests in flight when it opened say
// nothing about now.
export function beganWell(breaker: Breaker, lastResort: boolean, nowMs: number): boolean {
  if (breaker.state !== 'closed') {
    if (!lastResort) return false
    close(breaker, nowMs)
    return true
  }
  breaker.certainInARow = 0
  if (breaker.suspect.size > 0) for (const suspectFailure of breaker.suspect.values()) suspectFailure.inARow = 0
  return false
}

export function endedWell(breaker: Breaker, nowMs: number, bounds: BreakerBounds): void {
  add(breaker.ends, 0, nowMs, bounds.breakerWindowMs)
}

export type BreakerFailure = {
  readonly cause: Cause
  readonly accountId: string
  readonly retryAfterMs: number
}

export type Verdict = 'stays' | 'opened' | 'ask_probe'

export function failed(breaker: Breaker, failure: BreakerFailure, nowMs: number, bounds: BreakerBounds): Verdict {
  const { cause } = failure
  add(breaker.ends, cause === 'target' ? 1 : 0, nowMs, bounds.breakerWindowMs)
  if (cause === 'target') breaker.certainInARow += 1
  else suspectFailure(breaker, cause === 'unsure' ? '' : failure.accountId, nowMs, bounds)

  // While it is open, probes alone decide for how long: no caller's failure prolongs it.
  if (breaker.state !== 'closed') return 'stays'
  if (isTooMuch(countedFailures(breaker, nowMs, bounds), breaker, nowMs, bounds)) {
    open(breaker, nowMs, failure.retryAfterMs, bounds)
    return 'opened'
  }
  return isTooMuch(allFailures(breaker, nowMs, bounds), breaker, nowMs, bounds) ? 'ask_probe' : 'stays'
}

// The result of a probe, which contains no caller's content. True if that opened or closed it.
export function probed(
  breaker: Breaker,
  failure: { readonly retryAfterMs: number } | undefined,
  nowMs: number,
  bounds: BreakerBounds,
): boolean {
  const wasClosed = breaker.state === 'closed'
  if (failure === undefined) close(breaker, nowMs)
  else open(breaker, nowMs, failure.retryAfterMs, bounds)
  return wasClosed === (failure !== undefined)
}

// Closed, but failing more often than a target should: others go first.
export function isUnhealthy(breaker: Breaker, nowMs: number, bounds: BreakerBounds): boolean {
  if (breaker.state !== 'closed' || (breaker.ends.sum === 0 && breaker.suspect.size === 0)) return false
  const seen = weightAt(breaker.ends, nowMs, bounds.breakerWindowMs)
  if (seen < bounds.breakerRequestsMin / 2) return false
  return countedFailures(breaker, nowMs, bounds).recent / seen > bounds.breakerErrorPercentMax / 200
}

function open(breaker: Breaker, nowMs: number, retryAfterMs: number, bounds: BreakerBounds): void {
  if (breaker.state === 'closed' && nowMs - breaker.closedAtMs > bounds.breakerOpenMsMax) breaker.opened = 0
  const openMs = Math.min(bounds.breakerOpenMs * 2 ** Math.min(breaker.opened, 20), bounds.breakerOpenMsMax)
  breaker.opened += 1
  breaker.state = 'open'
  breaker.openUntilMs = nowMs + Math.max(openMs, retryAfterMs)
}

// Healthy again: the recorded failures are cleared.
function close(breaker: Breaker, nowMs: number): void {
  if (breaker.state !== 'closed') breaker.closedAtMs = nowMs
  breaker.state = 'closed'
  breaker.certainInARow = 0
  breaker.ends.sum = 0
  breaker.ends.weight = 0
  breaker.suspect.clear()
}

type Count = { readonly inARow: number; readonly recent: number }

function isTooMuch({ inARow, recent }: Count, breaker: Breaker, nowMs: number, bounds: BreakerBounds): boolean {
  if (inARow >= bounds.breakerFailuresInARowMax) return true
  const seen = weightAt(breaker.ends, nowMs, bounds.breakerWindowMs)
  return seen >= bounds.breakerRequestsMin && (recent * 100) / seen >= bounds.breakerErrorPercentMax
}

function allFailures(breaker: Breaker, nowMs: number, bounds: BreakerBounds): Count {
  let inARow = breaker.certainInARow
  let recent = sumAt(breaker.ends, nowMs, bounds.breakerWindowMs)
  for (const suspectFailure of breaker.suspect.values()) {
    inARow += suspectFailure.inARow
    recent += sumAt(suspectFailure.recent, nowMs, bounds.breakerWindowMs)
  }
  return { inARow, recent }
}

// No account's suspect failures count for more than one above those of all others together.
function countedFailures(breaker: Breaker, nowMs: number, bounds: BreakerBounds): Count {
  const certainRecent = sumAt(breaker.ends, nowMs, bounds.breakerWindowMs)
  if (breaker.suspect.size < 2) return { inARow: breaker.certainInARow, recent: certainRecent }
  const rows: number[] = []
  const recents: number[] = []
  for (const [accountId, suspectFailure] of breaker.suspect) {
    if (accountId === '') continue
    rows.push(suspectFailure.inARow)
    recents.push(sumAt(suspectFailure.recent, nowMs, bounds.breakerWindowMs))
  }
  return { inARow: breaker.certainInARow + corroborated(rows), recent: certainRecent + corroborated(recents) }
}

function corroborated(counts: readonly number[]): number {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const others = total - Math.max(0, ...counts)
  return others === 0 ? 0 : Math.min(total, 2 * others + 1)
}

function suspectFailure(breaker: Breaker, accountId: string, nowMs: number, bounds: BreakerBounds): void {
  let known = breaker.suspect.get(accountId)
  if (known === undefined) {
    known = { inARow: 0, recent: nothingYet() }
    // The evicted account has waited longest for corroboration.
    if (breaker.suspect.size >= ACCOUNTS_MAX) breaker.suspect.delete(breaker.suspect.keys().next().value as string)
    breaker.suspect.set(accountId, known)
  }
  known.inARow += 1
  add(known.recent, 1, nowMs, bounds.breakerWindowMs)
}

const ACCOUNTS_MAX = 16
