// A parsed and validated chat, as the stages of a request receive it, and which models may answer it: the requested one and its
// fallbacks, where the chat fits their limits.
import { isAllowed, modelNotAllowed } from './allowed-models.ts'
import { type Model, modelNotFound, type Provider } from './catalog.ts'
import { type Message, surelyExceeds, surelyExceedsOne } from './prompt.ts'
import type { ReasoningPreference } from './reasoning.ts'
import { Refusal } from './refusal.ts'
import type { Considered, RoutingPreferences } from './routing.ts'
import { MODEL_NAME_MAX, storable } from './usage.ts'

export type MediaKind = 'image' | 'audio' | 'file'

export type Media = { readonly kind: MediaKind; readonly param: string; readonly isRemote: boolean }

// The API that a caller speaks. Each is translated to a chat; to a provider that speaks it too, it is passed through.
export type Dialect = 'chat' | 'messages' | 'responses' | 'embeddings'

export type Chat = {
  readonly dialect: Dialect
  // The caller's own request in a dialect other than chat, for a provider that speaks it: checked, without the fields that the
  // gateway sets itself.
  readonly native?: Readonly<Record<string, unknown>>
  // The same, serialised once: measured for the hold and sent unchanged.
  readonly nativeJson?: string
  // Headers that such a provider gets with it.
  readonly nativeHeaders?: Readonly<Record<string, string>>
  // What no other dialect can express, if anything: only a provider that speaks the caller's dialect can serve it.
  readonly untranslatable?: { readonly param: string; readonly message: string } | undefined
  // The reasoning effort of a translated request; sent to models that are known to reason.
  readonly effort?: string | undefined
  // What is to be embedded, for a request for embeddings; its texts are also the messages.
  readonly embedding?: Embedding
  readonly model: string
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly n: number
  readonly maxTokens: number | null
  // The field name that the caller used for it.
  readonly maxTokensName: 'max_tokens' | 'max_completion_tokens' | 'max_output_tokens'
  readonly messages: readonly Message[]
  // Serialised once: measured for the hold and sent upstream unchanged.
  readonly messagesJson: string
  readonly promptBytes: number
  readonly media: readonly Media[]
  // The path of the first image URL, which not every provider fetches.
  readonly remoteMedia: string | undefined
  // The path of the first mark that wants a cache of one hour, which not every model has a price for.
  readonly longCache?: string | undefined
  // Allowlisted fields, as the caller sent them.
  readonly forwarded: Readonly<Record<string, unknown>>
  // Identifiers of the tenant's users, not yet hashed: they are sent upstream only as an HMAC.
  readonly identifiers: Readonly<Record<string, string>>
  // Fields that are sent only to providers that list them as `passthrough`.
  readonly extras: ReadonlyMap<string, unknown>
  // Fields of messages and parts that are sent to no provider, without the index of the message.
  readonly leftOut: readonly string[]
  // The caller's routing preferences.
  readonly preferences: RoutingPreferences
  readonly reasoning: ReasoningPreference
}

// Whether a provider gets the caller's own request instead of a translation.
export function isNative({ dialect }: Pick<Chat, 'dialect'>, { kind }: Pick<Provider, 'kind'>): boolean {
  return dialect === 'messages' && kind === 'anthropic'
}

export type Embedding = {
  // All of one kind.
  readonly inputs: readonly string[] | readonly (readonly number[])[]
  readonly encoding: 'float' | 'base64'
  // Null: the model's own.
  readonly dimensions: number | null
}

// The vectors that a model must return.
export type Vectors = {
  readonly dimensions: number
  // Whether the model has several sizes, so that the provider must be told.
  readonly isResizable: boolean
}

export function vectorsOf({ embedding }: Chat, model: Model): Vectors | undefined {
  if (embedding === undefined || model.embedding === undefined) return undefined
  const { dimensions, dimensionsMin } = model.embedding
  return { dimensions: embedding.dimensions ?? dimensions, isResizable: dimensionsMin !== null }
}

export type Models = readonly [Model, ...Model[]]

type Lineup = {
  // In the caller's order.
  readonly models: Models
  // Models named by the caller that cannot answer this chat.
  readonly unfit: readonly Considered[]
}

// The requested model is refused by its own limits. A prompt that is too long for it goes to a fallback with a longer context, if
// the caller lists one. Fallbacks that the key may not use are skipped.
export function lineUp(chat: Chat, find: (name: string) => Model | undefined, allowed: readonly string[]): Lineup {
  const asked = find(chat.model)
  if (asked === undefined) throw modelNotFound(chat.model)
  if (!isAllowed(allowed, asked, chat.model)) throw modelNotAllowed(chat.model)
  checkType(chat, asked)
  checkLimits(chat, asked)
  const isTooLong = isTooLongFor(chat, asked)
  if (chat.preferences.models.length === 0) {
    if (isTooLong) throw tooLong(chat, asked)
    return { models: [asked], unfit: NONE }
  }

  const fitting = isTooLong ? [] : [asked]
  const unfit: Considered[] = isTooLong ? [left(asked.id, 'does_not_fit')] : []
  const seen = new Set([asked])
  for (const name of chat.preferences.models) {
    const model = find(name)
    if (model === undefined) unfit.push(left(name, 'unknown_model'))
    if (model === undefined || seen.has(model)) continue
    seen.add(model)
    if (!isAllowed(allowed, model, name)) unfit.push(left(name, 'not_allowed'))
    else if (fits(chat, model)) fitting.push(model)
    else unfit.push(left(model.id, 'does_not_fit'))
  }
  const [first, ...others] = fitting
  if (first === undefined) throw tooLong(chat, asked)
  return { models: [first, ...others], unfit }
}

// The maximum answer length of this model, given what the caller and its balance allow.
export function outputBoundOf(model: Model, capTokens: number | null): number {
  return capTokens === null ? model.maxOutputTokens : Math.min(capTokens, model.maxOutputTokens)
}

const NONE: readonly Considered[] = []

function left(model: string, reason: Considered['reason']): Considered {
  return { model: storable(model, MODEL_NAME_MAX), provider: null, position: null, reason }
}

function checkLimits(chat: Chat, model: Model): void {
  if (chat.maxTokens !== null && chat.maxTokens > model.maxOutputTokens) {
    throw new Refusal('invalid_value', {
      param: chat.maxTokensName,
      message: `${chat.maxTokensName} must be at most ${model.maxOutputTokens} for this model.`,
    })
  }
  checkDimensions(chat, model)
  checkLongCache(chat, model)
  checkLogprobs(chat, model)
  for (const { kind, param } of chat.media) {
    if (!model.inputModalities.includes(kind)) {
      throw new Refusal('unsupported_value', { param, message: `The model does not support ${kind} input.` })
    }
  }
}

// Each token comes with its alternatives, each with a probability and its bytes; a whole answer must fit into memory.
function checkLogprobs(chat: Chat, model: Model): void {
  if (chat.forwarded.logprobs !== true && chat.forwarded.top_logprobs === undefined) return
  const tokens = chat.maxTokens ?? (chat.stream ? 0 : model.maxOutputTokens)
  const entries = tokens * chat.n * (1 + ((chat.forwarded.top_logprobs as number | undefined) ?? 0))
  if (entries * LOGPROB_BYTES <= LOGPROBS_BYTES_MAX) return
  const param = chat.forwarded.top_logprobs === undefined ? 'logprobs' : 'top_logprobs'
  throw new Refusal('invalid_value', {
    param,
    message: `${param} for ${tokens * chat.n} tokens would exceed the maximum response size (16 MiB); request fewer tokens.`,
  })
}

const LOGPROB_BYTES = 64
const LOGPROBS_BYTES_MAX = 16 * 1024 * 1024

// A model that chats has no vectors, and one that embeds has no words.
function checkType({ embedding }: Chat, model: Model): void {
  if ((embedding === undefined) === (model.embedding === undefined)) return
  const message =
    embedding === undefined
      ? 'The model makes embeddings; send the request to /v1/embeddings.'
      : 'The model does not make embeddings; GET /v1/models lists those of type embedding.'
  throw new Refusal('unsupported_value', { param: 'model', message })
}

function checkDimensions({ embedding }: Chat, model: Model): void {
  const wanted = embedding?.dimensions ?? null
  if (wanted === null || model.embedding === undefined || hasSize(wanted, model.embedding)) return
  const { dimensions: most, dimensionsMin: least } = model.embedding
  const param = 'dimensions'
  if (least === null) {
    const message = `The model has ${most} dimensions, which cannot be changed.`
    throw new Refusal('unsupported_value', { param, message })
  }
  throw new Refusal('invalid_value', {
    param,
    message: `dimensions must be from ${least} to ${most} for this model.`,
  })
}

// A longer lifetime of a cache entry has another price.
function checkLongCache({ longCache }: Chat, { prices }: Model): void {
  if (longCache === undefined || prices.cacheWrite1h !== undefined) return
  const message = `${longCache} with this value is not supported by this model.`
  throw new Refusal('unsupported_value', { param: longCache, message })
}

function hasSize(wanted: number, { dimensions, dimensionsMin }: NonNullable<Model['embedding']>): boolean {
  return wanted === dimensions || (dimensionsMin !== null && wanted >= dimensionsMin && wanted <= dimensions)
}

// Whether a fallback can answer.
function fits(chat: Chat, model: Model): boolean {
  const { embedding } = chat
  if ((embedding === undefined) !== (model.embedding === undefined)) return false
  const wanted = embedding?.dimensions ?? null
  if (wanted !== null && model.embedding !== undefined && !hasSize(wanted, model.embedding)) return false
  if (chat.longCache !== undefined && model.prices.cacheWrite1h === undefined) return false
  return takesMedia(chat, model) && !isTooLongFor(chat, model)
}

// The context is that of each input.
function isTooLongFor(chat: Chat, { contextLength }: Model): boolean {
  const { embedding } = chat
  if (embedding === undefined) return surelyExceeds(chat, contextLength)
  if (chat.promptBytes <= contextLength) return false
  return embedding.inputs.some(input =>
    typeof input === 'string' ? surelyExceedsOne(input, contextLength) : input.length > contextLength,
  )
}

function takesMedia(chat: Chat, model: Model): boolean {
  return chat.media.every(({ kind }) => model.inputModalities.includes(kind))
}

function tooLong({ dialect, embedding }: Chat, model: Model): Refusal {
  return new Refusal('context_length_exceeded', {
    param: dialect === 'responses' || dialect === 'embeddings' ? 'input' : 'messages',
    message: `${embedding === undefined ? 'The prompt' : 'An input'} exceeds the model's context length of ${model.contextLength} tokens.`,
  })
}
