// Settlement: the cost of a request, booked in one transaction with its row before the last byte is sent.
import { type Model, priceSnapshot } from '../domain/catalog.ts'
import { type Chat, type Models, outputBoundOf } from '../domain/chat.ts'
import { costOf, type Nano, NO_TOKENS, type Tokens, upstreamCostOf } from '../domain/credits.ts'
import { refusalFor } from '../domain/failure.ts'
import type { Delivery, Receipt } from '../domain/handoff.ts'
import { type Estimates, meterUsage, readUsage, unknowns } from '../domain/metering.ts'
import { promptMax } from '../domain/prompt.ts'
import { mayReasonUnseen } from '../domain/reasoning.ts'
import { Refusal } from '../domain/refusal.ts'
import type { Considered } from '../domain/routing.ts'
import type { UsageSource } from '../domain/usage.ts'
import type { Clock } from '../lib/clock.ts'
import type { CoarseTimers } from '../lib/coarse-timers.ts'
import { memoize } from '../lib/memoize.ts'
import type { Pauses } from '../lib/pauses.ts'
import { type BillingStore, NOTHING_SERVED, type Settled, type Settlement } from '../store/contract/store.ts'
import { outputEstimate, promptEstimate, type TokenCounter } from './estimate.ts'
import { errorOf, reasonOf } from './reason.ts'

// A reserved hold: released on every exit path, unless it was settled.
export type Held = {
  readonly requestId: string
  readonly accountId: string
  readonly chat: Chat
  // The models that may answer; the row has the price of the first.
  readonly models: Models
  readonly hold: Nano
  // The maximum number of tokens per choice, whichever model answers; null: the model's maximum.
  readonly capTokens: number | null
  settled: boolean
  // A checkpoint has stored another price than the first model's. If the row is recovered with it, a late settlement has to
  // restore its own price.
  pricedOtherwise: boolean
  // Removes it from the list of live requests.
  forget(): void
}

export type SettleNeeds = {
  readonly billing: Pick<BillingStore, 'settle'>
  readonly counter: TokenCounter
  readonly clock: Clock
  readonly settleWaitMs: number
  readonly timers: CoarseTimers
  // Between retries of a settlement that the store did not accept; a drain ends them.
  readonly pauses: Pick<Pauses, 'rest'>
  readonly onClamped: (requestId: string) => void
  readonly onLate: (requestId: string, error: unknown) => void
  // Not a regular booking: the row had been recovered meanwhile, or does not exist.
  readonly onOddlySettled: (requestId: string, settled: 'corrected' | 'unknown') => void
}

export type Ending = {
  readonly receipt: Receipt
  readonly refusal: Refusal | undefined
  readonly httpStatus: number
}

// `booked` receives the cost when it is booked, or when the wait for the store has ended.
export async function settle(
  held: Held,
  delivery: Delivery,
  booked: (cost: Nano) => void,
  needs: SettleNeeds,
): Promise<Ending> {
  const priced = owes(delivery) ? price(held, delivery, needs) : NOTHING
  const bill = priced instanceof Promise ? await priced : priced
  const refusal =
    delivery.outcome === 'upstream_failed' || delivery.outcome === 'upstream_broke' ? refusalOf(delivery) : undefined
  const reason = reasonOf(refusal, held.chat, delivery)
  const stored = priceOf(delivery.answer.model, held)
  const { answer } = delivery
  // The status that the caller saw: 200 once the headers were sent.
  const httpStatus = refusal !== undefined && !delivery.headersLeft ? refusal.status : 200
  await book(
    held,
    {
      requestId: held.requestId,
      outcome: delivery.outcome,
      httpStatus,
      errorCode: reason.errorCode,
      errorMessage: reason.errorMessage,
      errorDetail: reason.errorDetail,
      finishReason: delivery.finishReason,
      modelServed: answer.served === undefined ? null : answer.model.id,
      provider: answer.served?.provider ?? null,
      attempts: answer.attempts.length === 0 ? null : JSON.stringify(answer.attempts),
      routing: routingOf(answer.considered),
      tokens: bill.tokens,
      usageSource: bill.source,
      cost: bill.cost,
      upstreamCost: bill.upstreamCost,
      priceVersion: stored.priceVersion,
      price: stored.price,
      firstByteAt: delivery.firstByteAt,
      finishedAt: needs.clock.now(),
      upstreamId: answer.served?.stream.upstreamId() ?? null,
    },
    needs,
  )
  booked(bill.cost)
  return {
    receipt: { tokens: bill.tokens, usageSource: bill.source, cost: bill.cost, outcome: delivery.outcome },
    refusal,
    httpStatus,
  }
}

// Most requests have one candidate, and its routing record is always the same.
function routingOf(considered: readonly Considered[]): string {
  return considered.length === 1 ? written(considered) : JSON.stringify(considered)
}

const written = memoize((considered: readonly Considered[]) => JSON.stringify(considered))

// The price to store in the row; nothing if the row already has it.
export function priceOf(model: Model, held: Held): Pick<Settlement, 'priceVersion' | 'price'> {
  return model === held.models[0] && !held.pricedOtherwise
    ? AS_HELD
    : { priceVersion: model.priceVersion, price: priceSnapshot(model.prices) }
}

const AS_HELD = { priceVersion: null, price: null }

// The exit path for a hold that nothing settled: an unexpected error costs the caller nothing. The status is the one that the
// caller saw.
export async function release(held: Held, httpStatus: number, needs: SettleNeeds): Promise<void> {
  if (held.settled) return
  await book(
    held,
    {
      ...NOTHING_SERVED,
      requestId: held.requestId,
      outcome: 'refused',
      ...errorOf(new Refusal('internal_error')),
      httpStatus,
      ...priceOf(held.models[0], held),
      finishedAt: needs.clock.now(),
    },
    needs,
  )
}

type Bill = {
  readonly tokens: Tokens
  readonly source: UsageSource
  readonly cost: Nano
  // The cost of the target that served; null when it states none, or when none served.
  readonly upstreamCost: Nano | null
}
const NOTHING: Bill = { tokens: NO_TOKENS, source: 'none', cost: 0n, upstreamCost: null }

// A promise only if something has to be estimated.
function price(held: Held, delivery: Delivery, needs: SettleNeeds): Bill | Promise<Bill> {
  const { served, model } = delivery.answer
  const reported = readUsage(delivery.usage)
  const seen = {
    output: delivery.output.any,
    finished: delivery.finishReason !== null,
    longCache: held.chat.longCache !== undefined,
    media: held.chat.media.length > 0,
    // An embedding has no output that could be unseen.
    unseen: delivery.outcome === 'client_left' && held.chat.embedding === undefined && endsUnseen(held.chat, model),
  }
  const bounds = { prompt: promptMax(held.chat, model), completion: held.chat.n * outputBoundOf(model, held.capTokens) }

  function billBy(estimates: Estimates): Bill {
    const { tokens, source, clamped } = meterUsage(reported, bounds, seen, estimates)
    if (clamped) needs.onClamped(held.requestId)
    const upstreamCost = served?.cost === undefined ? null : upstreamCostOf(tokens, served.cost)
    return { tokens, source, cost: costOf(tokens, model.prices), upstreamCost }
  }

  const unknown = unknowns(reported, seen)
  if (!unknown.prompt && !unknown.completion) return billBy(NONE_NEEDED)
  return estimate(unknown, held, delivery, needs.counter).then(billBy)
}

const NONE_NEEDED: Estimates = { prompt: 0, completion: 0 }

async function estimate(
  unknown: ReturnType<typeof unknowns>,
  { chat, accountId }: Held,
  { answer, output }: Delivery,
  counter: TokenCounter,
): Promise<Estimates> {
  return {
    prompt: unknown.prompt ? await promptEstimate(chat, answer.model, accountId, counter) : 0,
    completion: unknown.completion ? await outputEstimate(output, accountId, counter) : 0,
  }
}

// Whether only the end of the answer tells what was produced: a JSON answer arrives at once, and reasoning may not arrive at all.
export function endsUnseen(chat: Chat, model: Model): boolean {
  return !chat.stream || mayReasonUnseen(chat.reasoning, model)
}

function owes({ outcome, answer, output }: Delivery): boolean {
  switch (outcome) {
    case 'completed':
      return true
    case 'client_left':
      return answer.dispatchedAt !== null
    case 'upstream_broke':
      return output.any
    case 'upstream_failed':
      return false
  }
}

function refusalOf(delivery: Delivery): Refusal {
  return refusalFor(delivery.failure === undefined ? delivery.answer.failures : [delivery.failure])
}

// Retries while the process lives. The answer waits for it, but not longer than `settleWaitMs` when the store is unavailable.
function book(held: Held, bill: Settlement, needs: SettleNeeds): Promise<void> {
  held.settled = true
  return new Promise(resolve => {
    const late = needs.timers.set(needs.settleWaitMs, resolve)
    const booked = (settled: Settled) => {
      if (settled === 'corrected' || settled === 'unknown') needs.onOddlySettled(bill.requestId, settled)
      held.forget()
      late.cancel()
      resolve()
    }
    needs.billing.settle(bill).then(booked, error => void bookLate(bill, error, needs).then(booked))
  })
}

async function bookLate(bill: Settlement, first: unknown, needs: SettleNeeds): Promise<Settled> {
  let error = first
  for (let wait = 50; ; wait = Math.min(wait * 2, 5_000)) {
    needs.onLate(bill.requestId, error)
    await needs.pauses.rest(wait)
    try {
      return await needs.billing.settle(bill)
    } catch (again) {
      error = again
    }
  }
}
