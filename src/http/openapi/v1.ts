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
      [
        'listModels',
        'Models',
        'List the active models with their prices',
        'Needs the scope `models.read`. Sorted by id.',
      ],
      {
        '200': json(ModelListShape, 'The active models.', ['ETag', 'Cache-Control']),
        '304': {
          description: 'Nothing changed since that ETag.',
          headers: v1Headers(brand, ['ETag', 'Cache-Control']),
        },
      },
      NO_SCOPE,
      [
        {
          name: 'If-None-Match',
          in: 'header',
          required: false,
          description: 'An ETag from before.',
          schema: { type: 'string' },
        },
      ],
    ),
    '/v1/models/{id}': get(
      ['getModel', 'Models', 'Read one model', 'Needs the scope `models.read`. An alias resolves to its model.'],
      { '200': json(ModelShape, 'The model.') },
      [...NO_SCOPE, 'model_not_found'],
      [inPath('id', 'Id or alias; a slash in it may be sent as it is or as `%2F`.', MODEL)],
    ),
    '/v1/key/introspect': get(
      [
        'introspectKey',
        'Key',
        'What this key is, may do and could still spend',
        'Any valid key, whatever its scopes, its balance or the state of its account.',
      ],
      { '200': json(KeyIntrospectionShape, 'The key that made the call.') },
      [],
    ),
    '/v1/usage': get(
      [
        'listUsage',
        'Usage',
        "List this key's own requests",
        'Newest first; chats only, unless `endpoint` says otherwise.',
      ],
      { '200': json(UsageListShape, 'A page of usage records.') },
      [...NO_ENTRY, 'invalid_value'],
      USAGE_QUERY,
    ),
    '/v1/usage/{request_id}': get(
      [
        'getUsage',
        'Usage',
        'Read one request of this key',
        'After `[DONE]` of a stream, or the JSON answer, it is already exact.',
      ],
      { '200': json(UsageShape, 'The usage record.') },
      [...NO_ENTRY, 'not_found'],
      [inPath('request_id', 'What `X-Request-Id` said.', '019a8f3e-5b7c-7d21-9c44-1f0a6be2d731')],
    ),
  }
}

const REQUEST_ID = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'

const USAGE_QUERY: Parameter[] = [
  inQuery('limit', 'Rows in the page.', Type.Integer({ minimum: 1, maximum: PAGE_MAX, default: PAGE_DEFAULT })),
  inQuery('after', '`next_after` of the page before.', Type.String({ pattern: REQUEST_ID, maxLength: 36 })),
  inQuery('from', 'Not before this time (ISO 8601).', Type.String({ pattern: TIME_PATTERN })),
  inQuery('to', 'Before this time (ISO 8601).', Type.String({ pattern: TIME_PATTERN })),
  inQuery('model', 'Of this model only.', Type.String({ maxLength: MODEL_NAME_MAX })),
  inQuery('endpoint', 'Of this endpoint, or `all`.', Type.Enum([...ENDPOINTS, 'all'], { default: 'chat.completions' })),
]

function inQuery(name: string, description: string, schema: TSchema): Parameter {
  return { name, in: 'query', required: false, description, schema: described(schema) }
}

function inPath(name: string, description: string, example: string): Parameter {
  return { name, in: 'path', required: true, description, schema: { type: 'string' }, example }
}
