// The tokenizer's estimate of a prompt and of an answer, where the upstream reported no count.
import type { Model } from '../domain/catalog.ts'
import type { Chat } from '../domain/chat.ts'
import type { OutputSeen } from '../domain/handoff.ts'
import { promptTexts } from '../domain/prompt.ts'

// Texts are counted account by account.
export type TokenCounter = {
  count(text: string | readonly string[], accountId: string): Promise<{ readonly tokens: number }>
}

// Its texts, its tools, and a few framing tokens per message. Inputs of embeddings are not framed.
export async function promptEstimate(
  chat: Chat,
  model: Model,
  accountId: string,
  counter: TokenCounter,
): Promise<number> {
  const { embedding } = chat
  // The caller counted them.
  if (typeof embedding?.inputs[0] === 'object') return chat.promptBytes
  const { tokens } = await counter.count([...promptTexts(chat.messages, chat.forwarded)], accountId)
  if (embedding !== undefined) return tokens
  return tokens + 4 * chat.messages.length + 3 + chat.media.length * model.mediaMaxTokens
}

export async function outputEstimate(output: OutputSeen, accountId: string, counter: TokenCounter): Promise<number> {
  const counted = await Promise.all(output.texts.map(text => counter.count(text, accountId)))
  return counted.reduce((sum, { tokens }) => sum + tokens, Math.ceil(output.bytesBeyond / 2))
}
