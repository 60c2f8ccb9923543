// The endpoints of the catalog. Providers and models are taken as the configuration file has them: only the outline is
// checked here, the rest by the reader of that file, so that there is one set of rules.
import { Type } from 'typebox'
import { PROVIDER_KINDS } from '../../domain/catalog.ts'
import {
  AppliedShape,
  CatalogModelShape,
  CatalogStatus,
  HealthShape,
  ImportShape,
  ProviderShape,
} from './catalog-shapes.ts'
import { CHANGE, CREATE_NAMED, endpoint, Id, ifMatch, listOf, paging, READ, strict } from './endpoint-table.ts'

const open = { additionalProperties: true, description: 'As in the configuration file.' }
const Secret = Type.String({
  minLength: 1,
  maxLength: 16_384,
  description: 'Sealed when it arrives, never shown. At most 4,096 characters; of kind `vertex` 16,384.',
})
const status = Type.Optional(CatalogStatus)
const Text = Type.Optional(Type.String({ maxLength: 256 }))
const Tokens = Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000_000 }))

// Only decimal strings: a JSON number would be a float before anybody could check it.
const Pricing = Type.Record(Type.String(), Type.String({ maxLength: 64 }), {
  description: 'US dollars per token, as decimal strings: `prompt`, `completion`, `input_cache_read`, …',
})
const Targets = Type.Array(
  Type.Object(
    { provider: Type.String(), model: Type.String(), cost: Type.Optional(Pricing) },
    { additionalProperties: true },
  ),
  { minItems: 1, maxItems: 64 },
)

const deleted = (object: string) =>
  Type.Object({ object: Type.Literal(object), id: Type.String(), deleted: Type.Literal(true) })

export const CATALOG = {
  createProvider: endpoint('POST', '/providers', 'Add a provider', CREATE_NAMED, ProviderShape, {
    body: Type.Object(
      {
        id: Type.String({ minLength: 1, maxLength: 64 }),
        kind: Type.Optional(Type.Enum([...PROVIDER_KINDS])),
        base_url: Type.Optional(Type.String({ maxLength: 2048 })),
        api_key: Type.Optional(Secret),
        status,
      },
      open,
    ),
  }),
  listProviders: endpoint('GET', '/providers', 'List providers by id', READ, listOf(ProviderShape), {
    query: Type.Object(paging('words'), strict),
  }),
  getProvider: endpoint('GET', '/providers/{id}', 'Read a provider', READ, ProviderShape, {}),
  updateProvider: endpoint(
    'PATCH',
    '/providers/{id}',
    'Change a provider; null takes a field out, another kind or address forgets the credentials',
    CHANGE,
    ProviderShape,
    { ...ifMatch, body: Type.Object({ status }, open) },
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
  getProviderHealth: endpoint('GET', '/providers/{id}/health', 'How its targets do', READ, HealthShape, {}),
  createModel: endpoint('POST', '/models', 'Add a model', CREATE_NAMED, CatalogModelShape, {
    body: Type.Object({ id: Id, pricing: Pricing, targets: Targets, status }, open),
  }),
  importModels: endpoint(
    'POST',
    '/models/import',
    'Take models and prices over from the installed price list',
    [200, ...CREATE_NAMED.slice(1)],
    ImportShape,
    {
      body: Type.Object(
        {
          list: Type.String({ minLength: 1, maxLength: 64 }),
          provider: Text,
          match: Type.Optional(Type.String({ maxLength: 128 })),
          markup: Text,
          prefix: Text,
          upstream_prefix: Text,
          context_length: Tokens,
          max_output_tokens: Tokens,
          dry_run: Type.Optional(Type.Boolean()),
        },
        strict,
      ),
    },
  ),
  listModels: endpoint('GET', '/models', 'List models by id', READ, listOf(CatalogModelShape), {
    query: Type.Object(paging('words'), strict),
  }),
  getModel: endpoint(
    'GET',
    '/models/{id}',
    'Read a model (a / in its id as it is, or as %2F)',
    READ,
    CatalogModelShape,
    {},
  ),
  updateModel: endpoint('PATCH', '/models/{id}', 'Change a model; null takes a field out', CHANGE, CatalogModelShape, {
    ...ifMatch,
    body: Type.Object({ pricing: Type.Optional(Pricing), targets: Type.Optional(Targets), status }, open),
  }),
  deleteModel: endpoint(
    'DELETE',
    '/models/{id}',
    'Delete a model; its prices are kept',
    CHANGE,
    deleted('model'),
    ifMatch,
  ),
  applyCatalog: endpoint(
    'POST',
    '/catalog/apply',
    'Read the configuration file again; a bad one changes nothing',
    CHANGE.filter(each => each !== 404),
    AppliedShape,
    { body: Type.Object({ dry_run: Type.Optional(Type.Boolean()) }, strict) },
  ),
}
