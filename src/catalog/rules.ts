// Rules of providers and models that a schema cannot express: what a kind needs, references, unique names, and prices within
// bounds. Each returns its faults in document order; the first one is reported.
import type { Exchange } from '../domain/dollars.ts'
import { isOnVertex, isSdkKind, PRESETS, SDK_PRESETS } from '../domain/presets.ts'
import { PROXY_RULE, proxyAddress } from '../lib/proxy-address.ts'
import { type Faults, invalidField, missingField, type Path } from '../lib/schema-fault.ts'
import { costFaults, priceFaults } from './price-rules.ts'
import { addressOf, secretsOf, settingsOf } from './provider.ts'
import { type ModelInput, type ProviderInput, STARS_MAX } from './schema.ts'

// In a file a provider that needs a key must have one; a provider that an operator enters may get its key later.
export type KeyRule = 'now' | 'later'

export function* providerFaults(input: ProviderInput, keys: KeyRule): Faults {
  yield* fieldsOfOtherKinds(input)
  yield* addressFaults(input)
  yield* headerFaults(input)
  yield* secretFaults(input)
  if (keys === 'now' && needsKey(input) && secretsOf(input).length === 0) yield missingField('api_key')
}

// What a model refers to.
export type Known = {
  readonly providers: Pick<ReadonlySet<string>, 'has'>
  readonly exchange: Exchange
  // The problem of a target whose provider does not exist.
  readonly unknownProvider: string
}

export function* modelFaults(input: ModelInput, { providers, exchange, unknownProvider }: Known): Faults {
  const { context_length: context, max_output_tokens: output = 0, input_modalities: modalities = ['text'] } = input
  for (const [name] of repetitions([input.id, ...(input.aliases ?? [])])) yield invalidField(['aliases'], taken(name))
  yield* starFaults(input)
  yield* typeFaults(input)
  if (output > context) yield invalidField(['max_output_tokens'], `must be a whole number from 1 to ${context}`)
  if (!modalities.includes('text')) yield invalidField(['input_modalities'], 'must list text')
  // The price of an image must be known before it is accepted.
  if (modalities.some(each => each !== 'text') && input.media_max_tokens === undefined)
    yield missingField('media_max_tokens')
  yield* priceFaults(input, exchange)
  for (const [index, target] of input.targets.entries()) {
    if (!providers.has(target.provider)) yield invalidField(['targets', index, 'provider'], unknownProvider)
    if (target.cost !== undefined) yield* costFaults(target.cost, ['targets', index, 'cost'], input, exchange)
  }
  const names = input.targets.map(({ provider, model }) => `${provider} ${model}`)
  for (const [name, index] of repetitions(names)) yield invalidField(['targets', index], taken(name))
}

// Two stars in a row mean the same as one, and would hide that two models have the same pattern.
function* starFaults({ aliases = [] }: ModelInput): Faults {
  for (const [index, alias] of aliases.entries()) {
    if (alias.includes('**')) yield invalidField(['aliases', index], 'must not have two stars in a row')
    if (alias.split('*').length - 1 > STARS_MAX)
      yield invalidField(['aliases', index], `must have at most ${STARS_MAX} stars`)
  }
}

// What one type needs and the other does not have.
function* typeFaults({ type = 'chat', ...input }: ModelInput): Faults {
  if (type === 'chat') {
    if (input.max_output_tokens === undefined) yield missingField('max_output_tokens')
    for (const name of ['dimensions', 'dimensions_min'] as const)
      if (input[name] !== undefined) yield invalidField([name], 'applies to type embedding only')
    return
  }
  const { dimensions, dimensions_min: least, input_modalities: modalities = [] } = input
  if (dimensions === undefined) yield missingField('dimensions')
  else if (least !== undefined && least > dimensions)
    yield invalidField(['dimensions_min'], `must be a whole number from 1 to ${dimensions}`)
  for (const name of ['max_output_tokens', 'hidden_reasoning'] as const)
    if (input[name] !== undefined) yield invalidField([name], 'applies to type chat only')
  if (modalities.some(each => each !== 'text')) yield invalidField(['input_modalities'], 'must be text for embeddings')
}

export function* providerNameFaults(providers: readonly Pick<ProviderInput, 'id'>[]): Faults {
  for (const [name, index] of repetitions(providers.map(({ id }) => id)))
    yield invalidField(['providers', index, 'id'], taken(name))
}

// An id or an alias is the name of one model.
export function* modelNameFaults(models: readonly Pick<ModelInput, 'id' | 'aliases'>[]): Faults {
  const ids = models.map(({ id }) => id)
  for (const [name, index] of repetitions(ids)) yield invalidField(['models', index, 'id'], taken(name))
  const names = new Set(ids)
  for (const [index, { aliases = [] }] of models.entries()) {
    for (const alias of aliases) {
      if (names.has(alias)) yield invalidField(['models', index, 'aliases'], taken(alias))
      names.add(alias)
    }
  }
}

// Every string of a document. Placeholders are resolved only in the configuration file.
export function* textFaults(value: unknown, placeholders: 'resolved' | 'refused', path: Path = []): Faults {
  if (typeof value === 'string') {
    if (placeholders === 'refused' && /\$\{[^{}]*\}/.test(value))
      yield invalidField(path, 'must not contain a placeholder: those are for the configuration file')
    if (/\p{Cc}/u.test(value) || !value.isWellFormed()) yield invalidField(path, 'must not contain control characters')
    return
  }
  if (typeof value !== 'object' || value === null) return
  const members = Array.isArray(value) ? value.entries() : Object.entries(value)
  for (const [step, member] of members) yield* textFaults(member, placeholders, [...path, step])
}

const SETTINGS = ['region', 'project', 'location', 'token_url'] as const
// For the openai kind.
const QUIRKS = [
  'api',
  'auth_header',
  'path',
  'query',
  'leaves_out',
  'stream_options',
  'developer_role',
  'cache_key_field',
] as const

// A field of another kind is a mistake.
function* fieldsOfOtherKinds(input: ProviderInput): Faults {
  const { kind } = input
  const settings: readonly string[] = isSdkKind(kind) ? SDK_PRESETS[kind].settings : []
  const wrong: (keyof ProviderInput)[] = SETTINGS.filter(name => !settings.includes(name))
  if (kind !== 'openai') wrong.push('preset', ...QUIRKS)
  if (kind === 'demo') wrong.push('api_key', 'api_keys', 'proxy')
  for (const name of wrong) if (input[name] !== undefined) yield invalidField([name], `does not apply to kind ${kind}`)
}

function* addressFaults(input: ProviderInput): Faults {
  const { kind, region, project, location } = input
  // A signature is made for a region, whatever the address.
  if (kind === 'bedrock' && region === undefined) yield missingField('region')
  if (project !== undefined && location === undefined) yield missingField('location')
  const isProjectless = project === undefined && kind === 'anthropic' && input.token_url !== undefined
  if (isProjectless || (location !== undefined && project === undefined)) yield missingField('project')
  for (const name of ['base_url', 'token_url'] as const) {
    const problem = input[name] === undefined ? undefined : problemOfAddress(input[name])
    if (problem !== undefined) yield invalidField([name], problem)
  }
  if (input.proxy !== undefined && proxyAddress(input.proxy) === undefined)
    yield invalidField(['proxy'], `must be ${PROXY_RULE}`)
  if (kind === 'demo' || input.base_url !== undefined) return
  const address = addressOf(kind, input, settingsOf(input))
  if (address === undefined) yield missingField('base_url')
  else if (problemOfAddress(address) !== undefined)
    yield invalidField([region === undefined ? 'location' : 'region'], 'must be a part of an address')
}

function problemOfAddress(text: string): string | undefined {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return 'must be an http:// or https:// address'
  if (url.username !== '' || url.password !== '') return 'must not contain credentials; use api_key'
  return url.search !== '' || url.hash !== '' ? 'must not have a query or a fragment' : undefined
}

// Written for every call by the gateway, or a secret.
const RESERVED_HEADERS = new Set([
  'accept-encoding',
  'api-key',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'host',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-api-key',
  'x-goog-api-key',
  'x-request-id',
])

function* headerFaults({ headers = {} }: ProviderInput): Faults {
  for (const [name, value] of Object.entries(headers)) {
    const path = ['headers', name]
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/.test(name)) yield invalidField(path, 'is not the name of a header')
    if (RESERVED_HEADERS.has(name.toLowerCase())) yield invalidField(path, 'is written by Turnpike itself')
    if (!/^[\x20-\x7e]*$/.test(value)) yield invalidField(path, 'must be visible ASCII characters')
  }
}

const SECRET_MAX = 4096

// It becomes a header, so it must fit into one. On Vertex it may be the JSON of a service account, or that in base64.
function* secretFaults(input: ProviderInput): Faults {
  if (isOnVertex({ kind: input.kind, settings: settingsOf(input) })) return
  const { api_key: one, api_keys: several = [] } = input
  const given: readonly (readonly [Path, string])[] = [
    ...(one === undefined ? [] : [[['api_key'], one] as const]),
    ...several.map((secret, index) => [['api_keys', index], secret] as const),
  ]
  for (const [path, secret] of given) {
    if (secret.length > SECRET_MAX) yield invalidField(path, `must have at most ${SECRET_MAX} characters`)
    if (!/^[\x21-\x7e]+$/.test(secret)) yield invalidField(path, 'must be visible ASCII characters without spaces')
  }
}

// At another address than the usual one somebody else would receive the key.
function needsKey({ kind, preset, base_url: baseUrl }: ProviderInput): boolean {
  if (isSdkKind(kind)) return true
  const known = preset === undefined ? undefined : PRESETS[preset]
  return known?.needsKey === true && (baseUrl === undefined || known.baseUrl === null)
}

function taken(name: string): string {
  return `"${name}" is taken already`
}

// Earlier entries of the list, with their index.
function* repetitions(names: readonly string[]): Generator<readonly [name: string, index: number]> {
  const seen = new Set<string>()
  for (const [index, name] of names.entries()) {
    if (seen.has(name)) yield [name, index]
    seen.add(name)
  }
}
