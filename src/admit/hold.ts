// What a chat may cost at most, as the entry that the gate is asked to hold: of all models that may answer it, the dearest.
import { type Model, priceSnapshot } from '../domain/catalog.ts'
import type { Chat } from '../domain/chat.ts'
import { type Models, outputBoundOf } from '../domain/chat-models.ts'
import { ceilNano, type Nano, worstPrompt } from '../domain/credits.ts'
import { promptBound } from '../domain/prompt.ts'
import { remembered } from '../lib/remembered.ts'
import type { HoldEntry } from '../store/contract.ts'

// The row bears the price of the first until another one has served.
export function holdEntry(chat: Chat, models: Models, outputCapMinTokens: number): HoldEntry {
  const [first] = models
  const dearest = models.length === 1 ? first : dearestOf(chat, models)
  const outputTokens = outputBoundOf(dearest, chat.maxTokens)
  // Where output is free a cap would save nothing.
  const mayCap = chat.maxTokens === null && dearest.prices.completion > 0n
  return {
    kind: 'hold',
    base: worstPrompt(promptBound(chat, dearest), dearest.prices),
    outputPrice: dearest.prices.completion * BigInt(chat.n),
    outputTokens,
    outputTokensMin: mayCap ? Math.min(outputCapMinTokens, outputTokens) : null,
    priceVersion: first.priceVersion,
    price: snapshotOf(first),
  }
}

// What the chat costs at most if this model answers it with so many tokens a choice.
export function worstCost(chat: Chat, model: Model, outputTokens: number): Nano {
  const prompt = worstPrompt(promptBound(chat, model), model.prices)
  return ceilNano(prompt + BigInt(outputTokens) * model.prices.completion * BigInt(chat.n))
}

// Whether a hold covers whatever this model may answer within the cap. A low balance caps an answer by the dearest model;
// another may be dear by its prompt, whatever the cap.
export function isCovered(chat: Chat, model: Model, capTokens: number | null, hold: Nano): boolean {
  return worstCost(chat, model, outputBoundOf(model, capTokens)) <= hold
}

function dearestOf(chat: Chat, models: Models): Model {
  return models.reduce((dearest, model) => (fullCost(chat, model) > fullCost(chat, dearest) ? model : dearest))
}

function fullCost(chat: Chat, model: Model): Nano {
  return worstCost(chat, model, outputBoundOf(model, chat.maxTokens))
}

const snapshotOf = remembered((model: Model) => priceSnapshot(model.prices))
