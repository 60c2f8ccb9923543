// A provider in the configuration file: its protocol and address, its credentials, and its differences.

import {
  type Credential,
  NO_QUIRKS,
  PROVIDER_KINDS,
  type Provider,
  type ProviderKind,
  type Timeouts,
} from '../domain/catalog.ts'
import {
  isSdkKind,
  isVendorAddress,
  PRESET_NAMES,
  PRESETS,
  type Preset,
  SDK_PRESETS,
  type SdkKind,
  sdkBaseUrl,
} from '../domain/presets.ts'
import { usuallyFetches } from '../domain/remote-media.ts'
import { withoutTrailing } from '../lib/trailing.ts'
import { BOUNDS, TIMEOUTS } from './limits.ts'
import { QUIRK_KEYS, readHeaders, readQuirks } from './quirks.ts'
import {
  type Fields,
  fail,
  filled,
  isUnfilled,
  type Place,
  readChoice,
  readFields,
  readFlag,
  readList,
  readName,
  readSeconds,
  readText,
  readTexts,
} from './yaml.ts'

// Credentials stay in memory: they are not stored for a provider that a file declares.
export type FileProvider = Provider & { readonly credentials: readonly Credential[] }

const SETTING_KEYS = ['region', 'project', 'location', 'token_url']
const PROVIDER_KEYS = [
  ...[
    'id',
    'kind',
    'preset',
    'base_url',
    'api_key',
    'api_keys',
    'passthrough',
    'remote_media',
    'max_tokens_field',
    'timeouts',
    'headers',
  ],
  ...QUIRK_KEYS,
  ...SETTING_KEYS,
]
const PROVIDER_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const PROVIDER_ID_RULE = 'must be 1 to 64 letters, digits, dots, dashes or underscores'

// In a file a provider that needs a key must have one; a provider that an operator enters may get its key later.
export function readProvider(place: Place, keys: 'now' | 'later' = 'now'): FileProvider {
  const fields = readFields(place, PROVIDER_KEYS)
  const id = readName(filled(fields.need('id')), PROVIDER_ID, PROVIDER_ID_RULE)
  const kind = readChoice(fields.need('kind'), PROVIDER_KINDS)
  refuseOthers(fields, kind)
  const credentials = readSecrets(fields, kind).map((secret, index) => ({ id: `file-${index + 1}`, secret }))
  const timeouts = fields.optional('timeouts', readTimeouts, TIMEOUTS)
  const wire = isSdkKind(kind) ? readSdkWire(fields, kind) : readOpenaiWire(fields, kind)
  if (keys === 'now' && wire.needsKey && credentials.length === 0) fields.need('api_key')
  const { needsKey: _, ...rest } = wire
  return { id, kind, credentials, timeouts, ...rest }
}

type Wire = Omit<Provider, 'id' | 'kind' | 'timeouts'> & { readonly needsKey: boolean }

// A setting of another protocol is a mistake.
function refuseOthers(fields: Fields, kind: ProviderKind): void {
  const settings: readonly string[] = isSdkKind(kind) ? SDK_PRESETS[kind].settings : []
  const wrong = SETTING_KEYS.filter(name => !settings.includes(name))
  if (kind !== 'openai') wrong.push('preset', ...QUIRK_KEYS)
  if (kind === 'demo') wrong.push('api_key', 'api_keys')
  for (const name of wrong) fields.optional(name, entry => fail(entry, `says nothing to kind ${kind}`), undefined)
}

function readOpenaiWire(fields: Fields, kind: ProviderKind): Wire {
  const preset = fields.optional<Preset | undefined>(
    'preset',
    entry => PRESETS[readChoice(entry, PRESET_NAMES)],
    undefined,
  )
  const own = fields.optional<string | undefined>('base_url', readBaseUrl, undefined)
  const baseUrl = kind === 'demo' ? '' : (own ?? preset?.baseUrl ?? readBaseUrl(fields.need('base_url')))
  return {
    baseUrl,
    // At another address than the usual one somebody else would receive the key.
    needsKey: preset?.needsKey === true && (own === undefined || preset.baseUrl === null),
    quirks: readQuirks(fields, preset?.quirks ?? NO_QUIRKS),
    remoteMedia: readRemoteMedia(fields, kind, baseUrl, preset?.remoteMedia ?? isVendorAddress(baseUrl)),
    settings: {},
    passthrough: readPassthrough(fields, preset?.passthrough ?? []),
    maxTokensField: fields.optional(
      'max_tokens_field',
      entry => readChoice(entry, ['max_tokens', 'max_completion_tokens']),
      preset?.maxTokensField ?? usualMaxTokensField(fields),
    ),
  }
}

function readSdkWire(fields: Fields, kind: SdkKind): Wire {
  const preset = SDK_PRESETS[kind]
  const settings: Record<string, string> = {}
  for (const name of preset.settings) {
    const read = name === 'token_url' ? readBaseUrl : name === 'project' ? readProject : readRegion
    const value = fields.optional<string | undefined>(name, read, undefined)
    if (value !== undefined) settings[name] = value
  }
  // A signature is made for a region, whatever the address.
  if (kind === 'bedrock') fields.need('region')
  if (settings.project !== undefined) fields.need('location')
  if (settings.location !== undefined) fields.need('project')
  const baseUrl =
    fields.optional<string | undefined>('base_url', readBaseUrl, undefined) ?? usualAddress(fields, kind, settings)
  return {
    baseUrl,
    needsKey: true,
    remoteMedia: readRemoteMedia(fields, kind, baseUrl, true),
    quirks: { ...NO_QUIRKS, headers: fields.optional('headers', readHeaders, {}) },
    settings,
    passthrough: readPassthrough(fields, preset.passthrough),
    maxTokensField: 'max_tokens',
  }
}

function usualAddress(fields: Fields, kind: SdkKind, settings: Readonly<Record<string, string>>): string {
  const address = sdkBaseUrl(kind, settings) ?? ''
  if (settings.region === undefined && settings.location === undefined) return address
  return asBaseUrl(address, fields.need(settings.region === undefined ? 'location' : 'region'))
}

// A region or location: it becomes part of a host name.
function readRegion(place: Place): string {
  return readName(place, /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/, 'must be 1 to 32 small letters, digits or dashes')
}

// It becomes part of a path; a project of a domain is `example.com:name`.
function readProject(place: Place): string {
  return readName(
    place,
    /^(?:[a-z0-9][a-z0-9.-]{0,62}:)?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'must be 1 to 63 small letters, digits or dashes, after a domain and a colon where it has one',
  )
}

// An operator may know that a server at a private address reaches only the public internet.
function readRemoteMedia(fields: Fields, kind: ProviderKind, baseUrl: string, isVendor: boolean): boolean {
  return fields.optional('remote_media', readFlag, usuallyFetches(kind, baseUrl, isVendor))
}

function readPassthrough(fields: Fields, usual: readonly string[]): readonly string[] {
  return fields.optional('passthrough', place => readTexts(place, BOUNDS.namesPerListMax), usual)
}

function readBaseUrl(place: Place): string {
  return asBaseUrl(readText(place, 2048), place)
}

function asBaseUrl(text: string, place: Place): string {
  if (isUnfilled(text, place)) return text
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) fail(place, 'must be an http:// or https:// address')
  if (url.username !== '' || url.password !== '') fail(place, 'must not hold credentials; use api_key')
  if (url.search !== '' || url.hash !== '') fail(place, 'must not have a query or a fragment')
  return withoutTrailing(url.href, '/')
}

function readSecrets(fields: Fields, kind: ProviderKind): readonly string[] {
  const read = (place: Place) => (kind === 'vertex' ? readServiceAccount(place) : readSecret(place))
  const one = fields.optional('api_key', place => [read(place)], [])
  const several = fields.optional('api_keys', place => readList(place, BOUNDS.credentialsPerProviderMax).map(read), [])
  return [...one, ...several]
}

// It becomes a header, so it must fit into one.
function readSecret(place: Place): string {
  const secret = readText(place, 4096)
  return /^[\x21-\x7e]+$/.test(secret) ? secret : fail(place, 'must not be empty, and of visible ASCII characters only')
}

// An API key, or the JSON of a service account, plain or in base64.
function readServiceAccount(place: Place): string {
  const secret = readText(place, 16_384)
  return /^[\x20-\x7e]+$/.test(secret) ? secret : fail(place, 'must not be empty, and of visible ASCII characters only')
}
// OpenAI's own newer models refuse `max_tokens`; all others know that name.
function usualMaxTokensField(fields: Fields): Provider['maxTokensField'] {
  const baseUrl = fields.optional('base_url', place => readBaseUrl(filled(place)), '')
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
