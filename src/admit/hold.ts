// What a chat may cost at most, as the entry that the gate is asked to hold.
import { type Model, priceSnapshot } from '../domain/catalog.ts'
import type { Chat } from '../domain/chat.ts'
import { worstPrompt } from '../domain/credits.ts'
import { promptBound } from '../domain/prompt.ts'
import { remembered } from '../lib/remembered.ts'
import type { HoldEntry } from '../store/contract.ts'

export function holdEntry(chat: Chat, model: Model, outputCapMinTokens: number): HoldEntry {
  const outputTokens = chat.maxTokens ?? model.maxOutputTokens
  return {
    kind: 'hold',
    base: worstPrompt(promptBound(chat, model), model.prices),
    outputPrice: model.prices.completion * BigInt(chat.n),
    outputTokens,
    outputTokensMin: chat.maxTokens === null ? Math.min(outputCapMinTokens, outputTokens) : null,
    priceVersion: model.priceVersion,
    price: snapshotOf(model),
  }
}

const snapshotOf = remembered((model: Model) => priceSnapshot(model.prices))
