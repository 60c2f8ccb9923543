// How long a prompt may be: the bound used for a hold, by bytes or by a tokenizer's count, and what certainly exceeds a context.
import type { Model, Provider, Target } from './catalog.ts'

export type Message = { readonly role: string; readonly content?: unknown; readonly [field: string]: unknown }
export type Part = { readonly type: string; readonly [field: string]: unknown }

// The measurements of a chat.
export type Prompt = {
  readonly messages: readonly Message[]
  readonly promptBytes: number
  readonly media: { readonly length: number }
  // Each input of a request for embeddings has a context of its own.
  readonly embedding?: { readonly inputs: { readonly length: number } }
}

export type PromptBody = { readonly messages: readonly Message[]; readonly [field: string]: unknown }

const OTHER_PROMPT_FIELDS = ['tools', 'functions', 'response_format']

// The UTF-8 bytes of the prompt. Images and files are not measured by their bytes.
export function promptBytes(body: PromptBody, messagesJson: string, hasMedia: boolean): number {
  let bytes = hasMedia ? bytesWithoutMedia(body.messages) : Buffer.byteLength(messagesJson)
  for (const name of OTHER_PROMPT_FIELDS) {
    if (body[name] !== undefined) bytes += Buffer.byteLength(JSON.stringify(body[name]))
  }
  return bytes
}

// Media of several megabytes is serialised once, to be sent, and not again to be measured: each is replaced by a single digit.
function bytesWithoutMedia(messages: readonly Message[]): number {
  let digits = 0
  const spoken = (part: Part) => {
    if (!isMedia(part)) return part
    digits += 1
    return 0
  }
  const stripped = messages.map(message =>
    Array.isArray(message.content) ? { ...message, content: (message.content as Part[]).map(spoken) } : message,
  )
  return Buffer.byteLength(JSON.stringify(stripped)) - digits
}

// The tokenizer's counts of a prompt's texts, and the number of texts.
export type CountedPrompt = {
  readonly tokens: Readonly<Record<Tokenizer['encoding'], number>>
  readonly texts: number
}

// The maximum number of prompt tokens: one per byte, which no byte-level tokenizer can exceed, plus 16 per message. A count
// replaces the bytes where there is one. Images and files count what the model states for one. Never more than the context, since
// more is not billed.
export function promptBound(prompt: Prompt, model: SizedModel, counted?: Counted): number {
  const text = counted === undefined ? prompt.promptBytes : countedBound(counted)
  const bound = text + 16 * prompt.messages.length + model.mediaMaxTokens * prompt.media.length
  return Math.min(bound, promptMax(prompt, model))
}

// The lowest bound that a count can give.
export function leastBound(prompt: Prompt, model: SizedModel): number {
  const bound = 16 * prompt.messages.length + model.mediaMaxTokens * prompt.media.length
  return Math.min(bound, promptMax(prompt, model))
}

// The maximum number of prompt tokens that are billed.
export function promptMax({ embedding }: Pick<Prompt, 'embedding'>, model: Pick<Model, 'contextLength'>): number {
  return model.contextLength * (embedding?.inputs.length ?? 1)
}

type SizedModel = Pick<Model, 'mediaMaxTokens' | 'contextLength'>

// For the model in question: the tokenizers of its targets.
export type Counted = { readonly prompt: CountedPrompt; readonly tokenizers: readonly Tokenizer[] }

// Texts are counted as if joined by newlines, and a token may span such a joint: hence one more for each.
function countedBound({ prompt, tokenizers }: Counted): number {
  let most = 0
  for (const { encoding, isOpenai } of tokenizers) {
    const tokens = prompt.tokens[encoding] + prompt.texts
    most = Math.max(most, isOpenai ? tokens : Math.ceil(tokens * 1.5))
  }
  return most
}

// Certain for every tokenizer: none merges across words, and none has tokens longer than 128 characters. Words are counted only
// as far as needed, and not at all where there are too few bytes, since a word and its separator are at least two.
export function surelyExceeds(
  { messages, promptBytes }: Pick<Prompt, 'messages' | 'promptBytes'>,
  tokens: number,
): boolean {
  if (messages.length > tokens) return true
  if (promptBytes <= 2 * tokens) return false
  let words = 0
  let characters = 0
  for (const text of spokenTexts(messages)) {
    characters += text.length
    if (words <= tokens) words += wordCount(text, tokens + 1 - words)
  }
  return Math.max(words, Math.floor(characters / 128)) > tokens
}

// The same for one text.
export function surelyExceedsOne(text: string, tokens: number): boolean {
  return text.length > tokens && Math.max(wordCount(text, tokens + 1), Math.floor(text.length / 128)) > tokens
}

// The part that is certainly read as the prompt; a provider may ignore other fields.
export function* spokenTexts(messages: readonly Message[]): Generator<string> {
  for (const message of messages) {
    if (typeof message.content === 'string') yield message.content
    else if (Array.isArray(message.content)) {
      for (const part of message.content as Part[]) if (typeof part.text === 'string') yield part.text
    }
    for (const call of (message.tool_calls as readonly Part[] | undefined) ?? []) {
      const { name, arguments: given, input } = (call[call.type] ?? {}) as Readonly<Record<string, unknown>>
      for (const text of [name, given, input]) if (typeof text === 'string') yield text
    }
  }
}

// Every text that is sent as the prompt, for the tokenizer: under any name, it may be read and billed to us. Images and files are
// not text.
export function* promptTexts(
  messages: readonly Message[],
  others: Readonly<Record<string, unknown>>,
): Generator<string> {
  yield* messageTexts(messages)
  for (const name of OTHER_PROMPT_FIELDS) if (others[name] !== undefined) yield JSON.stringify(others[name])
}

function* messageTexts(messages: readonly Message[]): Generator<string> {
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

// Counts the words of a text: runs of letters, digits and characters inside words (marks, apostrophes, joiners). A table and a
// loop instead of a pattern, which needs a stack as deep as the longest word and is several times slower for emoji.
// Stops at `max` and never overcounts: a character outside the basic plane is not a word, and two words separated by one are
// counted as one.
export function wordCount(text: string, max: number): number {
  const kinds = kindsOfUnits()
  let words = 0
  let inWord = false
  for (let i = 0; i < text.length && words < max; i++) {
    const kind = kinds[text.charCodeAt(i)]
    if (kind === LETTER) {
      if (!inWord) words += 1
      inWord = true
    } else if (kind === OTHER) inWord = false
  }
  return words
}

const OTHER = 0
const LETTER = 1
// Neither starts nor ends a word: tokenizers merge across marks, apostrophes and joiners.
const INSIDE = 2

let known: Uint8Array | undefined

function kindsOfUnits(): Uint8Array {
  if (known !== undefined) return known
  known = new Uint8Array(0x10000).fill(OTHER)
  for (let unit = 0; unit < 0x10000; unit++) {
    if (unit >= 0xd800 && unit <= 0xdfff) known[unit] = INSIDE
    else if (/[\p{M}'\u2019\u200c\u200d]/u.test(String.fromCharCode(unit))) known[unit] = INSIDE
    else if (/[\p{L}\p{N}]/u.test(String.fromCharCode(unit))) known[unit] = LETTER
  }
  return known
}

// Which tokenizer a target's model uses, by its provider and name. OpenAI's tokenizers are known exactly; for all others
// the count of one of OpenAI's is used, times 1.5.
export type Tokenizer = {
  readonly encoding: 'o200k' | 'cl100k'
  readonly isOpenai: boolean
}

// A name is reliable only where names are OpenAI's: at its own address, at Azure's (where deployments may have other names), and
// with the prefix that resellers use for its models. Anybody may name a model gpt-4. Open weights keep their tokenizer wherever
// they run.
export function tokenizerOf(target: Pick<Target, 'model'>, provider: Pick<Provider, 'baseUrl'> | undefined): Tokenizer {
  const bare = target.model.slice(target.model.lastIndexOf('/') + 1)
  if (OPEN_WEIGHTS.test(bare)) return O200K
  const isNamedByOpenai = target.model.startsWith('openai/') || (provider !== undefined && isOpenai(provider.baseUrl))
  if (!isNamedByOpenai) return ANY_OTHER
  return NEWER.test(bare) ? O200K : OLDER.test(bare) ? CL100K : ANY_OTHER
}

const O200K: Tokenizer = { encoding: 'o200k', isOpenai: true }
const CL100K: Tokenizer = { encoding: 'cl100k', isOpenai: true }
const ANY_OTHER: Tokenizer = { encoding: 'o200k', isOpenai: false }

const OPEN_WEIGHTS = /^gpt-oss-/
const NEWER = /^(gpt-4o|chatgpt-4o|gpt-4\.[1-9]|gpt-[5-9]|o[1-9](-|$))/
const OLDER = /^(gpt-4(-|$)|gpt-3\.5|gpt-35)/

function isOpenai(baseUrl: string): boolean {
  const host = URL.parse(baseUrl)?.hostname ?? ''
  return host === 'api.openai.com' || host.endsWith('.api.openai.com') || host.endsWith('.openai.azure.com')
}
