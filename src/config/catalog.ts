// The catalog as the configuration file declares it: providers with their credentials, models with prices and targets.

import { MODALITIES, type Modality, type Model, type Target } from '../domain/catalog.ts'
import type { Exchange } from '../domain/dollars.ts'
import { STRATEGIES } from '../domain/routing.ts'
import { BOUNDS } from './limits.ts'
import { readCost, readExchange, readPrices, type Size } from './prices.ts'
import { type FileProvider, readProvider } from './provider.ts'
import {
  type Fields,
  fail,
  filled,
  openValue,
  type Place,
  readChoice,
  readFields,
  readFlag,
  readInteger,
  readList,
  readName,
  readText,
  readTexts,
} from './yaml.ts'

export type FileModel = Omit<Model, 'createdAt' | 'priceVersion'>
export type FileCatalog = {
  readonly providers: readonly FileProvider[]
  readonly models: readonly FileModel[]
  readonly exchange: Exchange
  // It names neither providers nor models.
  readonly isSilent: boolean
}

// One provider, as an operator sends it: JSON is YAML, so the same code applies the same rules. Placeholders are refused.
export function readProviderDocument(document: object): FileProvider {
  return readProvider(openValue(document), 'later')
}

export function readModelDocument(document: object, known: Omit<Known, 'undeclared'>): FileModel {
  return readModel(openValue(document), { ...known, undeclared: 'names a provider that does not exist' }).value
}

export function readCatalog(file: Fields): FileCatalog {
  const providers = entries(file, 'providers', BOUNDS.providersMax).map(place => ({
    place,
    value: readProvider(place),
  }))
  const ids = new Set<string>()
  for (const { place, value } of providers) claim(ids, value.id, place, 'id')

  const undeclared = 'names a provider that this file does not declare'
  const known = { providers: ids, exchange: readExchange(file), undeclared }
  const models = entries(file, 'models', BOUNDS.modelsMax).map(place => readModel(place, known))
  const names = new Set<string>()
  for (const { place, value } of models) claim(names, value.id, place, 'id')
  for (const { place, value } of models) for (const alias of value.aliases) claim(names, alias, place, 'aliases')
  return {
    providers: providers.map(read => read.value),
    models: models.map(read => read.value),
    exchange: known.exchange,
    isSilent: !has(file, 'providers') && !has(file, 'models'),
  }
}

// What a model depends on, and the error for a target whose provider does not exist.
type Known = { readonly providers: ReadonlySet<string>; readonly exchange: Exchange; readonly undeclared: string }
type Read<T> = { readonly place: Place; readonly value: T }

const MODEL_ID = /^[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,255}$/
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
  'strategy',
  'pricing',
  'targets',
]
const TOKENS_MAX = 100_000_000

function readModel(place: Place, known: Known): Read<FileModel> {
  const fields = readFields(place, MODEL_KEYS)
  const id = readModelId(fields.need('id'))
  const contextLength = readInteger(fields.need('context_length'), 1, TOKENS_MAX)
  const inputModalities = fields.optional('input_modalities', readModalities, ['text'] as const)
  // The price of an image must be known before it is accepted.
  if (inputModalities.some(modality => modality !== 'text')) fields.need('media_max_tokens')
  const maxOutputTokens = readInteger(fields.need('max_output_tokens'), 1, contextLength)
  const size = { contextLength, maxOutputTokens }
  const prices = readPrices(fields.need('pricing'), size, known.exchange)
  const targets = readTargets(fields.need('targets'), size, known)
  const hidden = fields.optional('hidden_reasoning', readFlag, undefined)
  const value = {
    id,
    aliases: fields.optional('aliases', entry => readAliases(entry, id), []),
    name: fields.optional('name', entry => readText(entry), id),
    description: fields.optional('description', entry => readText(entry, 4096), ''),
    ownedBy: fields.optional('owned_by', entry => readText(entry), ownerOf(id, targets)),
    contextLength,
    maxOutputTokens,
    inputModalities,
    mediaMaxTokens: fields.optional('media_max_tokens', entry => readInteger(entry, 1, TOKENS_MAX), 0),
    hiddenReasoning: hidden ?? false,
    // If not stated, the name decides whenever the catalog is read.
    ...(hidden === undefined ? {} : { hiddenReasoningStated: true }),
    supportedParameters: fields.optional('supported_parameters', entry => readTexts(entry, BOUNDS.namesPerListMax), []),
    strategy: fields.optional('strategy', entry => readChoice(entry, STRATEGIES), 'priority' as const),
    prices,
    targets,
  }
  return { place, value }
}

function readModelId(place: Place): string {
  return readName(
    filled(place),
    MODEL_ID,
    'must be 1 to 256 letters, digits or . _ : @ / + -, and start with a letter or digit',
  )
}

function readAliases(place: Place, id: string): readonly string[] {
  const seen = new Set([id])
  return readList(place, BOUNDS.namesPerListMax).map(entry => {
    const alias = readModelId(entry)
    if (seen.has(alias)) fail(place, `"${alias}" is taken already`)
    seen.add(alias)
    return alias
  })
}

function readModalities(place: Place): readonly Modality[] {
  const modalities = readList(place, MODALITIES.length).map(entry => readChoice(entry, MODALITIES))
  return modalities.includes('text') ? modalities : fail(place, 'must list text')
}

function ownerOf(id: string, targets: readonly Target[]): string {
  return id.includes('/') ? id.slice(0, id.indexOf('/')) : (targets[0]?.provider ?? '')
}

function readTargets(place: Place, size: Size, { providers, exchange, undeclared }: Known): readonly Target[] {
  const places = readList(place, BOUNDS.targetsPerModelMax)
  if (places.length === 0) fail(place, 'must name at least one target')
  const seen = new Set<string>()
  return places.map(entry => {
    const fields = readFields(entry, ['provider', 'model', 'priority', 'weight', 'cost'])
    const provider = readText(filled(fields.need('provider')))
    if (!providers.has(provider)) fail(fields.need('provider'), undeclared)
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

function has(fields: Fields, name: string): boolean {
  return fields.optional(name, () => true, false)
}

function entries(fields: Fields, name: string, max: number): readonly Place[] {
  return fields.optional(name, place => readList(place, max), [])
}

function claim(taken: Set<string>, name: string, place: Place, what: string): void {
  if (taken.has(name)) fail({ ...place, key: `${place.key}.${what}` }, `"${name}" is taken already`)
  taken.add(name)
}
