// What a chat would cost and who would serve it, by the rules of a real request and without calling an upstream: the same plan,
// the same hold, and the state of every limit.
import assert from 'node:assert/strict'
import type { EndpointRule } from '../admit/authorize.ts'
import type { PromptCounts } from '../admit/count-tokens.ts'
import { holdEntry, isCovered, sizeByBytes, sizeByCount, worstCost } from '../admit/hold-estimate.ts'
import { byCurrentKey, type Reserved, type ReserveNeeds, reserve } from '../admit/reserve.ts'
import { tightestBudget } from '../domain/budget.ts'
import type { Model } from '../domain/catalog.ts'
import { type Chat, outputBoundOf } from '../domain/chat.ts'
import { costOf, type Nano, NO_TOKENS } from '../domain/credits.ts'
import type { Pass } from '../domain/handoff.ts'
import { countMayHelp, decideHold, type HoldDecision } from '../domain/hold.ts'
import { identifiersOf } from '../domain/identifiers.ts'
import type { Considered } from '../domain/routing.ts'
import { MODEL_NAME_MAX, storable } from '../domain/usage.ts'
import { type PlanNeeds, plan, planRequest, within } from '../route/plan.ts'
import { promptEstimate, type TokenCounter } from '../settle/estimate.ts'
import { NO_ERROR } from '../store/contract/store.ts'

export type QuoteNeeds = ReserveNeeds &
  PlanNeeds & {
    readonly counter: TokenCounter
    readonly outputCapMinTokens: number
    readonly promptCounts: PromptCounts
    readonly hmacKey: Buffer
    // The assumed answer length where the caller names no maximum.
    readonly quotedOutputTokens: number
  }

export type Quote = {
  readonly considered: readonly Considered[]
  // The target that would be tried first; the estimates are for this one.
  readonly model: string
  readonly prompt: { readonly estimate: number; readonly bound: number }
  readonly output: { readonly estimate: number; readonly bound: number }
  readonly estimated: Nano
  // Whichever of them serves.
  readonly worstCase: Nano
  // The cap per choice that a low balance would impose; null: none.
  readonly outputCap: number | null
  readonly decision: HoldDecision
  readonly reserved: Reserved
}

export async function quote(pass: Pass, rule: EndpointRule, chat: Chat, needs: QuoteNeeds): Promise<Quote> {
  const accountId = pass.caller.account.id
  const planNow = () => plan(planRequest(pass, chat, identifiersOf(chat, accountId, needs.hmacKey)), needs)
  pass.modelRequested = storable(chat.model, MODEL_NAME_MAX)
  pass.stream = chat.stream
  let planned = await byCurrentKey(planNow, pass, needs)
  const whenChanged = () => {
    planned = planNow()
    return QUOTED
  }
  const reserved = await reserve(pass, { rule, entry: QUOTED, whenChanged }, needs)
  const [first] = planned.models
  const promptTokens = await promptEstimate(chat, first, accountId, needs.counter)
  assert(reserved.balances !== null)
  const { balance, key, budgets } = reserved.balances
  const blocking = tightestBudget(budgets)
  let size = sizeByBytes(chat)
  let entry = holdEntry(chat, planned.models, size, needs.outputCapMinTokens)
  if (
    decideHold(entry, balance, key, blocking).kind === 'insufficient_funds' &&
    countMayHelp(entry, balance, key, blocking)
  ) {
    const { promptCounts, catalog } = needs
    size = await sizeByCount(chat, planned.models, accountId, { promptCounts, provider: catalog().provider })
    entry = holdEntry(chat, planned.models, size, needs.outputCapMinTokens)
  }
  const decision = decideHold(entry, balance, key, blocking)
  const isCapped = decision.kind === 'fits' && decision.outputTokens < entry.outputTokens
  const outputCap = isCapped ? decision.outputTokens : null
  const capTokens = outputCap ?? chat.maxTokens
  const covered = (model: Model) => !isCapped || isCovered(chat, model, size, capTokens, decision.hold)
  const bound = outputBoundOf(first, capTokens)
  const outputTokens = Math.min(chat.maxTokens ?? needs.quotedOutputTokens, bound)
  const worst = planned.models
    .filter(covered)
    .map(model => worstCost(chat, model, size, outputBoundOf(model, capTokens)))
  return {
    considered: within(planned.choice, covered).considered,
    model: first.id,
    prompt: { estimate: promptTokens, bound: size.tokens(first) },
    output: { estimate: outputTokens * chat.n, bound: bound * chat.n },
    estimated: costOf({ ...NO_TOKENS, prompt: promptTokens, completion: outputTokens * chat.n }, first.prices),
    worstCase: worst.reduce((most, cost) => (cost > most ? cost : most), 0n),
    outputCap,
    decision,
    reserved,
  }
}

const QUOTED = { kind: 'unbilled', outcome: 'completed', httpStatus: 200, ...NO_ERROR } as const
