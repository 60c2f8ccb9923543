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
      if (isMedia(part)) bytes -= Buffer.byteLength(JSON.stringify(part))
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
  for (const text of spokenTexts(messages)) {
    characters += text.length
    const word = /[\p{L}\p{N}]+/gu
    while (words <= tokens && word.test(text)) words += 1
  }
  return Math.max(words, Math.floor(characters / 128), messages.length) > tokens
}

// What is certainly read as the prompt: of the other fields a provider may leave out what it likes.
export function* spokenTexts(messages: readonly Message[]): Generator<string> {
  for (const message of messages) {
    if (typeof message.content === 'string') yield message.content
    else if (Array.isArray(message.content)) {
      for (const part of message.content as Part[]) if (typeof part.text === 'string') yield part.text
    }
    if (message.tool_calls !== undefined) yield JSON.stringify(message.tool_calls)
  }
}

// Every text that is sent as the prompt, for the tokenizer's estimate: under whatever name it goes, it may be read and
// billed to us. A picture or file is not text.
export function* promptTexts(messages: readonly Message[]): Generator<string> {
  for (const { role: _, content, ...others } of messages) {
    if (Array.isArray(content)) {
      for (const part of content as Part[]) if (!isMedia(part)) yield* textsOf(part, 'type')
    } else if (typeof content === 'string') yield content
    yield* textsOf(others)
  }
}

function* textsOf(fields: Readonly<Record<string, unknown>>, except?: string): Generator<string> {
  for (const [name, value] of Object.entries(fields)) {
    if (name === except) continue
    if (typeof value === 'string') yield value
    else if (typeof value === 'object' && value !== null) yield JSON.stringify(value)
  }
}

function isMedia(part: Part): boolean {
  return part.type !== 'text' && part.type !== 'refusal'
}
