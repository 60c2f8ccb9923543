// The endpoints under /v1 as OpenAPI operations.
import Type, { type TSchema } from 'typebox'
import { EmbeddingsRequest } from '../../chat/parse-embeddings.ts'
import { ChatRequest } from '../../chat/request-schema.ts'
import type { RefusalCode } from '../../domain/refusal.ts'
import { NAME_WORDS, REQUEST_TAGS_MAX, TAG_FILTERS_MAX, VALUE_WORDS } from '../../domain/tags.ts'
import { CLIENT_REQUEST_ID_MAX, ENDPOINTS, MODEL_NAME_MAX } from '../../domain/usage.ts'
import { PAGE_DEFAULT, PAGE_MAX } from '../../store/contract/operator.ts'
import { TAG_FILTER_PATTERN, TIME_PATTERN, UsageShape } from '../admin/shapes.ts'
import {
  ChatChunkShape,
  ChatCompletionShape,
  ChatQuoteShape,
  EmbeddingsShape,
  KeyIntrospectionShape,
  ModelListShape,
  ModelShape,
  UsageListShape,
} from '../v1/shapes.ts'
import type { Brand, Operation, Parameter, Paths, Response, Schema } from './document.ts'
import { v1Errors } from './errors.ts'
import { CHAT_COMPLETION, CHAT_REQUEST, CHAT_STREAM, EMBEDDINGS, EMBEDDINGS_REQUEST, MODEL } from './examples.ts'
import { chatHeaders, v1Headers } from './headers.ts'
import { described } from './schemas.ts'

const NO_ENTRY: readonly RefusalCode[] = ['account_suspended']
const NO_SCOPE: readonly RefusalCode[] = [...NO_ENTRY, 'insufficient_scope']

export function v1Paths(brand: Brand): Paths {
  const json = (schema: TSchema, description: string, more: readonly string[] = []): Response => ({
    description,
    headers: v1Headers(brand, more),
    content: { 'application/json': { schema: described(schema) } },
  })
  const get = (
    about: About,
    ok: Readonly<Record<string, Response>>,
    codes: readonly RefusalCode[],
    parameters: Parameter[] = [],
  ) => ({
    get: v1Operation(about, [...parameters, ...requestHeaders(brand)], { ...ok, ...v1Errors(codes, brand) }),
  })
  return {
    '/v1/chat/completions': { post: chatOperation(brand) },
    '/v1/chat/completions/quote': { post: quoteOperation(brand) },
    '/v1/embeddings': { post: embeddingsOperation(brand) },
    '/v1/models': get(
      ['listModels', 'Models', 'List active models with prices', 'Requires the scope `models.read`. Sorted by id.'],
      {
        '200': json(ModelListShape, 'The active models.', ['ETag', 'Cache-Control']),
        '304': {
          description: 'Not modified since that ETag.',
          headers: v1Headers(brand, ['ETag', 'Cache-Control']),
        },
      },
      NO_SCOPE,
      [
        {
          name: 'If-None-Match',
          in: 'header',
          required: false,
          description: 'The ETag of an earlier response.',
          schema: { type: 'string' },
        },
      ],
    ),
    '/v1/models/{id}': get(
      ['getModel', 'Models', 'Read a model', 'Requires the scope `models.read`. Aliases are resolved.'],
      { '200': json(ModelShape, 'The model.') },
      [...NO_SCOPE, 'model_not_found', 'model_not_allowed'],
      [inPath('id', 'Id or alias; a slash may be sent as `/` or `%2F`.', MODEL)],
    ),
    '/v1/key/introspect': get(
      [
        'introspectKey',
        'Key',
        'Read the status, limits and balance of this key',
        'Works with any valid key, regardless of scopes, balance and account status.',
      ],
      { '200': json(KeyIntrospectionShape, 'The key of the request.') },
      [],
    ),
    '/v1/usage': get(
      [
        'listUsage',
        'Usage',
        'List the requests of this key',
        'Newest first. Only chat requests unless `endpoint` is set.',
      ],
      { '200': json(UsageListShape, 'A page of usage records.') },
      NO_ENTRY,
      USAGE_QUERY,
    ),
    '/v1/usage/{request_id}': get(
      [
        'getUsage',
        'Usage',
        'Read a request of this key',
        'Final as soon as the JSON response or the `[DONE]` of a stream has been received.',
      ],
      { '200': json(UsageShape, 'The usage record.') },
      [...NO_ENTRY, 'not_found'],
      [inPath('request_id', 'What `X-Request-Id` said.', '019a8f3e-5b7c-7d21-9c44-1f0a6be2d731')],
    ),
  }
}

const REQUEST_ID = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'

const TagFilters = Type.Array(Type.String({ pattern: TAG_FILTER_PATTERN, maxLength: 200 }), {
  maxItems: TAG_FILTERS_MAX,
})

const USAGE_QUERY: Parameter[] = [
  inQuery(
    'limit',
    'Maximum number of rows per page.',
    Type.Integer({ minimum: 1, maximum: PAGE_MAX, default: PAGE_DEFAULT }),
  ),
  inQuery('after', '`next_after` of the previous page.', Type.String({ pattern: REQUEST_ID, maxLength: 36 })),
  inQuery('from', 'At or after this time (ISO 8601).', Type.String({ pattern: TIME_PATTERN })),
  inQuery('to', 'Before this time (ISO 8601).', Type.String({ pattern: TIME_PATTERN })),
  inQuery('model', 'Only this model.', Type.String({ maxLength: MODEL_NAME_MAX })),
  inQuery(
    'endpoint',
    'Only this endpoint, or `all`.',
    Type.Enum([...ENDPOINTS, 'all'], { default: 'chat.completions' }),
  ),
  inQuery('tag', 'Only requests with this tag, such as `team:search`. Repeatable; all must match.', TagFilters),
]

function inQuery(name: string, description: string, schema: TSchema): Parameter {
  return { name, in: 'query', required: false, description, schema: described(schema) }
}

function inPath(name: string, description: string, example: string): Parameter {
  return { name, in: 'path', required: true, description, schema: { type: 'string' }, example }
}

export const CODES: readonly RefusalCode[] = [
  'account_suspended',
  'insufficient_scope',
  'unsupported_media_type',
  'request_too_large',
  'invalid_json',
  'invalid_value',
  'missing_field',
  'unsupported_value',
  'model_not_found',
  'model_not_allowed',
  'context_length_exceeded',
  'insufficient_credits',
  'budget_exceeded',
  'credits_held',
  'upstream_rejected',
  'provider_unavailable',
  'upstream_timeout',
  'all_providers_failed',
]

// The body is text; the schema is that of one event's data.
const STREAM: Schema = {
  type: 'string',
  description: 'Server-sent events with one chunk each; the last one is `data: [DONE]`.',
  contentMediaType: 'application/json',
  contentSchema: described(ChatChunkShape),
}

function chatOperation(brand: Brand): Operation {
  const about: About = [
    'createChatCompletion',
    'Chat',
    'Create a chat completion, as JSON or as a stream',
    'Requires the scope `chat.completions`. The model determines which providers are tried. If a provider fails before sending content, the next one is tried. ' +
      'The cost is charged before the last byte is sent; header, trailer, `usage.cost`, usage record and ledger have the same value.',
  ]
  const answer: Response = {
    description: 'One JSON object, or with `stream: true` server-sent events that end with `data: [DONE]`.',
    headers: chatHeaders(brand),
    content: {
      'application/json': { schema: described(ChatCompletionShape), example: CHAT_COMPLETION },
      'text/event-stream': { schema: STREAM, example: CHAT_STREAM },
    },
  }
  return {
    ...v1Operation(about, [...requestHeaders(brand), explainHeader(brand)], {
      '200': answer,
      ...v1Errors(CODES, brand),
    }),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: described(ChatRequest), example: CHAT_REQUEST } },
    },
  }
}

export function explainHeader({ headerPrefix }: Brand): Parameter {
  return {
    name: `${headerPrefix}Explain`,
    in: 'header',
    required: false,
    description:
      '`1` adds the routing decisions (`metadata.candidates`) to the response or the first chunk, unless the operator has disabled it. Other values are ignored.',
    schema: { type: 'string' },
    example: '1',
  }
}

// Refusals shared by a chat and its quote.
export const QUOTED: readonly RefusalCode[] = CODES.slice(0, CODES.indexOf('insufficient_credits'))

function quoteOperation(brand: Brand): Operation {
  const about: About = [
    'quoteChatCompletion',
    'Chat',
    'Estimate the cost and provider of a chat without calling a provider',
    'Takes the same body and scope as a chat. The estimate uses the prompt tokens counted by the tokenizer and a response of `max_tokens`, or 512 tokens by default; ' +
      'the worst case is an upper bound. A quote counts as a request and is free.',
  ]
  const answer: Response = {
    description: 'The quote.',
    headers: v1Headers(brand, []),
    content: { 'application/json': { schema: described(ChatQuoteShape) } },
  }
  return {
    ...v1Operation(about, requestHeaders(brand), { '200': answer, ...v1Errors(QUOTED, brand) }),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: described(ChatRequest), example: CHAT_REQUEST } },
    },
  }
}

function embeddingsOperation(brand: Brand): Operation {
  const about: About = [
    'createEmbeddings',
    'Embeddings',
    'Create embeddings',
    'Requires the scope `embeddings` and a model of type `embedding`. Inputs that a provider does not take in one call are divided among several; they are one request and one charge.',
  ]
  const answer: Response = {
    description: 'One vector for each input, in their order.',
    headers: chatHeaders(brand),
    content: { 'application/json': { schema: described(EmbeddingsShape), example: EMBEDDINGS } },
  }
  return {
    ...v1Operation(about, [...requestHeaders(brand), explainHeader(brand)], {
      '200': answer,
      ...v1Errors(CODES, brand),
    }),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: described(EmbeddingsRequest), example: EMBEDDINGS_REQUEST } },
    },
  }
}

export type About = readonly [operationId: string, tag: string, summary: string, description: string]

export function v1Operation(
  about: About,
  parameters: readonly Parameter[],
  responses: Operation['responses'],
): Operation {
  const [operationId, tag, summary, description] = about
  return { operationId, tags: [tag], summary, description, security: [{ apiKey: [] }], parameters, responses }
}

// Headers that every request may have.
export function requestHeaders({ headerPrefix }: Brand): Parameter[] {
  const tags: Parameter = {
    name: `${headerPrefix}Tags`,
    in: 'header',
    required: false,
    description: `Up to ${REQUEST_TAGS_MAX} tags, stored on the usage record. Names have ${NAME_WORDS}; values have ${VALUE_WORDS}, without a comma. Tags of the key win.`,
    schema: { type: 'string' },
    example: 'team=search, feature=rerank',
  }
  return [CLIENT_REQUEST_ID, tags]
}

const CLIENT_REQUEST_ID: Parameter = {
  name: 'X-Client-Request-Id',
  in: 'header',
  required: false,
  description: `An id of the client, stored on the usage record if it has 1 to ${CLIENT_REQUEST_ID_MAX} visible ASCII characters without spaces; other values are ignored.`,
  schema: { type: 'string' },
}
