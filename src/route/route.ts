// Finds an upstream that begins to answer: candidates in order, each until its first content, all within one deadline and
// the budget for second tries. Until then a failure is ours to mend and the caller sees nothing of it.
import type { Model } from '../domain/catalog.ts'
import type { Models } from '../domain/chat-models.ts'
import { Failure, mayTryAnother } from '../domain/failure.ts'
import type { Answer } from '../domain/handoff.ts'
import type { Attempt } from '../domain/usage.ts'
import type { Clock } from '../lib/clock.ts'
import { type AttemptNeeds, type AttemptRequest, attempt } from './attempt.ts'
import type { Badge } from './credentials.ts'
import type { Candidate, Choice } from './fleet.ts'
import { numberOf } from './sticky.ts'
import { broughtBack, setOut, type Trip } from './trip.ts'

export type RouteRequest = AttemptRequest & {
  readonly accountId: string
  readonly stickTo: string | null
  // The first is the one to speak of when nobody served.
  readonly models: Models
  // Told whenever a request has left for an upstream, so that a checkpoint can say who was called.
  onDispatch(provider: string, model: Model, at: number): void
}

export type RouteNeeds = AttemptNeeds & {
  readonly clock: Clock
  readonly attemptsMax: number
  readonly onFailure: (provider: string, failure: Failure) => void
}

export async function route(request: RouteRequest, choice: Choice, needs: RouteNeeds): Promise<Answer> {
  const { clock, fleet } = needs
  const { considered } = choice
  let [called] = request.models
  const attempts: Attempt[] = []
  const failures: Failure[] = []
  let dispatchedAt: number | null = null
  const way = wayThrough(choice, request, needs)
  const deadline = clock.monotonic() + (choice.queue[0]?.provider.timeouts.totalMs ?? 0)
  fleet.budget.saw(request.accountId)

  for (let trip = way.first(); trip !== undefined; trip = way.next(trip, failures)) {
    const leftMs = deadline - clock.monotonic()
    if (request.client.gone || (attempts.length > 0 && leftMs < RETRY_MS_MIN)) {
      broughtBack(trip)
      break
    }
    const { model, target } = trip.candidate
    const { provider } = target
    called = model
    dispatchedAt = null
    const onSent = () => {
      dispatchedAt = clock.now()
      request.onDispatch(provider, model, dispatchedAt)
    }
    const begun = await tryOnce(trip, request, { totalMsMax: leftMs, onSent }, needs)
    const ms = Math.round(clock.monotonic() - trip.startedMs)

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
    needs.onFailure(provider, begun)
    if (attempts.length >= needs.attemptsMax) break
  }
  if (attempts.length === 0 && !request.client.gone) failures.push(nobody(choice))
  return { model: called, attempts, considered, failures, dispatchedAt, served: undefined }
}

// With less time than this left, another try would only make an upstream work for nobody.
const RETRY_MS_MIN = 50

async function tryOnce(trip: Trip, request: RouteRequest, leaving: Parameters<typeof attempt>[2], needs: RouteNeeds) {
  try {
    return await attempt(trip, request, leaving, needs)
  } catch (error) {
    // A bug of ours says nothing about the target.
    broughtBack(trip)
    throw error
  }
}

type Way = {
  first(): Trip | undefined
  // Where to go after this trip failed; undefined: nowhere.
  next(failed: Trip, failures: readonly Failure[]): Trip | undefined
}

// The way through a choice's candidates: each once, but for another credential where one was refused or limited, and once
// more over a fresh connection where an old one had gone stale.
function wayThrough(choice: Choice, request: RouteRequest, { fleet }: RouteNeeds): Way {
  const { queue, lastResort } = choice
  const { accountId } = request
  const stickTo = request.stickTo === null ? undefined : numberOf(request.stickTo)
  let at = 0
  let tried: readonly Badge[] = NONE
  let wasStale = false

  const out = (candidate: Candidate) =>
    setOut(candidate, { accountId, stickTo, tried, lastResort: lastResort !== undefined }, fleet)

  // Whoever has opened or run out of credentials meanwhile is passed over.
  function onwards(mayServe: (candidate: Candidate) => boolean): Trip | undefined {
    tried = NONE
    wasStale = false
    for (; at < queue.length; at++) {
      const candidate = queue[at] as Candidate
      const trip = mayServe(candidate) ? out(candidate) : undefined
      if (trip !== undefined) return trip
    }
    return undefined
  }

  // Nobody is sent on before the budget agrees; a trip that it refuses is none.
  function ifAfforded(trip: Trip | undefined): Trip | undefined {
    if (trip === undefined || fleet.budget.take(accountId)) return trip
    broughtBack(trip)
    return undefined
  }

  return {
    first() {
      if (lastResort !== undefined && !fleet.takeLastResort(lastResort)) return undefined
      return onwards(anyone)
    },
    next({ candidate, badge }, failures) {
      const failure = failures.at(-1) as Failure
      if (failure.tooLong) {
        at += 1
        return ifAfforded(onwards(({ model }) => model.contextLength > candidate.model.contextLength))
      }
      if (!mayTryAnother(failure) || twoServerErrors(failures)) return undefined
      // A pooled socket may close just as we write on it: that says nothing about the target.
      if (failure.stale && !wasStale) {
        wasStale = true
        return out(candidate)
      }
      if (failure.status === 401 || failure.status === 429) {
        tried = [...tried, badge]
        const again = out(candidate)
        if (again !== undefined) return ifAfforded(again)
      }
      at += 1
      return ifAfforded(onwards(anyone))
    },
  }
}

const NONE: readonly Badge[] = []
const anyone = () => true

// Content that made two servers fall over is not tried on a third.
function twoServerErrors(failures: readonly Failure[]): boolean {
  let count = 0
  for (const { kind, status } of failures) if (kind !== 'limited' && status !== undefined && status >= 500) count += 1
  return count >= 2
}

// Every breaker is open, every credential limited or dead, or the request's own wishes leave nobody.
function nobody({ waitMs }: Choice): Failure {
  return new Failure('limited', 'no target can be called now', { retryAfter: Math.max(1, Math.ceil(waitMs / 1000)) })
}
