// Finds an upstream that begins to answer: candidates in order, each until its first content, all within one deadline and the
// retry budget. Until then failures are retried and the caller does not see them.
import type { Model } from '../domain/catalog.ts'
import type { Models } from '../domain/chat.ts'
import { Failure, mayTryAnother } from '../domain/failure.ts'
import type { Answer } from '../domain/handoff.ts'
import { mayReasonUnseen, type ReasoningPreference } from '../domain/reasoning.ts'
import type { Attempt } from '../domain/usage.ts'
import type { Clock } from '../lib/clock.ts'
import { type AttemptNeeds, type AttemptRequest, attempt } from './attempt.ts'
import { type AttemptLease, beginAttempt, discardAttempt, type LeaseRequest } from './attempt-lease.ts'
import type { CredentialState } from './credential-pool.ts'
import type { SeenAccount } from './retry-budget.ts'
import { numberOf } from './sticky.ts'
import type { Candidate, Choice, Targets } from './targets.ts'

export type RouteRequest = AttemptRequest & {
  readonly account: SeenAccount
  readonly stickTo: string | null
  // The first is reported when none was called.
  readonly models: Models
  // Called whenever a request was sent to an upstream, so that a checkpoint can name it.
  onDispatch(provider: string, model: Model, at: number): void
  // Called when that one has failed.
  onFailed(failure: Failure): void
}

export type RouteNeeds = AttemptNeeds & {
  readonly clock: Clock
  readonly attemptsMax: number
  readonly onFailure: (provider: string, failure: Failure) => void
}

export async function route(request: RouteRequest, choice: Choice, needs: RouteNeeds): Promise<Answer> {
  const { clock, targets } = needs
  const { considered } = choice
  let [called] = request.models
  const cursor = failoverCursor(choice, request)
  const attempts: Attempt[] = []
  const failures: Failure[] = []
  let dispatchedAt: number | null = null
  const deadline = clock.monotonic() + (choice.queue[0]?.provider.timeouts.totalMs ?? 0)
  targets.budget.saw(request.account)

  for (
    let lease = firstAttempt(choice, cursor, targets);
    lease !== undefined;
    lease = attemptAfterFailure(cursor, lease, failures, targets)
  ) {
    const leftMs = deadline - lease.startedMs
    if (request.client.gone || (attempts.length > 0 && leftMs < RETRY_MS_MIN)) {
      discardAttempt(lease)
      break
    }
    const { model, target } = lease.candidate
    const { provider } = target
    called = model
    dispatchedAt = null
    const leaving = lease
    const onSent = () => {
      leaving.sent = true
      dispatchedAt = clock.now()
      request.onDispatch(provider, model, dispatchedAt)
    }
    const begun = await attempt(lease, request, { totalMsMax: leftMs, onSent }, needs)
    const ms = Math.round(clock.monotonic() - lease.startedMs)

    if (begun === 'client_left') {
      attempts.push({ provider, model: target.model, outcome: 'client_left', status: null, ms })
      break
    }
    if (!(begun instanceof Failure)) {
      attempts.push({ provider, model: target.model, outcome: 'answered', status: 200, ms })
      return { model, attempts, considered, failures, dispatchedAt, served: begun }
    }
    attempts.push({ provider, model: target.model, outcome: begun.kind, status: begun.status ?? null, ms })
    failures.push(begun)
    request.onFailed(begun)
    needs.onFailure(provider, begun)
    if (attempts.length >= needs.attemptsMax) break
  }
  if (attempts.length === 0 && !request.client.gone) failures.push(nobody(choice))
  return { model: called, attempts, considered, failures, dispatchedAt, served: undefined }
}

// With less time than this left, another attempt would only make an upstream work for nothing.
const RETRY_MS_MIN = 50

// The position of a request in its candidates: each once, except for another credential where one was rejected or limited, and
// once more over a fresh connection where a pooled one had gone stale.
type FailoverCursor = LeaseRequest & {
  readonly reasoning: ReasoningPreference
  readonly queue: readonly Candidate[]
  at: number
  tried: readonly CredentialState[]
  wasStale: boolean
  // The prompt does not fit into contexts up to this length.
  tooShort: number
}

function failoverCursor({ queue, evenBarred }: Choice, { account, stickTo, chat }: RouteRequest): FailoverCursor {
  const number = stickTo === null ? undefined : numberOf(stickTo)
  return {
    accountId: account.id,
    reasoning: chat.reasoning,
    stickTo: number,
    evenBarred,
    queue,
    at: 0,
    tried: NONE,
    wasStale: false,
    tooShort: 0,
  }
}

const NONE: readonly CredentialState[] = []

// A last resort is for one request at a time, and accounts take turns.
function firstAttempt({ lastResort }: Choice, cursor: FailoverCursor, targets: Targets): AttemptLease | undefined {
  if (lastResort !== undefined && !targets.lastResorts.take(lastResort, cursor.accountId)) return undefined
  return nextAttempt(cursor, targets)
}

// Moves to the next candidate that can be called; those that have opened or run out of credentials meanwhile are skipped.
function nextAttempt(cursor: FailoverCursor, targets: Targets): AttemptLease | undefined {
  cursor.tried = NONE
  cursor.wasStale = false
  for (; cursor.at < cursor.queue.length; cursor.at++) {
    const candidate = cursor.queue[cursor.at] as Candidate
    if (candidate.model.contextLength <= cursor.tooShort) continue
    const lease = beginAttempt(candidate, cursor, targets)
    if (lease !== undefined) return lease
  }
  return undefined
}

// Where to go after a failure; undefined: nowhere.
function attemptAfterFailure(
  cursor: FailoverCursor,
  failed: AttemptLease,
  failures: readonly Failure[],
  targets: Targets,
): AttemptLease | undefined {
  const { candidate, credentialState } = failed
  const failure = failures.at(-1) as Failure
  if (!failure.tooLong && (!mayTryAnother(failure) || twoServerErrors(failures))) return undefined
  if (mayHaveThought(failed, cursor.reasoning, failure)) return undefined
  // A pooled socket may close just as we write to it: that says nothing about the target.
  if (failure.stale && !cursor.wasStale) {
    cursor.wasStale = true
    return beginAttempt(candidate, cursor, targets)
  }
  let next: AttemptLease | undefined
  if (failure.status === 401 || failure.status === 429) {
    cursor.tried = [...cursor.tried, credentialState]
    next = beginAttempt(candidate, cursor, targets)
  }
  if (next === undefined) {
    cursor.at += 1
    if (failure.tooLong) cursor.tooShort = Math.max(cursor.tooShort, candidate.model.contextLength)
    next = nextAttempt(cursor, targets)
  }
  if (next === undefined || targets.budget.take(cursor.accountId)) return next
  discardAttempt(next)
  return undefined
}

// A timeout does not prove that nothing was produced: a model with hidden reasoning may have worked all that time, and the next
// one would do it again.
function mayHaveThought(
  { candidate, sent }: AttemptLease,
  preference: ReasoningPreference,
  { kind }: Failure,
): boolean {
  return sent && mayReasonUnseen(preference, candidate.model) && (kind === 'timeout' || kind === 'connect_timeout')
}

// Content that made two servers fail is not tried on a third.
function twoServerErrors(failures: readonly Failure[]): boolean {
  let count = 0
  for (const { kind, status } of failures) if (kind !== 'limited' && status !== undefined && status >= 500) count += 1
  return count >= 2
}

// Every breaker is open, every credential limited or rejected, or the request's own preferences leave no candidate.
function nobody({ waitMs }: Choice): Failure {
  return new Failure('limited', 'no target is available', { retryAfter: Math.max(1, Math.ceil(waitMs / 1000)) })
}
