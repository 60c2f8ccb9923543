// The endpoints of the catalog and its objects as JSON Schema. Providers and models are taken as the configuration file has
// them, by the same schema.
import { type TProperties, type TSchema, Type } from 'typebox'
import { ModelSchema, ProviderSchema, Rates, Secret, Text, TokenCount } from '../../catalog/schema.ts'
import { MODALITIES, MODEL_TYPES, PROVIDER_APIS, PROVIDER_KINDS } from '../../domain/catalog.ts'
import { IMPORT_COSTS } from '../../domain/list-model.ts'
import { STRATEGIES, TARGET_STATUSES } from '../../domain/routing.ts'
import { RatesShape } from '../price-shapes.ts'
import { CHANGE, CREATE_NAMED, endpoint, ifMatch, listOf, paging, READ, strict } from './endpoint-table.ts'
import { Time } from './shapes.ts'

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])
const Texts = Type.Array(Type.String())
const Count = Type.Integer({ minimum: 0 })
const CatalogStatus = Type.Enum(['active', 'inactive'])

const standing = {
  status: CatalogStatus,
  provisioned: Type.Boolean({
    description: 'Declared in the configuration file or created at first start; read-only here.',
  }),
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
  api: Type.Union([Type.Enum([...PROVIDER_APIS]), Type.Null()], { description: 'Null for kinds other than `openai`.' }),
  timeouts: Type.Record(Type.String(), Type.Number()),
  quirks: Type.Record(Type.String(), Type.Unknown()),
  settings: Type.Record(Type.String(), Type.String()),
  ...standing,
  credentials: Type.Array(CredentialShape),
})

export const CatalogModelShape = Type.Object({
  object: Type.Literal('model'),
  id: Type.String(),
  aliases: Texts,
  type: Type.Enum([...MODEL_TYPES]),
  name: Type.String(),
  description: Type.String(),
  owned_by: Type.String(),
  context_length: Count,
  max_output_tokens: Count,
  dimensions: nullable(Count),
  dimensions_min: nullable(Count),
  input_modalities: Type.Array(Type.Enum([...MODALITIES])),
  media_max_tokens: Count,
  hidden_reasoning: Type.Boolean(),
  supported_parameters: Texts,
  strategy: Type.Enum([...STRATEGIES]),
  pricing: RatesShape,
  price_version: Type.String(),
  entered_pricing: nullable(Rates),
  targets: Type.Array(
    Type.Object({
      provider: Type.String(),
      model: Type.String(),
      priority: Count,
      weight: Count,
      cost: nullable(RatesShape),
      entered_cost: nullable(Rates),
    }),
  ),
  ...standing,
})

const TargetModel = Type.String({ minLength: 1, maxLength: 200, description: "The provider's name of the model." })

const TargetTestShape = Type.Object({
  object: Type.Literal('target_test'),
  provider: Type.String(),
  model: Type.String(),
  credential_id: nullable(Type.String({ description: 'The one that was used.' })),
  ok: Type.Boolean(),
  outcome: Type.String({ description: '`answered`, or how it failed.' }),
  status: nullable(Type.Integer({ description: "The provider's HTTP status; null if there was no response." })),
  duration_ms: Type.Integer(),
  message: Type.String({ description: 'What the provider said when it failed.' }),
})

export const HealthShape = Type.Object({
  object: Type.Literal('provider_health'),
  provider: Type.String(),
  status: Type.Enum([...TARGET_STATUSES, 'unused'], {
    description: '`down` if no target works, `degraded` if one does not, `unused` without targets that are in force.',
  }),
  window_minutes: Type.Integer({ description: 'What `recent_…` covers.' }),
  targets: Type.Array(
    Type.Object({
      model: Type.String(),
      state: Type.String({ description: 'Of its circuit breaker.' }),
      status: Type.Enum([...TARGET_STATUSES, 'disabled']),
      disabled_by: nullable(Type.String()),
      disabled_at: nullable(Time),
      recent_requests: Count,
      recent_failures: Count,
      recent_first_byte_ms: nullable(Type.Number({ description: 'The mean over `recent_requests`.' })),
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
      price: nullable(Type.Object({ before: nullable(RatesShape), after: RatesShape })),
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
      before: nullable(RatesShape),
      after: nullable(RatesShape),
      cost_before: nullable(RatesShape),
      cost_after: nullable(RatesShape),
      notes: Texts,
    }),
  ),
})

const RepriceShape = Type.Object({
  object: Type.Literal('price_change'),
  percent: Type.String(),
  dry_run: Type.Boolean(),
  data: Type.Array(
    Type.Object({
      model: Type.String(),
      version: Type.Integer({ description: 'The version that the change is based on.' }),
      change: Type.Enum(['changed', 'same', 'skipped']),
      before: RatesShape,
      after: RatesShape,
      notes: Texts,
    }),
  ),
})

const status = Type.Optional(CatalogStatus)

// Credentials are added and removed one by one.
const { api_key: _one, api_keys: _several, ...providerChanges } = ProviderSchema.properties

// Of a change every field is optional, and null removes the field.
function changes(fields: TProperties) {
  const optional = Object.entries(fields).map(([name, field]) => [name, Type.Optional(orNull(field))])
  return Type.Object({ ...(Object.fromEntries(optional) as TProperties), status }, strict)
}

function orNull(field: TSchema): TSchema {
  const { anyOf } = field as { readonly anyOf?: readonly TSchema[] }
  return anyOf === undefined ? Type.Union([field, Type.Null()]) : field
}

const deleted = (object: string) =>
  Type.Object({ object: Type.Literal(object), id: Type.String(), deleted: Type.Literal(true) })

// As many as a catalog may have: all are saved by one request, or none.
const REPRICED_MAX = 10_000

export const CATALOG = {
  createProvider: endpoint('POST', '/providers', 'Add a provider', CREATE_NAMED, ProviderShape, {
    body: Type.Object({ ...ProviderSchema.properties, status }, strict),
  }),
  listProviders: endpoint('GET', '/providers', 'List providers, sorted by id', READ, listOf(ProviderShape), {
    query: Type.Object(paging('words'), strict),
  }),
  getProvider: endpoint('GET', '/providers/{id}', 'Read a provider', READ, ProviderShape, {}),
  updateProvider: endpoint(
    'PATCH',
    '/providers/{id}',
    'Update a provider; null removes a field, a new kind or base URL deletes the credentials',
    CHANGE,
    ProviderShape,
    { ...ifMatch, body: changes(providerChanges) },
  ),
  deleteProvider: endpoint('DELETE', '/providers/{id}', 'Delete a provider', CHANGE, deleted('provider'), ifMatch),
  addCredential: endpoint(
    'POST',
    '/providers/{id}/credentials',
    'Add a credential',
    [201, ...CHANGE.slice(1)],
    ProviderShape,
    { ...ifMatch, body: Type.Object({ api_key: Secret }, strict) },
  ),
  removeCredential: endpoint(
    'DELETE',
    '/providers/{id}/credentials/{credential_id}',
    'Remove a credential',
    CHANGE,
    ProviderShape,
    {},
  ),
  getProviderHealth: endpoint(
    'GET',
    '/providers/{id}/health',
    'Read the health of the targets of a provider',
    READ,
    HealthShape,
    {},
  ),
  setTarget: endpoint(
    'PATCH',
    '/providers/{id}/targets',
    'Disable or enable a target, on all nodes; also of what a file declares',
    CHANGE,
    HealthShape,
    { body: Type.Object({ model: TargetModel, disabled: Type.Boolean() }, strict) },
  ),
  testTarget: endpoint(
    'POST',
    '/providers/{id}/test',
    'Send a request of a few tokens to a target; nobody is charged',
    [200, ...CHANGE.slice(1), 429],
    TargetTestShape,
    {
      body: Type.Object({ model: TargetModel, credential_id: Type.Optional(Type.String({ maxLength: 200 })) }, strict),
    },
  ),
  createModel: endpoint('POST', '/models', 'Add a model', CREATE_NAMED, CatalogModelShape, {
    body: Type.Object({ ...ModelSchema.properties, status }, strict),
  }),
  repriceModels: endpoint(
    'POST',
    '/models/reprice',
    'Change the prices of many models by a percentage',
    [200, ...CREATE_NAMED.slice(1)],
    RepriceShape,
    {
      body: Type.Object(
        {
          percent: Type.String({ maxLength: 12, description: 'Such as `10` or `-2.5`: at most two decimals.' }),
          models: Type.Optional(
            Type.Array(
              Type.Object(
                {
                  id: Type.String({ minLength: 1, maxLength: 256 }),
                  version: Type.Optional(
                    Type.Integer({
                      minimum: 1,
                      description: 'Required without `dry_run`. Fails if it is not the current one.',
                    }),
                  ),
                },
                strict,
              ),
              { maxItems: REPRICED_MAX, description: 'All models that operators own, if absent.' },
            ),
          ),
          dry_run: Type.Optional(Type.Boolean()),
        },
        strict,
      ),
    },
  ),
  importModels: endpoint(
    'POST',
    '/models/import',
    'Import models and prices from the bundled price list',
    [200, ...CREATE_NAMED.slice(1)],
    ImportShape,
    {
      body: Type.Object(
        {
          list: Type.String({ minLength: 1, maxLength: 64 }),
          provider: Type.Optional(Text),
          match: Type.Optional(Type.String({ maxLength: 128 })),
          markup: Type.Optional(Text),
          prefix: Type.Optional(Text),
          upstream_prefix: Type.Optional(Text),
          context_length: Type.Optional(TokenCount),
          max_output_tokens: Type.Optional(TokenCount),
          costs: Type.Optional(
            Type.Enum([...IMPORT_COSTS], {
              default: 'fill',
              description:
                "What the list's price does to the `cost` of targets: `fill` sets it where none is stated, `replace` always, `keep` never.",
            }),
          ),
          dry_run: Type.Optional(Type.Boolean()),
        },
        strict,
      ),
    },
  ),
  listModels: endpoint('GET', '/models', 'List models, sorted by id', READ, listOf(CatalogModelShape), {
    query: Type.Object(paging('words'), strict),
  }),
  getModel: endpoint(
    'GET',
    '/models/{id}',
    'Read a model (a slash in the id may be sent as / or %2F)',
    READ,
    CatalogModelShape,
    {},
  ),
  updateModel: endpoint('PATCH', '/models/{id}', 'Update a model; null removes a field', CHANGE, CatalogModelShape, {
    ...ifMatch,
    body: changes(ModelSchema.properties),
  }),
  deleteModel: endpoint(
    'DELETE',
    '/models/{id}',
    'Delete a model; its price history is kept',
    CHANGE,
    deleted('model'),
    ifMatch,
  ),
  applyCatalog: endpoint(
    'POST',
    '/catalog/apply',
    'Apply the configuration file; an invalid file changes nothing',
    CHANGE.filter(each => each !== 404),
    AppliedShape,
    { body: Type.Object({ dry_run: Type.Optional(Type.Boolean()) }, strict) },
  ),
}
