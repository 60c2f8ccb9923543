// The schema of a request's routing preferences, in OpenRouter's format.
import Type from 'typebox'
import { MODEL_NAME_MAX } from './usage.ts'

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
export const PROVIDER_WISHES: readonly string[] = Object.keys(ROUTING.provider.properties)
export const UNKEPT_WISHES: ReadonlyMap<string, (value: unknown) => boolean> = new Map<
  string,
  (value: unknown) => boolean
>([
  ['data_collection', value => value === 'allow'],
  ['zdr', value => value === false],
])
