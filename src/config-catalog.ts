// The catalog as the configuration file declares it: providers with their credentials, models with prices and targets.
import { BOUNDS, TIMEOUTS } from './config-bounds.ts'
import { readCost, readExchange, readPrices, type Size } from './config-prices.ts'
import {
  type Fields,
  fail,
  type Place,
  readChoice,
  readFields,
  readFlag,
  readInteger,
  readList,
  readName,
  readSeconds,
  readText,
  readTexts,
} from './config-yaml.ts'
import { MODALITIES, type Modality, type Model, type Provider, type Target, type Timeouts } from './domain/catalog.ts'
import type { Exchange } from './domain/dollars.ts'

// The credential stays in memory: it is no part of what is stored of a provider.
export type FileProvider = Provider & { readonly apiKey?: string | undefined }
export type FileModel = Omit<Model, 'createdAt' | 'priceVersion'>
export type FileCatalog = { readonly providers: readonly FileProvider[]; readonly models: readonly FileModel[] }

export function readCatalog(file: Fields): FileCatalog {
  const providers = entries(file, 'providers', BOUNDS.providersMax).map(readProvider)
  const ids = new Set<string>()
  for (const { place, value } of providers) claim(ids, value.id, place, 'id')

  const known = { providers: ids, exchange: readExchange(file) }
  const models = entries(file, 'models', BOUNDS.modelsMax).map(place => readModel(place, known))
  const names = new Set<string>()
  for (const { place, value } of models) claim(names, value.id, place, 'id')
  for (const { place, value } of models) for (const alias of value.aliases) claim(names, alias, place, 'aliases')
  return { providers: providers.map(read => read.value), models: models.map(read => read.value) }
}

// What the rest of the file says that a model depends on.
type Known = { readonly providers: ReadonlySet<string>; readonly exchange: Exchange }
type Read<T> = { readonly place: Place; readonly value: T }

const PROVIDER_KEYS = ['id', 'kind', 'base_url', 'api_key', 'passthrough', 'max_tokens_field', 'timeouts']
const PROVIDER_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const MODEL_ID = /^[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,255}$/

function readProvider(place: Place): Read<FileProvider> {
  const fields = readFields(place, PROVIDER_KEYS)
  const id = readName(fields.need('id'), PROVIDER_ID, 'must be 1 to 64 letters, digits, dots, dashes or underscores')
  const kind = readChoice(fields.need('kind'), ['openai', 'demo'])
  const baseUrl = kind === 'demo' ? '' : readBaseUrl(fields.need('base_url'))
  const value = {
    id,
    kind,
    baseUrl,
    apiKey: fields.optional('api_key', place => readSecret(place), undefined),
    passthrough: fields.optional('passthrough', place => readTexts(place, BOUNDS.namesPerListMax), []),
    maxTokensField: fields.optional(
      'max_tokens_field',
      place => readChoice(place, ['max_tokens', 'max_completion_tokens']),
      usualMaxTokensField(baseUrl),
    ),
    timeouts: fields.optional('timeouts', readTimeouts, TIMEOUTS),
  }
  return { place, value }
}

function readBaseUrl(place: Place): string {
  const url = URL.parse(readText(place, 2048))
  if (url === null || !['http:', 'https:'].includes(url.protocol)) fail(place, 'must be an http:// or https:// address')
  if (url.username !== '' || url.password !== '') fail(place, 'must not hold credentials; use api_key')
  if (url.search !== '' || url.hash !== '') fail(place, 'must not have a query or a fragment')
  return url.href.replace(/\/+$/, '')
}

// It becomes a header, so it must fit into one.
function readSecret(place: Place): string {
  const secret = readText(place, 4096)
  return /^[\x21-\x7e]+$/.test(secret) ? secret : fail(place, 'must not be empty, and of visible ASCII characters only')
}

// OpenAI's own newer models refuse `max_tokens`; everybody else knows that name.
function usualMaxTokensField(baseUrl: string): Provider['maxTokensField'] {
  const host = URL.parse(baseUrl)?.hostname ?? ''
  return host === 'api.openai.com' || host.endsWith('.openai.azure.com') ? 'max_completion_tokens' : 'max_tokens'
}

function readTimeouts(place: Place): Timeouts {
  const fields = readFields(place, ['connect', 'first_byte_stream', 'first_byte_json', 'idle', 'total'])
  const read = (name: string, otherwise: number) =>
    fields.optional(
      name,
      entry => {
        const ms = readSeconds(entry, 24 * 3600)
        return ms > 0 ? ms : fail(entry, 'must be longer than a millisecond')
      },
      otherwise,
    )
  return {
    connectMs: read('connect', TIMEOUTS.connectMs),
    firstByteStreamMs: read('first_byte_stream', TIMEOUTS.firstByteStreamMs),
    firstByteJsonMs: read('first_byte_json', TIMEOUTS.firstByteJsonMs),
    idleMs: read('idle', TIMEOUTS.idleMs),
    totalMs: read('total', TIMEOUTS.totalMs),
  }
}

const MODEL_KEYS = [
  'id',
  'aliases',
  'name',
  'description',
  'owned_by',
  'context_length',
  'max_output_tokens',
  'input_modalities',
  'media_max_tokens',
  'hidden_reasoning',
  'supported_parameters',
  'pricing',
  'targets',
]
const TOKENS_MAX = 100_000_000

function readModel(place: Place, known: Known): Read<FileModel> {
  const fields = readFields(place, MODEL_KEYS)
  const id = readModelId(fields.need('id'))
  const contextLength = readInteger(fields.need('context_length'), 1, TOKENS_MAX)
  const inputModalities = fields.optional('input_modalities', readModalities, ['text'] as const)
  // What a picture may cost must be known before it is accepted.
  if (inputModalities.some(modality => modality !== 'text')) fields.need('media_max_tokens')
  const maxOutputTokens = readInteger(fields.need('max_output_tokens'), 1, contextLength)
  const size = { contextLength, maxOutputTokens }
  const prices = readPrices(fields.need('pricing'), size, known.exchange)
  const targets = readTargets(fields.need('targets'), size, known)
  const value = {
    id,
    aliases: fields.optional('aliases', entry => readList(entry, BOUNDS.namesPerListMax).map(readModelId), []),
    name: fields.optional('name', entry => readText(entry), id),
    description: fields.optional('description', entry => readText(entry, 4096), ''),
    ownedBy: fields.optional('owned_by', entry => readText(entry), ownerOf(id, targets)),
    contextLength,
    maxOutputTokens,
    inputModalities,
    mediaMaxTokens: fields.optional('media_max_tokens', entry => readInteger(entry, 1, TOKENS_MAX), 0),
    hiddenReasoning: fields.optional('hidden_reasoning', readFlag, false),
    supportedParameters: fields.optional('supported_parameters', entry => readTexts(entry, BOUNDS.namesPerListMax), []),
    prices,
    targets,
  }
  return { place, value }
}

function readModelId(place: Place): string {
  return readName(
    place,
    MODEL_ID,
    'must be 1 to 256 letters, digits or . _ : @ / + -, and start with a letter or digit',
  )
}

function readModalities(place: Place): readonly Modality[] {
  const modalities = readList(place, MODALITIES.length).map(entry => readChoice(entry, MODALITIES))
  return modalities.includes('text') ? modalities : fail(place, 'must list text')
}

function ownerOf(id: string, targets: readonly Target[]): string {
  return id.includes('/') ? id.slice(0, id.indexOf('/')) : (targets[0]?.provider ?? '')
}

function readTargets(place: Place, size: Size, { providers, exchange }: Known): readonly Target[] {
  const places = readList(place, BOUNDS.targetsPerModelMax)
  if (places.length === 0) fail(place, 'must name at least one target')
  const seen = new Set<string>()
  return places.map(entry => {
    const fields = readFields(entry, ['provider', 'model', 'priority', 'weight', 'cost'])
    const provider = readText(fields.need('provider'))
    if (!providers.has(provider)) fail(fields.need('provider'), 'names a provider that this file does not declare')
    const model = readName(
      fields.need('model'),
      /^[\x21-\x7e]+$/,
      'must not be empty, and of visible ASCII characters only',
    )
    claim(seen, `${provider} ${model}`, entry, 'target')
    const target = {
      provider,
      model,
      priority: fields.optional('priority', value => readInteger(value, 0, 1000), 0),
      weight: fields.optional('weight', value => readInteger(value, 1, 1000), 1),
    }
    const cost = fields.optional('cost', value => readCost(value, size, exchange), undefined)
    return cost === undefined ? target : { ...target, cost }
  })
}

function entries(fields: Fields, name: string, max: number): readonly Place[] {
  return fields.optional(name, place => readList(place, max), [])
}

function claim(taken: Set<string>, name: string, place: Place, what: string): void {
  if (taken.has(name)) fail({ ...place, key: `${place.key}.${what}` }, `"${name}" is taken already`)
  taken.add(name)
}
