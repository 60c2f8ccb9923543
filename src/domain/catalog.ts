// The catalog's nouns: providers, models with their prices, and the targets that connect them.
import {
  formatAtto,
  formatPrice,
  type Prices,
  parseAtto,
  parsePrice,
  type Rates,
  type TargetCost,
  type Tier,
  type TokenRates,
  worstSum,
} from './credits.ts'
import { Refusal } from './refusal.ts'
import type { Strategy } from './routing.ts'
import { storable } from './usage.ts'

export const MODALITIES = ['text', 'image', 'audio', 'file', 'video'] as const
export type Modality = (typeof MODALITIES)[number]

// The protocol that a provider speaks.
export const PROVIDER_KINDS = ['openai', 'anthropic', 'google', 'vertex', 'bedrock', 'cohere', 'demo'] as const
export type ProviderKind = (typeof PROVIDER_KINDS)[number]

export const PROVIDER_APIS = ['chat', 'responses', 'auto'] as const
export type ProviderApi = (typeof PROVIDER_APIS)[number]

export type Provider = {
  readonly id: string
  readonly kind: ProviderKind
  readonly baseUrl: string
  // Fields that this provider accepts in addition to the standard ones.
  readonly passthrough: readonly string[]
  // The field name under which the output cap is sent.
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens'
  // Which of OpenAI's APIs it has: chat completions alone unless stated. `auto`: both, of which the caller's and the model's needs
  // decide.
  readonly api?: ProviderApi
  // Whether its Responses API has the tools of OpenAI's own: namespaces, and custom tools with grammars.
  readonly openaiTools?: boolean
  readonly timeouts: Timeouts
  readonly quirks: Quirks
  // Protocol settings in addition to an address: a region, a project.
  readonly settings: Readonly<Record<string, string>>
  // Whether it fetches images by URL from the public internet.
  readonly remoteMedia?: boolean
  // Its address was entered through the API: only public addresses may be connected to. Addresses declared in a file are trusted.
  readonly publicOnly?: boolean
  // The HTTP proxy that it is called through, without credentials; undefined: the environment's, if there is one.
  readonly proxy?: string
  // User and password for the proxy, as in a URL. In memory only: never stored with the provider, shown or logged.
  readonly proxyCredentials?: string
}

// Whether a secret entered for one provider would reach a different destination with the other. Settings (a region, a project)
// are part of the address.
export function isElsewhere(before: Provider, after: Provider): boolean {
  const [old, next] = [Object.entries(before.settings), Object.entries(after.settings)]
  const isSame = old.length === next.length && old.every(([name, value]) => after.settings[name] === value)
  // A proxy sees what is sent to an http:// address.
  const isSeen = /^http:/i.test(after.baseUrl) && before.proxy !== after.proxy
  return before.kind !== after.kind || before.baseUrl !== after.baseUrl || !isSame || isSeen
}

// How a provider of the openai kind differs from OpenAI's protocol: data, so that a new provider needs no code.
export type Quirks = {
  readonly authHeader: 'authorization' | 'api-key'
  // Appended to the base URL; `{model}` is replaced by the provider's name of the model.
  readonly path: string
  // Added to the address of every call, such as Azure's api-version.
  readonly query: Readonly<Record<string, string>>
  // Sent with every call; no secrets.
  readonly headers: Readonly<Record<string, string>>
  // Fields that it refuses and that are therefore omitted; `messages.name` is the field of a message.
  readonly leavesOut: readonly string[]
  // Whether it accepts `stream_options`, without which most providers report no usage.
  readonly streamOptions: boolean
  // Whether it knows the role `developer`; otherwise such messages are sent as `system`.
  readonly developerRole: boolean
  // The field that partitions its prompt cache and receives the HMAC of the account; null if it has none.
  readonly cacheKeyField: string | null
}

export const NO_QUIRKS: Quirks = {
  authHeader: 'authorization',
  path: '/chat/completions',
  query: {},
  headers: {},
  leavesOut: [],
  streamOptions: true,
  developerRole: true,
  cacheKeyField: null,
}

// The id under which user and password of a provider's proxy are kept among its credentials. It is never listed with them.
export const PROXY_CREDENTIAL = 'proxy'

// One of the secrets that identify this gateway to a provider. Its id may be shown, the secret never.
export type Credential = { readonly id: string; readonly secret: string }

export type Timeouts = {
  readonly connectMs: number
  readonly firstByteStreamMs: number
  readonly firstByteJsonMs: number
  readonly idleMs: number
  readonly totalMs: number
}

export type Target = {
  readonly provider: string
  readonly model: string
  readonly priority: number
  readonly weight: number
  // What the operator pays for this target, if stated; never what the caller pays.
  readonly cost?: TargetCost
}

// What a model does with its input.
export const MODEL_TYPES = ['chat', 'embedding'] as const
export type ModelType = (typeof MODEL_TYPES)[number]

export type Model = {
  readonly id: string
  readonly aliases: readonly string[]
  readonly name: string
  readonly description: string
  readonly ownedBy: string
  readonly createdAt: number
  // For a model that embeds: of one input.
  readonly contextLength: number
  // Zero for a model that embeds.
  readonly maxOutputTokens: number
  // The size of its vectors, and the smallest that a caller may request instead; null: no other. Absent for a model that chats.
  readonly embedding?: { readonly dimensions: number; readonly dimensionsMin: number | null }
  readonly inputModalities: readonly Modality[]
  readonly mediaMaxTokens: number
  // It may reason without the caller seeing it: as stated by the operator, otherwise derived from its name.
  readonly hiddenReasoning: boolean
  readonly hiddenReasoningStated?: boolean
  readonly supportedParameters: readonly string[]
  readonly prices: Prices
  readonly priceVersion: string
  readonly strategy: Strategy
  readonly targets: readonly Target[]
}

export function typeOf({ embedding }: Pick<Model, 'embedding'>): ModelType {
  return embedding === undefined ? 'chat' : 'embedding'
}

// Maximum number of choices (`n`) in one request.
export const CHOICES_MAX = 8
// Maximum number of inputs in one request for embeddings, as in OpenAI's API.
export const EMBEDDING_INPUTS_MAX = 2048

// The highest cost of one request, in the unit of the rates.
export function worstRequest(
  size: Pick<Model, 'contextLength' | 'maxOutputTokens'>,
  type: ModelType,
  rates: Parameters<typeof worstSum>[2],
): bigint {
  const inputs = type === 'embedding' ? EMBEDDING_INPUTS_MAX : 1
  return worstSum(size.contextLength * inputs, size.maxOutputTokens * CHOICES_MAX, rates)
}

// Maximum number of price tiers.
export const PRICE_TIERS_MAX = 8

// Prices as text, with the API's field names. A price snapshot is the JSON of one.
type WrittenTokenRates = {
  readonly prompt: string
  readonly completion: string
  readonly input_cache_read: string
  readonly input_cache_write: string
  readonly input_cache_write_1h?: string
  readonly image?: string
  readonly audio?: string
}
export type WrittenRates = WrittenTokenRates & {
  readonly request: string
  readonly tiers?: readonly (WrittenTokenRates & { readonly above_prompt_tokens: number })[]
}

// Prices as an operator has entered them: in US dollars, and only those that were stated.
export type EnteredRates = Partial<Omit<WrittenRates, 'tiers'>> & {
  readonly tiers?: readonly (Partial<WrittenTokenRates> & { readonly above_prompt_tokens: number })[]
}

// A price snapshot as stored on every row, so that the cost can be recomputed from the row alone.
export function priceSnapshot(prices: Prices): string {
  return JSON.stringify(writePrices(prices))
}

export function readPriceSnapshot(snapshot: string): Prices {
  return readWritten(JSON.parse(snapshot), parsePrice)
}

export function writePrices(prices: Prices): WrittenRates {
  return written(prices, formatPrice)
}

// A target's cost as the catalog stores it: the same names, with all decimals.
export function writeCost(cost: TargetCost): WrittenRates {
  return written(cost, formatAtto)
}

export function readCost(cost: WrittenRates): TargetCost {
  return readWritten(cost, parseAtto)
}

function written<T extends bigint>({ tiers, request, ...base }: Rates<T>, format: (rate: T) => string): WrittenRates {
  return {
    ...writtenTokens(base, format),
    request: format(request),
    ...(tiers === undefined
      ? {}
      : {
          tiers: tiers.map(({ abovePromptTokens, ...rates }) => ({
            above_prompt_tokens: abovePromptTokens,
            ...writtenTokens(rates, format),
          })),
        }),
  }
}

function writtenTokens<T extends bigint>(rates: TokenRates<T>, format: (rate: T) => string): WrittenTokenRates {
  return {
    prompt: format(rates.prompt),
    completion: format(rates.completion),
    input_cache_read: format(rates.cacheRead),
    input_cache_write: format(rates.cacheWrite),
    ...(rates.cacheWrite1h === undefined ? {} : { input_cache_write_1h: format(rates.cacheWrite1h) }),
    ...(rates.image === undefined ? {} : { image: format(rates.image) }),
    ...(rates.audio === undefined ? {} : { audio: format(rates.audio) }),
  }
}

type Parse<T> = (text: string) => T | undefined

function readWritten<T extends bigint>({ tiers, request, ...base }: WrittenRates, parse: Parse<T>): Rates<T> {
  return {
    ...readTokens(base, parse),
    request: readRate(request, 'request', parse),
    ...(tiers === undefined ? {} : { tiers: tiers.map(tier => readTier(tier, parse)) }),
  }
}

function readTier<T extends bigint>(
  { above_prompt_tokens: above, ...rates }: NonNullable<WrittenRates['tiers']>[number],
  parse: Parse<T>,
): Tier<T> {
  if (!Number.isSafeInteger(above)) throw new Error('a stored price tier has no bound')
  return { abovePromptTokens: above, ...readTokens(rates, parse) }
}

function readTokens<T extends bigint>(given: WrittenTokenRates, parse: Parse<T>): TokenRates<T> {
  const read = (name: keyof WrittenTokenRates): T => readRate(given[name], name, parse)
  return {
    prompt: read('prompt'),
    completion: read('completion'),
    cacheRead: read('input_cache_read'),
    cacheWrite: read('input_cache_write'),
    ...(given.input_cache_write_1h === undefined ? {} : { cacheWrite1h: read('input_cache_write_1h') }),
    ...(given.image === undefined ? {} : { image: read('image') }),
    ...(given.audio === undefined ? {} : { audio: read('audio') }),
  }
}

// A price that cannot be parsed is never treated as zero.
function readRate<T extends bigint>(text: string | undefined, name: string, parse: Parse<T>): T {
  const rate = parse(String(text))
  if (rate === undefined) throw new Error(`the stored price "${name}" is invalid`)
  return rate
}

// Callers cannot distinguish unknown models from inactive ones.
export function modelNotFound(name: string): Refusal {
  return new Refusal('model_not_found', {
    param: 'model',
    message: `The model ${JSON.stringify(storable(name, 100))} does not exist or is not active.`,
  })
}
