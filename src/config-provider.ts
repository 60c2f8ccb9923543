// A provider as the configuration file declares it: its wire and address, its credentials, and how it departs from others.
import { BOUNDS, TIMEOUTS } from './config-bounds.ts'
import {
  fail,
  type Place,
  readChoice,
  readFields,
  readList,
  readName,
  readSeconds,
  readText,
  readTexts,
} from './config-yaml.ts'
import { type Credential, NO_QUIRKS, type Provider, type Timeouts } from './domain/catalog.ts'

// Credentials stay in memory: they are no part of what is stored of a provider that a file declares.
export type FileProvider = Provider & { readonly credentials: readonly Credential[] }

const PROVIDER_KEYS = ['id', 'kind', 'base_url', 'api_key', 'api_keys', 'passthrough', 'max_tokens_field', 'timeouts']
const PROVIDER_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export function readProvider(place: Place): FileProvider {
  const fields = readFields(place, PROVIDER_KEYS)
  const id = readName(fields.need('id'), PROVIDER_ID, 'must be 1 to 64 letters, digits, dots, dashes or underscores')
  const kind = readChoice(fields.need('kind'), ['openai', 'demo'])
  const baseUrl = kind === 'demo' ? '' : readBaseUrl(fields.need('base_url'))
  const one = fields.optional('api_key', place => [readSecret(place)], [])
  const several = fields.optional(
    'api_keys',
    place => readList(place, BOUNDS.credentialsPerProviderMax).map(readSecret),
    [],
  )
  return {
    id,
    kind,
    baseUrl,
    credentials: [...one, ...several].map((secret, index) => ({ id: `file-${index + 1}`, secret })),
    quirks: NO_QUIRKS,
    settings: {},
    passthrough: fields.optional('passthrough', place => readTexts(place, BOUNDS.namesPerListMax), []),
    maxTokensField: fields.optional(
      'max_tokens_field',
      place => readChoice(place, ['max_tokens', 'max_completion_tokens']),
      usualMaxTokensField(baseUrl),
    ),
    timeouts: fields.optional('timeouts', readTimeouts, TIMEOUTS),
  }
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
