// Creates a provider from its validated document: the values of its preset or kind, overridden by each field of the document.
import { TIMEOUTS } from '../config/limits.ts'
import {
  type Credential,
  NO_QUIRKS,
  PROXY_CREDENTIAL,
  type Provider,
  type ProviderKind,
  type Quirks,
  type Timeouts,
} from '../domain/catalog.ts'
import {
  isOnVertex,
  isSdkKind,
  isVendorAddress,
  PRESETS,
  type Preset,
  SDK_PRESETS,
  type SdkKind,
  sdkBaseUrl,
} from '../domain/presets.ts'
import { usuallyFetches } from '../domain/remote-media.ts'
import { withoutTrailing } from '../lib/text.ts'
import type { ProviderInput } from './schema.ts'

// Credentials stay in memory: they are not stored for a provider that a file declares.
export type ProviderDeclaration = Provider & { readonly credentials: readonly Credential[] }

export function declarationOf(input: ProviderInput): ProviderDeclaration {
  const credentials = secretsOf(input).map((secret, index) => ({ id: `file-${index + 1}`, secret }))
  const ofProxy = proxySecret(input)
  if (ofProxy !== undefined) credentials.push({ id: PROXY_CREDENTIAL, secret: ofProxy })
  return { ...providerOf(input), credentials }
}

// For a raw document with unresolved placeholders, the resolved one determines what follows from the address.
export function providerOf(input: ProviderInput, resolved: ProviderInput = input): Provider {
  const { id, kind } = input
  const isRaw = input !== resolved
  const wire = isSdkKind(kind) ? sdkWire(input, kind, isRaw) : openaiWire(input, resolved, isRaw)
  const proxy = input.proxy === undefined ? undefined : withoutUser(input.proxy, isRaw)
  return { id, kind, timeouts: timeoutsOf(input), ...wire, ...(proxy === undefined ? {} : { proxy }) }
}

// User and password, as they stand in the address.
function proxySecret({ proxy = '' }: ProviderInput): string | undefined {
  const { username = '', password = '' } = URL.parse(proxy) ?? {}
  return username === '' && password === '' ? undefined : `${username}:${password}`
}

function withoutUser(proxy: string, isRaw: boolean): string {
  const address = proxy.trim().replace(/^(https?:\/\/).*@/i, '$1')
  return normalUrl(address, isRaw)
}

export function secretsOf({ api_key: one, api_keys: several = [] }: ProviderInput): readonly string[] {
  return one === undefined ? several : [one, ...several]
}

// Undefined where its document does not state it.
export function addressOf(
  kind: ProviderKind,
  { base_url: own, preset }: Pick<ProviderInput, 'base_url' | 'preset'>,
  settings: Readonly<Record<string, string>>,
): string | undefined {
  if (isSdkKind(kind)) return own ?? sdkBaseUrl(kind, settings)
  if (kind === 'demo') return ''
  return own ?? (preset === undefined ? undefined : (PRESETS[preset].baseUrl ?? undefined))
}

export function settingsOf(input: ProviderInput, isRaw = false): Readonly<Record<string, string>> {
  const names = isSdkKind(input.kind) ? SDK_PRESETS[input.kind].settings : []
  return Object.fromEntries(
    (names as readonly (keyof ProviderInput)[]).flatMap(name => {
      const value = input[name]
      if (typeof value !== 'string') return []
      return [[name, name === 'token_url' ? normalUrl(value, isRaw) : value]]
    }),
  )
}

type Wire = Omit<Provider, 'id' | 'kind' | 'timeouts'>

function openaiWire(input: ProviderInput, resolved: ProviderInput, isRaw: boolean): Wire {
  const { kind } = input
  const preset: Preset | undefined = input.preset === undefined ? undefined : PRESETS[input.preset]
  const address = addressOf(kind, input, {}) ?? ''
  const baseUrl = address === '' ? '' : normalUrl(address, isRaw)
  const isVendor = preset?.remoteMedia ?? isVendorAddress(baseUrl)
  return {
    baseUrl,
    quirks: quirksOf(input, preset?.quirks ?? NO_QUIRKS),
    remoteMedia: input.remote_media ?? usuallyFetches(kind, baseUrl, isVendor),
    settings: {},
    passthrough: input.passthrough ?? preset?.passthrough ?? [],
    maxTokensField: input.max_tokens_field ?? preset?.maxTokensField ?? usualMaxTokensField(resolved),
    ...apiOf(input, preset, resolved),
  }
}

// Chat completions alone is not stored, as for providers from before there was a choice.
function apiOf(
  input: ProviderInput,
  preset: Preset | undefined,
  resolved: ProviderInput,
): Pick<Wire, 'api' | 'openaiTools'> {
  if (input.kind !== 'openai') return {}
  const isOpenai = preset === undefined ? isOpenaiAddress(resolved) : preset.openaiTools === true
  // Below other paths, such as a deployment's at Azure, there are only chat completions.
  const hasBoth = isOpenai && input.path === undefined && /\/v1\/*$/.test(resolved.base_url ?? '')
  const api = input.api ?? preset?.api ?? (hasBoth ? 'auto' : 'chat')
  return api === 'chat' ? {} : { api, ...(isOpenai ? { openaiTools: true } : {}) }
}

function sdkWire(input: ProviderInput, kind: SdkKind, isRaw: boolean): Wire {
  const settings = settingsOf(input, isRaw)
  const baseUrl = normalUrl(addressOf(kind, input, settings) ?? '', isRaw)
  return {
    baseUrl,
    // On Vertex, Anthropic's models fetch nothing.
    remoteMedia: input.remote_media ?? usuallyFetches(kind, baseUrl, !isOnVertex({ kind, settings })),
    quirks: quirksOf(input, NO_QUIRKS),
    settings,
    passthrough: input.passthrough ?? SDK_PRESETS[kind].passthrough,
    maxTokensField: 'max_tokens',
  }
}

function normalUrl(text: string, isRaw: boolean): string {
  return isRaw && hasPlaceholder(text) ? text : withoutTrailing(URL.parse(text)?.href ?? text, '/')
}

function hasPlaceholder(text: string): boolean {
  return text.includes('${')
}

function quirksOf(input: ProviderInput, usual: Quirks): Quirks {
  const { headers } = input
  const own = headers && Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return {
    authHeader: input.auth_header ?? usual.authHeader,
    path: input.path ?? usual.path,
    query: input.query ?? usual.query,
    headers: own ?? usual.headers,
    leavesOut: input.leaves_out ?? usual.leavesOut,
    streamOptions: input.stream_options ?? usual.streamOptions,
    developerRole: input.developer_role ?? usual.developerRole,
    // Null means none, also where the preset has one.
    cacheKeyField: input.cache_key_field === undefined ? usual.cacheKeyField : input.cache_key_field,
  }
}

// OpenAI's own newer models refuse `max_tokens`; all others know that name.
function usualMaxTokensField(input: ProviderInput): Provider['maxTokensField'] {
  return isOpenaiAddress(input) ? 'max_completion_tokens' : 'max_tokens'
}

function isOpenaiAddress({ base_url: baseUrl = '' }: ProviderInput): boolean {
  const host = URL.parse(baseUrl)?.hostname ?? ''
  return host === 'api.openai.com' || host.endsWith('.openai.azure.com')
}

function timeoutsOf({ timeouts = {} }: ProviderInput): Timeouts {
  const ms = (seconds: number | undefined, usual: number) =>
    seconds === undefined ? usual : Math.max(1, Math.round(seconds * 1000))
  return {
    connectMs: ms(timeouts.connect, TIMEOUTS.connectMs),
    firstByteStreamMs: ms(timeouts.first_byte_stream, TIMEOUTS.firstByteStreamMs),
    firstByteJsonMs: ms(timeouts.first_byte_json, TIMEOUTS.firstByteJsonMs),
    idleMs: ms(timeouts.idle, TIMEOUTS.idleMs),
    totalMs: ms(timeouts.total, TIMEOUTS.totalMs),
  }
}
