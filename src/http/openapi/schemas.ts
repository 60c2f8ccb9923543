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
} from '../admin/catalog-schemas.ts'
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

// Descriptions of the fields of shared schemas. A test checks that each name is a field.
type Note = { readonly about?: string; readonly fields?: Readonly<Record<string, string>> }

export const NOTES: Readonly<Record<string, Note>> = {
  ChatRequest: {
    about:
      "OpenAI's chat request. An explicit `null` means absent. Unlisted fields are dropped and named in the Ignored-Fields header; fields that cost extra or call other services (`web_search_options`, `audio`, `plugins`, …) are rejected with `unsupported_value`.",
    fields: {
      model: 'Id or alias of a model from `GET /v1/models`.',
      messages: 'The conversation, in order.',
      frequency_penalty: 'Penalizes tokens by how often they have appeared.',
      function_call: 'Deprecated form of `tool_choice`.',
      functions: 'Deprecated form of `tools`.',
      logit_bias: 'Maps token ids to a bias.',
      logprobs: 'Whether to return log probabilities.',
      max_completion_tokens: 'Alias of `max_tokens`; different values of both are rejected.',
      max_tokens:
        "Maximum number of tokens per choice, up to the model's maximum. If absent, a low balance may cap the response.",
      metadata: 'Key-value pairs, forwarded.',
      modalities: 'Only `text` is supported.',
      n: 'Number of choices; each one is billed.',
      parallel_tool_calls: 'Whether tools may be called in parallel.',
      presence_penalty: 'Penalizes tokens that have appeared.',
      prompt_cache_key: 'Forwarded only as an HMAC with the account.',
      prompt_cache_options: 'Forwarded unchanged.',
      prompt_cache_retention: 'How long the provider keeps a cached prompt; provider-specific.',
      reasoning_effort: 'Reasoning effort; the values depend on the model.',
      response_format: '`json_schema` also contains the schema.',
      safety_identifier: 'Forwarded only as an HMAC with the account.',
      seed: 'For repeatable sampling, if the model supports it.',
      service_tier: 'Only `auto` and `default` are supported.',
      session_id: 'Forwarded only as an HMAC with the account.',
      store: '`false` is forwarded; `true` is rejected.',
      stop: 'Up to four strings that end the response.',
      stream: '`true` for server-sent events; `false` (default) for one JSON object.',
      stream_options: '`include_usage: true` adds a final chunk with usage and cost.',
      temperature: 'Sampling temperature. No default is sent upstream.',
      tool_choice: '`auto`, `none`, `required`, or one tool.',
      tools: 'The tools that the model may call.',
      top_logprobs: 'Number of alternatives per token; requires `logprobs`.',
      top_p: 'Nucleus sampling.',
      user: 'Forwarded only as an HMAC with the account.',
      verbosity: 'Desired length of the response.',
      min_p: 'Not part of the OpenAI API; for providers that support it.',
      min_tokens: 'Not part of the OpenAI API; for providers that support it.',
      repetition_penalty: 'Not part of the OpenAI API; for providers that support it.',
      top_a: 'Not part of the OpenAI API; for providers that support it.',
      top_k: 'Not part of the OpenAI API; for providers that support it.',
      typical_p: 'Not part of the OpenAI API; for providers that support it.',
      models:
        'Used by routing, not forwarded. Models that are not in the catalog or whose context is too small are skipped.',
      provider:
        'Used by routing, not forwarded: the providers that may serve the request, and their order. `max_price` is in credits per million tokens, and per request.',
    },
  },
  Message: { about: 'One of these, depending on `role`.' },
  ContentPart: { about: 'One of these, depending on `type`. A model accepts the types in its `input_modalities`.' },
  ChatCompletion: { about: 'A complete response. Providers may add their own fields to a choice or message.' },
  ChatCompletionChunk: {
    about: 'One event of a stream. `id`, `created` and `model` are the same on every chunk.',
    fields: {
      usage: 'Only with `include_usage`: set on the last chunk, null on the others.',
      error: 'Only if the provider failed after content was sent; `finish_reason` is then `error`.',
    },
  },
  UsageRecord: {
    about: 'The record of one request and its cost. Never contains the prompt, the response or a secret.',
    fields: {
      request_id: 'What `X-Request-Id` said.',
      client_request_id: 'The `X-Client-Request-Id` sent by the client.',
      secret_last4: 'The last four characters of the secret that was used.',
      attempts: 'Every provider that was tried, in order.',
      state: '`open` while running, then `settled`; `recovered` after a crash.',
      outcome: 'The result; null while open.',
      usage_source: 'The source of the token counts: the provider, an estimate by the tokenizer, or none.',
      price: 'The prices used for billing.',
      hold: 'Credits held before the provider was called.',
      cost: 'The charged amount, equal to the header, the trailer and `usage.cost`.',
      upstream_cost:
        'The cost for the operator, in credits without markup; null if the target has no cost or nothing was generated.',
      upstream_id: "The provider's id of the response.",
      requests: 'Number of requests in this row: 1, or more if rejections of a key came too fast for a row each.',
    },
  },
  Error: { about: "OpenAI's error format, so that its SDKs raise their typed errors." },
  KeyWithSecret: { about: 'A key with its new secret, which is shown only once.' },
}
