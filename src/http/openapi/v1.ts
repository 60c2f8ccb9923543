// The endpoints under /v1 as OpenAPI operations.
import Type, { type TSchema } from 'typebox'
import type { RefusalCode } from '../../domain/refusal.ts'
import { ENDPOINTS, MODEL_NAME_MAX } from '../../domain/usage.ts'
import { PAGE_DEFAULT, PAGE_MAX } from '../../store/contract/operator.ts'
import { TIME_PATTERN, UsageShape } from '../admin/shapes.ts'
import { KeyIntrospectionShape, ModelListShape, ModelShape, UsageListShape } from '../v1/shapes.ts'
import { type About, CLIENT_REQUEST_ID, chatOperation, quoteOperation, v1Operation } from './chat.ts'
import type { Brand, Parameter, Paths, Response } from './document.ts'
import { v1Errors } from './errors.ts'
import { v1Headers } from './headers.ts'
import { described } from './schemas.ts'
import { MODEL } from './snippets.ts'

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
    get: v1Operation(about, [...parameters, CLIENT_REQUEST_ID], { ...ok, ...v1Errors(codes, brand) }),
  })
  return {
    '/v1/chat/completions': { post: chatOperation(brand) },
    '/v1/chat/completions/quote': { post: quoteOperation(brand) },
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
      [...NO_SCOPE, 'model_not_found'],
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
      [...NO_ENTRY, 'invalid_value'],
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
]

function inQuery(name: string, description: string, schema: TSchema): Parameter {
  return { name, in: 'query', required: false, description, schema: described(schema) }
}

function inPath(name: string, description: string, example: string): Parameter {
  return { name, in: 'path', required: true, description, schema: { type: 'string' }, example }
}
