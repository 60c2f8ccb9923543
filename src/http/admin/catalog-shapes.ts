// The catalog objects as JSON Schema: the admin API's responses about providers, models and their changes.
import { Type } from 'typebox'
import { MODALITIES, PROVIDER_KINDS } from '../../domain/catalog.ts'
import { STRATEGIES } from '../../domain/routing.ts'
import { Time } from './shapes.ts'

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])
const Texts = Type.Array(Type.String())
const Count = Type.Integer({ minimum: 0 })
export const CatalogStatus = Type.Enum(['active', 'inactive'])

const standing = {
  status: CatalogStatus,
  provisioned: Type.Boolean({ description: 'Declared in the configuration file and read-only here.' }),
  version: Type.Integer({ description: 'Increases with every change; send it as `If-Match`.' }),
  created_at: Time,
}

export const CredentialShape = Type.Object({
  object: Type.Literal('credential'),
  id: Type.String(),
  last4: Type.String({ description: 'The last four characters; empty for short secrets.' }),
  created_at: nullable(Time),
  state: Type.String({ description: '`active`, or the state found by routing.' }),
})

export const ProviderShape = Type.Object({
  object: Type.Literal('provider'),
  id: Type.String(),
  kind: Type.Enum([...PROVIDER_KINDS]),
  base_url: Type.String(),
  proxy: Type.Union([Type.String(), Type.Null()], { description: 'Its own proxy, without user and password.' }),
  passthrough: Texts,
  remote_media: Type.Boolean({ description: 'Whether image URLs are forwarded to this provider.' }),
  max_tokens_field: Type.String(),
  timeouts: Type.Record(Type.String(), Type.Number()),
  quirks: Type.Record(Type.String(), Type.Unknown()),
  settings: Type.Record(Type.String(), Type.String()),
  ...standing,
  credentials: Type.Array(CredentialShape),
})

const Rates = Type.Object({
  prompt: Type.String(),
  completion: Type.String(),
  input_cache_read: Type.String(),
  input_cache_write: Type.String(),
  request: Type.String(),
})
const WrittenRates = Type.Record(Type.String(), Type.String())

export const CatalogModelShape = Type.Object({
  object: Type.Literal('model'),
  id: Type.String(),
  aliases: Texts,
  name: Type.String(),
  description: Type.String(),
  owned_by: Type.String(),
  context_length: Count,
  max_output_tokens: Count,
  input_modalities: Type.Array(Type.Enum([...MODALITIES])),
  media_max_tokens: Count,
  hidden_reasoning: Type.Boolean(),
  supported_parameters: Texts,
  strategy: Type.Enum([...STRATEGIES]),
  pricing: Rates,
  price_version: Type.String(),
  entered_pricing: nullable(WrittenRates),
  targets: Type.Array(
    Type.Object({
      provider: Type.String(),
      model: Type.String(),
      priority: Count,
      weight: Count,
      cost: nullable(WrittenRates),
    }),
  ),
  ...standing,
})

export const HealthShape = Type.Object({
  object: Type.Literal('provider_health'),
  provider: Type.String(),
  targets: Type.Array(
    Type.Object({
      model: Type.String(),
      state: Type.String(),
      success_rate: nullable(Type.Number()),
      first_byte_ms: nullable(Type.Number()),
      in_flight: Count,
      requests: Count,
      failures: Count,
      open_until: nullable(Time),
    }),
  ),
  credentials: Type.Array(Type.Object({ id: Type.String(), state: Type.String(), until: nullable(Time) })),
})

export const AppliedShape = Type.Object({
  object: Type.Literal('catalog_apply'),
  dry_run: Type.Boolean(),
  changes: Type.Array(
    Type.Object({
      what: Type.Enum(['provider', 'model']),
      id: Type.String(),
      change: Type.Enum(['added', 'changed', 'removed']),
      fields: Texts,
      price: nullable(Type.Object({ before: nullable(WrittenRates), after: WrittenRates })),
    }),
  ),
  at_next_start: Texts,
})

export const ImportShape = Type.Object({
  object: Type.Literal('price_import'),
  list: Type.String(),
  provider: Type.String(),
  dry_run: Type.Boolean(),
  data: Type.Array(
    Type.Object({
      model: Type.String(),
      change: Type.Enum(['new', 'changed', 'same', 'skipped']),
      before: nullable(Rates),
      after: nullable(Rates),
      notes: Texts,
    }),
  ),
})
