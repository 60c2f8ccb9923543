// Parses a request's routing preferences: `models` and `provider` of its body, in OpenRouter's format, with prices per million
// tokens.

import { type Pico, parseDecimal } from '../domain/credits.ts'
import { Refusal } from '../domain/refusal.ts'
import { NO_WISHES, type RoutingPreferences, type Strategy } from '../domain/routing.ts'
import { PROVIDER_WISHES, UNKEPT_WISHES } from '../domain/routing-schema.ts'
import { isRawJson } from '../lib/raw-json.ts'

type GivenPreferences = {
  readonly order?: readonly string[]
  readonly only?: readonly string[]
  readonly ignore?: readonly string[]
  readonly allow_fallbacks?: boolean
  readonly sort?: keyof typeof SORTS
  readonly max_price?: Readonly<Record<string, number | string>>
  readonly require_parameters?: boolean
}

// Before validation: an explicit null means absent, and unknown fields are omitted and named.
export function normalizePreferences(body: Readonly<Record<string, unknown>>, leftOut: string[]): void {
  const { provider } = body
  if (typeof provider !== 'object' || provider === null || Array.isArray(provider)) return
  const preferences = provider as Record<string, unknown>
  for (const name of Object.keys(preferences)) {
    const value = preferences[name]
    if (isRawJson(value)) throw new Refusal('invalid_value', { param: `provider.${name}`.slice(0, 256).toWellFormed() })
    if (value === null) delete preferences[name]
    else if (UNKEPT_WISHES.get(name)?.(value) === false) throw unkept(`provider.${name}`)
    else if (!PROVIDER_WISHES.includes(name)) {
      delete preferences[name]
      if (leftOut.length < NAMED_MAX && !UNKEPT_WISHES.has(name)) leftOut.push(`provider.${name.slice(0, 64)}`)
    }
  }
}

// For a body that the schema accepts.
export function readPreferences(body: Readonly<Record<string, unknown>>): RoutingPreferences {
  if (body.models === undefined && body.provider === undefined) return NO_WISHES
  const given = (body.provider ?? {}) as GivenPreferences
  return {
    models: (body.models as readonly string[] | undefined) ?? NO_WISHES.models,
    order: given.order ?? NO_WISHES.order,
    only: given.only,
    ignore: given.ignore ?? NO_WISHES.ignore,
    allowFallbacks: given.allow_fallbacks ?? true,
    sort: given.sort === undefined ? undefined : SORTS[given.sort],
    maxPrice: {
      ...priceOf(given, 'prompt', MILLIONTHS),
      ...priceOf(given, 'completion', MILLIONTHS),
      ...priceOf(given, 'request', PICO),
    },
    requireParameters: given.require_parameters ?? false,
  }
}

// Throughput is not measured; time to first content is used instead.
const SORTS = { price: 'cheapest', latency: 'fastest', throughput: 'fastest' } as const satisfies Record<
  string,
  Strategy
>

const NAMED_MAX = 32
// Per million tokens, millionths of a credit are pico-credits per token.
const MILLIONTHS = 6
const PICO = 12

function priceOf(given: GivenPreferences, name: 'prompt' | 'completion' | 'request', decimals: number) {
  const value = given.max_price?.[name]
  if (value === undefined) return {}
  const price = readPrice(value, decimals)
  if (price === undefined) {
    const param = `provider.max_price.${name}`
    throw new Refusal('invalid_value', { param, message: `${param} must be a price such as "2.5".` })
  }
  return { [name]: price }
}

// A bound finer than the price resolution is truncated, which no price notices.
function readPrice(value: number | string, decimals: number): Pico | undefined {
  const text = String(value)
  // A small number with an exponent is below any price.
  if (typeof value === 'number' && value < 1 && text.includes('e')) return 0n
  const price = parseDecimal(
    text.replace(/(\.\d+)$/, fraction => fraction.slice(0, decimals + 1)),
    decimals,
  )
  return price === undefined || price < 0n ? undefined : price
}

function unkept(param: string): Refusal {
  return new Refusal('unsupported_value', { param, message: `${param} with this value is not supported.` })
}
