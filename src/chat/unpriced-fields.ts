// Fields that cost extra or reach elsewhere and have no price here, as data: each with its harmless values. Any other value is
// refused, at the top level of a request, on its parts and tools, and inside passthrough fields. See docs/decisions/prices.md.
import { Refusal } from '../domain/refusal.ts'
import { fieldBelow } from './request-errors.ts'

type Harmless = (value: unknown) => boolean

const never: Harmless = () => false
const off: Harmless = value => value === false
const empty: Harmless = value => Array.isArray(value) && value.length === 0
const oneOf =
  (...values: readonly unknown[]): Harmless =>
  value =>
    values.includes(value)

// A cache write at the usual price has the usual lifetime; a longer one has another price.
const markFor =
  (...ttls: readonly unknown[]): Harmless =>
  value =>
    !isRecord(value) || value.ttl === undefined || value.ttl === null || ttls.includes(value.ttl)

const PRICED_ELSEWHERE: ReadonlyMap<string, Harmless> = new Map<string, Harmless>([
  // Another price for the same tokens
  ['service_tier', oneOf('auto', 'default')],
  ['serviceTier', oneOf('auto', 'default')],
  ['speed', oneOf('standard')],
  ['inference_geo', oneOf('global')],
  ['performanceConfig', never],
  ['cache_control', markFor('5m')],
  ['prompt_cache_breakpoint', markFor('30m')],
  ['prompt_cache_options', isUsualCache],
  ['prompt_cache_retention', oneOf('in_memory', 'in-memory', '24h')],
  // Other than text tokens
  ['modalities', value => Array.isArray(value) && value.every(entry => entry === 'text')],
  ['audio', never],
  ['prediction', never],
  ['best_of', oneOf(1)],
  ['background', off],
  ['store', off],
  // The provider's tools: searches, code, computers
  ['web_search_options', never],
  ['search_parameters', never],
  ['search_settings', never],
  ['enable_search', off],
  ['web_search', off],
  ['compound_custom', never],
  ['plugins', empty],
  ['mcp_servers', empty],
  ['container', never],
  // Stored or fetched by the provider
  ['cached_content', never],
  ['cachedContent', never],
  ['data_sources', never],
  ['connectors', empty],
])

// The lifetime of a cache entry that models may have a price for.
const LONG = '1h'

// Whether an object is marked for a cache of one hour: allowed or not by the model that is requested.
export function hasLongCache({ cache_control: mark }: Readonly<Record<string, unknown>>): boolean {
  return isRecord(mark) && mark.ttl === LONG
}

// The path of the first such mark on parts of messages and on tools.
export function longCacheIn(
  messages: readonly { readonly content?: unknown }[],
  tools: readonly Readonly<Record<string, unknown>>[] = [],
): string | undefined {
  for (const [index, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue
    const at = (content as readonly Readonly<Record<string, unknown>>[]).findIndex(hasLongCache)
    if (at >= 0) return `messages.${index}.content.${at}.cache_control`
  }
  const tool = tools.findIndex(hasLongCache)
  return tool < 0 ? undefined : `tools.${tool}.cache_control`
}

// The same anywhere in a request, for one that is known to have such a mark.
export function longCacheInside(value: unknown, path: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (!Array.isArray(value) && hasLongCache(value as Record<string, unknown>)) {
    return fieldBelow(path, 'cache_control').slice(0, 256).toWellFormed()
  }
  for (const [name, inner] of Object.entries(value)) {
    const found = longCacheInside(inner, fieldBelow(path, name))
    if (found !== undefined) return found
  }
  return undefined
}

// `under` is the path of the enclosing object.
export function checkPriced(name: string, value: unknown, under: string): void {
  if (PRICED_ELSEWHERE.get(name)?.(value) !== false) return
  const param = fieldBelow(under, name).slice(0, 256).toWellFormed()
  throw new Refusal('unsupported_value', { param, message: `${param} with this value is not supported.` })
}

// The fields of one object, without nested ones such as a caller's own schema. Where the model decides about a cache of one
// hour, its mark is not refused here.
export function checkPricedFields(
  record: Readonly<Record<string, unknown>>,
  path: string,
  longCache: 'refused' | 'by model' = 'refused',
): void {
  for (const name of Object.keys(record)) {
    if (!PRICED_ELSEWHERE.has(name)) continue
    if (longCache === 'refused' || name !== 'cache_control' || !hasLongCache(record))
      checkPriced(name, record[name], path)
  }
}

// Recursively: a field that only some provider reads may contain another one. Its depth was checked.
export function checkPricedInside(value: unknown, path: string): void {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) checkPricedInside(value[i], `${path}.${i}`)
  } else if (isRecord(value)) {
    for (const name of Object.keys(value)) {
      const inner = value[name]
      if (PRICED_ELSEWHERE.has(name)) checkPriced(name, inner, path)
      if (typeof inner === 'object' && inner !== null) checkPricedInside(inner, `${path}.${name}`)
    }
  }
}

function isUsualCache(value: unknown): boolean {
  if (!isRecord(value)) return true
  return Object.keys(value).every(
    name => (name === 'ttl' && oneOf('30m', null)(value.ttl)) || (name === 'mode' && typeof value.mode === 'string'),
  )
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
