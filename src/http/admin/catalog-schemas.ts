// The endpoints of the catalog. Providers and models are taken as the configuration file has them, by the same schema.
import { type TProperties, type TSchema, Type } from 'typebox'
import { ModelSchema, ProviderSchema, Secret, Text, TokenCount } from '../../catalog/schema.ts'
import {
  AppliedShape,
  CatalogModelShape,
  CatalogStatus,
  HealthShape,
  ImportShape,
  ProviderShape,
} from './catalog-shapes.ts'
import { CHANGE, CREATE_NAMED, endpoint, ifMatch, listOf, paging, READ, strict } from './endpoint-table.ts'

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
  createModel: endpoint('POST', '/models', 'Add a model', CREATE_NAMED, CatalogModelShape, {
    body: Type.Object({ ...ModelSchema.properties, status }, strict),
  }),
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
