// How long a prompt is, without a tokenizer: the bound that a hold is taken for, and what certainly exceeds a context.
import type { Model } from './catalog.ts'

export type Message = { readonly role: string; readonly content?: unknown; readonly [field: string]: unknown }
export type Part = { readonly type: string; readonly [field: string]: unknown }

// What is measured of a chat.
export type Prompt = {
  readonly messages: readonly Message[]
  readonly promptBytes: number
  readonly media: { readonly length: number }
}

export type PromptBody = { readonly messages: readonly Message[]; readonly [field: string]: unknown }

const BESIDE_MESSAGES = ['tools', 'functions', 'response_format']

// The UTF-8 bytes of what is read as the prompt. A picture or file is not measured by its bytes.
export function promptBytes(body: PromptBody, messagesJson: string, hasMedia: boolean): number {
  let bytes = Buffer.byteLength(messagesJson)
  if (hasMedia) {
    for (const part of body.messages.flatMap(message =>
      Array.isArray(message.content) ? (message.content as Part[]) : [],
    )) {
      if (part.type !== 'text' && part.type !== 'refusal') bytes -= Buffer.byteLength(JSON.stringify(part))
    }
  }
  for (const name of BESIDE_MESSAGES) {
    if (body[name] !== undefined) bytes += Buffer.byteLength(JSON.stringify(body[name]))
  }
  return bytes
}

// No prompt has more tokens than this: half its bytes, 16 a message, and what the model states for a picture or file.
export function promptBound(prompt: Prompt, model: Pick<Model, 'mediaMaxTokens'>): number {
  return Math.ceil(prompt.promptBytes / 2) + 16 * prompt.messages.length + model.mediaMaxTokens * prompt.media.length
}

// Whatever the tokenizer: none merges across words, and none has tokens longer than 128 characters. Words are counted no
// further than it takes, since millions of them would hold everybody up.
export function surelyExceeds({ messages }: Pick<Prompt, 'messages'>, tokens: number): boolean {
  let words = 0
  let characters = 0
  for (const text of promptTexts(messages)) {
    characters += text.length
    const word = /[\p{L}\p{N}]+/gu
    while (words <= tokens && word.test(text)) words += 1
  }
  return Math.max(words, Math.floor(characters / 128), messages.length) > tokens
}

// Every text of the prompt, for the tokenizer's estimate.
export function* promptTexts(messages: readonly Message[]): Generator<string> {
  for (const message of messages) {
    if (typeof message.content === 'string') yield message.content
    else if (Array.isArray(message.content)) {
      for (const part of message.content as Part[]) if (typeof part.text === 'string') yield part.text
    }
    if (message.tool_calls !== undefined) yield JSON.stringify(message.tool_calls)
  }
}
