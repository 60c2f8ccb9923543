// How a provider differs from OpenAI's protocol, as declared in the configuration file: its preset's values, overridden by each
// key that the file gives.

import type { Quirks } from '../domain/catalog.ts'
import { BOUNDS } from './limits.ts'
import {
  type Fields,
  fail,
  isNull,
  type Place,
  readChoice,
  readFlag,
  readMapping,
  readName,
  readText,
  readTexts,
} from './yaml.ts'

export const QUIRK_KEYS = [
  'auth_header',
  'path',
  'query',
  'leaves_out',
  'stream_options',
  'developer_role',
  'cache_key_field',
]

export function readQuirks(fields: Fields, usual: Quirks): Quirks {
  return {
    authHeader: fields.optional('auth_header', readAuthHeader, usual.authHeader),
    path: fields.optional('path', readPath, usual.path),
    query: fields.optional('query', readQuery, usual.query),
    headers: fields.optional('headers', readHeaders, usual.headers),
    leavesOut: fields.optional('leaves_out', place => readTexts(place, BOUNDS.namesPerListMax), usual.leavesOut),
    streamOptions: fields.optional('stream_options', readFlag, usual.streamOptions),
    developerRole: fields.optional('developer_role', readFlag, usual.developerRole),
    cacheKeyField: fields.optional('cache_key_field', readFieldName, usual.cacheKeyField),
  }
}

function readAuthHeader(place: Place): Quirks['authHeader'] {
  return readChoice(place, ['authorization', 'api-key'])
}

function readPath(place: Place): string {
  const rule = 'must begin with a slash, of visible ASCII characters without ? and #, with {model} where the model goes'
  return readName(place, /^\/(?:[\x21-\x7e](?<![?#{}])|\{model\})*$/, rule)
}

// Null means none, also where the preset has one.
function readFieldName(place: Place): string | null {
  return isNull(place) ? null : readName(place, /^[A-Za-z_]\w{0,63}$/, 'must be the name of a field, or null')
}

function readQuery(place: Place): Quirks['query'] {
  const pairs = readMapping(place, BOUNDS.namesPerListMax)
  return Object.fromEntries(pairs.map(pair => [pair.name, readText(pair.place, 1024)]))
}

// Written by the gateway for every call, or a secret.
const TAKEN = new Set([
  ...[
    'accept-encoding',
    'api-key',
    'authorization',
    'connection',
    'content-length',
    'content-type',
    'cookie',
    'expect',
  ],
  ...['host', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'x-api-key', 'x-goog-api-key'],
  'x-request-id',
])

export function readHeaders(place: Place): Quirks['headers'] {
  const pairs = readMapping(place, BOUNDS.namesPerListMax)
  return Object.fromEntries(
    pairs.map(pair => {
      const name = pair.name.toLowerCase()
      if (!/^[!#$%&'*+.^_`|~0-9a-z-]{1,64}$/.test(name)) fail(pair.place, 'is not the name of a header')
      if (TAKEN.has(name)) fail(pair.place, 'is written by Turnpike itself')
      const value = readText(pair.place, 1024)
      return [name, /^[\x20-\x7e]*$/.test(value) ? value : fail(pair.place, 'must be of visible ASCII characters')]
    }),
  )
}
