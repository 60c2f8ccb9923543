// The named schemas of the OpenAPI document: the ones that validate, with recurring parts replaced by references and each field
// described.
import Type, { type TSchema } from 'typebox'
import { ChatRequest, MESSAGES, PARTS } from '../../chat/request-schema.ts'
import {
  AppliedShape,
  CatalogModelShape,
  CredentialShape,
  HealthShape,
  ImportShape,
  ProviderShape,
} from '../admin/catalog-shapes.ts'
import { ADMIN } from '../admin/schemas.ts'
import {
  AccountShape,
  EventShape,
  KeyShape,
  KeyWithSecretShape,
  LedgerEntryShape,
  NodeShape,
  OperatorUsageShape,
  OverviewShape,
  SummaryShape,
  UsageShape,
} from '../admin/shapes.ts'
import {
  ChatChunkShape,
  ChatCompletionShape,
  ChatQuoteShape,
  CompletionUsageShape,
  ErrorShape,
  KeyIntrospectionShape,
  ModelListShape,
  ModelShape,
  UsageListShape,
} from '../v1/shapes.ts'
import type { Schema } from './document.ts'
import { NOTES } from './notes.ts'

const NAMED: Readonly<Record<string, TSchema>> = {
  ChatRequest,
  Message: Type.Union(Object.values(MESSAGES)),
  ...renamed(MESSAGES, 'Message'),
  ContentPart: Type.Union(Object.values(PARTS)),
  ...renamed(PARTS, 'Part'),
  ChatCompletion: ChatCompletionShape,
  ChatCompletionChunk: ChatChunkShape,
  CompletionUsage: CompletionUsageShape,
  ChatQuote: ChatQuoteShape,
  Model: ModelShape,
  ModelList: ModelListShape,
  KeyIntrospection: KeyIntrospectionShape,
  UsageRecord: UsageShape,
  OperatorUsageRecord: OperatorUsageShape,
  UsageList: UsageListShape,
  Error: ErrorShape,
  Key: KeyShape,
  KeyWithSecret: KeyWithSecretShape,
  KeyList: ADMIN.listKeys.response,
  Account: AccountShape,
  AccountList: ADMIN.listAccounts.response,
  LedgerEntry: LedgerEntryShape,
  LedgerList: ADMIN.listLedger.response,
  UsageSummary: SummaryShape,
  Overview: OverviewShape,
  UsageSummaryList: ADMIN.summariseUsage.response,
  Event: EventShape,
  EventList: ADMIN.listEvents.response,
  Node: NodeShape,
  NodeList: ADMIN.listNodes.response,
  Credential: CredentialShape,
  Provider: ProviderShape,
  ProviderList: ADMIN.listProviders.response,
  ProviderHealth: HealthShape,
  CatalogModel: CatalogModelShape,
  CatalogModelList: ADMIN.listModels.response,
  CatalogApplied: AppliedShape,
  PriceImport: ImportShape,
}

const names = new Map(Object.entries(NAMED).map(([name, schema]) => [JSON.stringify(schema), name]))
// A message's schema only says that a part has a type, since parts are checked one by one; here they are written out.
names.set(JSON.stringify(Type.Object({ type: Type.String() })), 'ContentPart')

export function componentSchemas(): Readonly<Record<string, Schema>> {
  return Object.fromEntries(Object.entries(NAMED).map(([name, schema]) => [name, noted(name, inside(plain(schema)))]))
}

// A schema as the document writes it: plain JSON, a reference where it has a name.
export function described(schema: TSchema): Schema {
  return referred(plain(schema))
}

// Typebox keeps its own markers out of JSON, so a round trip leaves only JSON Schema.
function plain(schema: TSchema): Schema {
  return JSON.parse(JSON.stringify(schema)) as Schema
}

function referred(schema: Schema): Schema {
  const name = names.get(JSON.stringify(schema))
  return name === undefined ? inside(schema) : { $ref: `#/components/schemas/${name}` }
}

function inside(schema: Schema): Schema {
  const { properties, items, anyOf } = schema
  return {
    ...schema,
    ...(properties === undefined ? {} : { properties: mapValues(properties, referred) }),
    ...(items === undefined ? {} : { items: referred(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(referred) }),
  }
}

function noted(name: string, schema: Schema): Schema {
  const { about, fields = {} } = NOTES[name] ?? {}
  const properties = mapValues(schema.properties ?? {}, (field, key) => {
    const description = fields[key]
    return description === undefined ? field : { ...field, description }
  })
  return {
    ...(about === undefined ? {} : { description: about }),
    ...schema,
    ...(schema.properties === undefined ? {} : { properties }),
  }
}

function mapValues<T>(record: Readonly<Record<string, T>>, map: (value: T, key: string) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]))
}

// `image_url` becomes `ImageUrlPart`.
function renamed(schemas: Readonly<Record<string, TSchema>>, kind: string): Record<string, TSchema> {
  const title = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name.split('_').map(title).join('') + kind, schema]),
  )
}
