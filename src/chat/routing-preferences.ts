// A request's routing preferences, `models` and `provider` of its body, in OpenRouter's format with prices per million tokens:
// their schema, and how they are parsed.
import Type from 'typebox'
import { type Pico, parseDecimal } from '../domain/credits.ts'
import { Refusal } from '../domain/refusal.ts'
import { NO_WISHES, type RoutingPreferences, type Strategy } from '../domain/routing.ts'
import { MODEL_NAME_MAX } from '../domain/usage.ts'
import { isRawJson } from '../lib/raw-json.ts'

export const Name = Type.String({ minLength: 1, maxLength: 256 })
export const ModelName = Type.String({ minLength: 1, maxLength: MODEL_NAME_MAX })
const ProviderNames = Type.Optional(Type.Array(Name, { maxItems: 64 }))
const PriceBound = Type.Optional(
  Type.Union([
    Type.Number({ minimum: 0, maximum: 999_999_999_999 }),
    Type.String({ minLength: 1, maxLength: 32, pattern: '^\\d{1,12}(\\.\\d+)?$' }),
  ]),
)

export const ROUTING = {
  models: Type.Optional(
    Type.Array(ModelName, { maxItems: 16, description: 'Fallback models, tried in this order after `model`.' }),
  ),
  provider: Type.Optional(
    Type.Object({
      order: ProviderNames,
      only: ProviderNames,
      ignore: ProviderNames,
      allow_fallbacks: Type.Optional(Type.Boolean()),
      sort: Type.Optional(Type.Enum(['price', 'latency', 'throughput'])),
      max_price: Type.Optional(
        Type.Object({
          prompt: PriceBound,
          completion: PriceBound,
          request: PriceBound,
        }),
      ),
      require_parameters: Type.Optional(Type.Boolean()),
    }),
  ),
}

// Fields of `provider`: those that are read, and those that request a guarantee not offered here and are therefore refused.
const PROVIDER_WISHES: readonly string[] = Object.keys(ROUTING.provider.properties)
const UNKEPT_WISHES: ReadonlyMap<string, (value: unknown) => boolean> = new Map<string, (value: unknown) => boolean>([
  ['data_collection', value => value === 'allow'],
  ['zdr', value => value === false],
])

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
