// Fields that cost extra or reach elsewhere and have no price here, as data: each with the values that are harmless all the
// same. Anything else in them is refused, at the top of a request, on its parts and tools, and inside of fields that are passed
// through. See docs/decisions/prices.md.
import { fieldBelow } from '../domain/field-path.ts'
import { Refusal } from '../domain/refusal.ts'

type Harmless = (value: unknown) => boolean

const never: Harmless = () => false
const off: Harmless = value => value === false
const empty: Harmless = value => Array.isArray(value) && value.length === 0
const oneOf =
  (...values: readonly unknown[]): Harmless =>
  value =>
    values.includes(value)

// A cache is written at the usual price for its usual time; a longer one has another price.
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
  // Other things than tokens of text
  ['modalities', value => Array.isArray(value) && value.every(entry => entry === 'text')],
  ['audio', never],
  ['prediction', never],
  ['best_of', oneOf(1)],
  ['background', off],
  ['store', off],
  // Tools of the provider: searches, code, computers
  ['web_search_options', never],
  ['search_parameters', never],
  ['search_settings', never],
  ['enable_search', off],
  ['web_search', off],
  ['compound_custom', never],
  ['plugins', empty],
  ['mcp_servers', empty],
  ['container', never],
  // What the provider keeps, or fetches
  ['cached_content', never],
  ['cachedContent', never],
  ['data_sources', never],
  ['connectors', empty],
])

// `under` is where the field stands.
export function checkPriced(name: string, value: unknown, under: string): void {
  if (PRICED_ELSEWHERE.get(name)?.(value) !== false) return
  const param = fieldBelow(under, name).slice(0, 256).toWellFormed()
  throw new Refusal('unsupported_value', { param, message: `${param} with this value is not offered here.` })
}

// The fields of one object, not of those inside of it, such as a schema of the caller's own.
export function checkPricedFields(record: Readonly<Record<string, unknown>>, path: string): void {
  for (const name of Object.keys(record)) if (PRICED_ELSEWHERE.has(name)) checkPriced(name, record[name], path)
}

// All of it: a field that only some provider reads may hold another one. Its depth was guarded.
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
