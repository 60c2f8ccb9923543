// The maximum cost of a chat, as the entry to be reserved: the most expensive of all models that may answer it. See
// docs/decisions/hold-estimate.md.
import { type Model, type Provider, priceSnapshot } from '../domain/catalog.ts'
import { type Chat, type Models, outputBoundOf } from '../domain/chat.ts'
import { ceilNano, type Nano, type Pico, worstCompletion, worstPrompt } from '../domain/credits.ts'
import { type CountedPrompt, leastBound, promptBound, type Tokenizer, tokenizerOf } from '../domain/prompt.ts'
import { memoize } from '../lib/memoize.ts'
import type { HoldEntry } from '../store/contract/store.ts'
import type { PromptCounts } from './count-tokens.ts'

// The maximum number of prompt tokens for a model: by its bytes, or by a count.
export type PromptSize = { tokens(model: Model): number; readonly isCounted: boolean }

export function sizeByBytes(chat: Chat): PromptSize {
  // A list of tokens needs no count.
  const isCounted = typeof chat.embedding?.inputs[0] === 'object'
  return { tokens: model => promptBound(chat, model), isCounted }
}

// For an account that cannot afford the byte bound. If the prompt cannot be counted in time, the byte bound stands.
export async function sizeByCount(
  chat: Chat,
  models: Models,
  accountId: string,
  { promptCounts, provider }: { readonly promptCounts: PromptCounts; provider(id: string): Provider | undefined },
): Promise<PromptSize> {
  const tokenizers = new Map<Model, readonly Tokenizer[]>()
  for (const model of models) {
    tokenizers.set(
      model,
      model.targets.map(target => tokenizerOf(target, provider(target.provider))),
    )
  }
  const encodings = new Set([...tokenizers.values()].flat().map(({ encoding }) => encoding))
  const prompt = await promptCounts.count(chat, encodings, accountId)
  if (prompt === undefined) return { ...sizeByBytes(chat), isCounted: true }
  return {
    tokens: model => sizeOf(prompt, model),
    isCounted: true,
  }

  function sizeOf(counted: CountedPrompt, model: Model): number {
    const byCount = promptBound(chat, model, { prompt: counted, tokenizers: tokenizers.get(model) ?? [] })
    return Math.min(byCount, promptBound(chat, model))
  }
}

// The row has the price of the first model until another one has served. Before the prompt is counted, the entry also has the
// lowest base that a count could give, so that nothing is counted for an account that could not pay that either.
export function holdEntry(chat: Chat, models: Models, size: PromptSize, outputCapMinTokens: number): HoldEntry {
  const [first] = models
  const costliest = models.length === 1 ? first : costliestOf(chat, models, size)
  const outputTokens = outputBoundOf(costliest, chat.maxTokens)
  const promptTokens = size.tokens(costliest)
  const outputPrice = outputPriceOf(chat, costliest, promptTokens)
  // Where output is free a cap would save nothing.
  const mayCap = chat.maxTokens === null && outputPrice > 0n
  return {
    kind: 'hold',
    base: worstPrompt(promptTokens, costliest.prices, hasMedia(chat)),
    baseAtBest: size.isCounted ? null : bestBase(chat, costliest, outputPrice),
    outputPrice,
    outputTokens,
    outputTokensMin: mayCap ? Math.min(outputCapMinTokens, outputTokens) : null,
    priceVersion: first.priceVersion,
    price: snapshotOf(first),
  }
}

// The maximum cost of the chat if this model answers with this many tokens per choice.
export function worstCost(chat: Chat, model: Model, size: PromptSize, outputTokens: number): Nano {
  const promptTokens = size.tokens(model)
  const output = BigInt(outputTokens) * outputPriceOf(chat, model, promptTokens)
  return ceilNano(worstPrompt(promptTokens, model.prices, hasMedia(chat)) + output)
}

// Whether a hold covers every answer of this model within the cap. A low balance caps an answer by the most expensive model;
// another may be too expensive because of its prompt, whatever the cap.
export function isCovered(chat: Chat, model: Model, size: PromptSize, capTokens: number | null, hold: Nano): boolean {
  return worstCost(chat, model, size, outputBoundOf(model, capTokens)) <= hold
}

// A shorter prompt may also make the output cheaper: by one token's difference, this is lower.
function bestBase(chat: Chat, model: Model, outputPrice: Pico): Pico {
  const promptTokens = leastBound(chat, model)
  const base = worstPrompt(promptTokens, model.prices, hasMedia(chat))
  return base + outputPriceOf(chat, model, promptTokens) - outputPrice
}

function hasMedia({ media }: Chat): boolean {
  return media.length > 0
}

// For all choices together, per output token.
function outputPriceOf(chat: Chat, { prices }: Model, promptTokens: number): Pico {
  return worstCompletion(promptTokens, prices) * BigInt(chat.n)
}

function costliestOf(chat: Chat, models: Models, size: PromptSize): Model {
  const fullCost = (model: Model) => worstCost(chat, model, size, outputBoundOf(model, chat.maxTokens))
  return models.reduce((costliest, model) => (fullCost(model) > fullCost(costliest) ? model : costliest))
}

const snapshotOf = memoize((model: Model) => priceSnapshot(model.prices))
