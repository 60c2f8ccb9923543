// What a chat would cost and who would serve it, by the rules of the life itself and without calling anybody: the same
// line-up, the same choice, the same hold, and the verdict of every limit.
import assert from 'node:assert/strict'
import { type EnterNeeds, enter, type Granted } from './admit/enter.ts'
import { holdEntry, worstCost } from './admit/hold.ts'
import type { EndpointRule } from './admit/permit.ts'
import type { Chat } from './domain/chat.ts'
import { outputBoundOf } from './domain/chat-models.ts'
import { costOf, type Nano, NO_TOKENS } from './domain/credits.ts'
import type { Pass } from './domain/handoff.ts'
import { decideHold, type HoldDecision } from './domain/hold.ts'
import { identifiersOf, stickyWord } from './domain/identifiers.ts'
import { promptBound } from './domain/prompt.ts'
import type { Considered } from './domain/routing.ts'
import { MODEL_NAME_MAX, storable } from './domain/usage.ts'
import { type PlanNeeds, plan } from './route/plan.ts'
import { promptEstimate, type TokenCounter } from './settle/estimate.ts'

export type QuoteNeeds = EnterNeeds &
  PlanNeeds & {
    readonly counter: TokenCounter
    readonly outputCapMinTokens: number
    readonly hmacKey: Buffer
    // How long an answer is taken to be where the caller names no maximum.
    readonly quotedOutputTokens: number
  }

export type Quote = {
  readonly considered: readonly Considered[]
  // Of the first candidate.
  readonly model: string
  readonly prompt: { readonly estimate: number; readonly bound: number }
  readonly output: { readonly estimate: number; readonly bound: number }
  readonly estimated: Nano
  readonly worstCase: Nano
  // What a low balance would cap each choice at; null: nothing.
  readonly outputCap: number | null
  readonly decision: HoldDecision
  readonly granted: Granted
}

export async function quote(pass: Pass, rule: EndpointRule, chat: Chat, needs: QuoteNeeds): Promise<Quote> {
  const identifiers = identifiersOf(chat, pass.bearer.account.id, needs.hmacKey)
  const { models, choice } = plan(chat, stickyWord(identifiers), needs)
  const [first] = models
  const promptTokens = await promptEstimate(chat, first, pass.bearer.account.id, needs.counter)
  const outputTokens = Math.min(chat.maxTokens ?? needs.quotedOutputTokens, first.maxOutputTokens)
  const entry = holdEntry(chat, models, needs.outputCapMinTokens)

  const granted = await enter(pass, ticket(rule, chat), needs)
  assert(granted.purse !== null)
  const { balance, key } = granted.purse
  const bound = outputBoundOf(first, chat.maxTokens)
  const decision = decideHold(entry, balance, key)
  const isCapped = decision.kind === 'fits' && decision.outputTokens < entry.outputTokens
  return {
    considered: choice.considered,
    model: first.id,
    prompt: { estimate: promptTokens, bound: promptBound(chat, first) },
    output: { estimate: outputTokens * chat.n, bound: bound * chat.n },
    estimated: costOf({ ...NO_TOKENS, prompt: promptTokens, completion: outputTokens * chat.n }, first.prices),
    worstCase: worstCost(chat, first, bound),
    outputCap: isCapped ? decision.outputTokens : null,
    decision,
    granted,
  }
}

function ticket(rule: EndpointRule, chat: Chat) {
  const entry = { kind: 'free', outcome: 'completed', httpStatus: 200, errorCode: null } as const
  return { rule, modelRequested: storable(chat.model, MODEL_NAME_MAX), stream: chat.stream, entry }
}
