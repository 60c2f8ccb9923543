// The building blocks of endpoint tables, of the admin API and of the portal: an endpoint with its input and responses, lists and
// their pages.
import { type TObject, type TSchema, Type } from 'typebox'
import type { PortalPermission } from '../../domain/portal.ts'
import { PAGE_DEFAULT, PAGE_MAX } from '../../store/contract/operator.ts'

export const ADMIN_PREFIX = '/admin/v1'
export const PORTAL_PREFIX = '/portal/v1'

export type Endpoint = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  // In OpenAPI's notation: `/admin/v1/keys/{id}`.
  readonly path: string
  readonly summary: string
  readonly query?: TObject
  readonly headers?: TObject
  readonly body?: TObject
  readonly response: TSchema
  // Who may call it: viewers only what reads, admins everything. `open`: anybody. `viewer`: also a viewer.
  readonly access?: 'open' | 'viewer'
  // What a session of the portal must have been given.
  readonly permission?: PortalPermission
  // The first is the success status.
  readonly statuses: readonly number[]
}

// Ids of models may contain slashes, sent plain or as %2F; nothing follows them in a path.
const MODEL = `${ADMIN_PREFIX}/models/{id}`

const PREFIX = new RegExp(`^(?:${ADMIN_PREFIX}|${PORTAL_PREFIX})`)

// The path in the router's notation.
export function routeOf({ path }: Endpoint): string {
  return path === MODEL ? '/models/*' : path.replace(PREFIX, '').replace(/\{(\w+)\}/g, ':$1')
}

export function paramsOf(params: unknown): Readonly<Record<string, string>> {
  const { '*': id, ...named } = params as Record<string, string>
  return id === undefined ? named : { id }
}

// Whether it has this path, perhaps with another method.
export function isAt({ path }: Endpoint, asked: string): boolean {
  return path === MODEL
    ? asked.startsWith(MODEL.slice(0, -'{id}'.length))
    : new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(asked)
}

export const strict = { additionalProperties: false }
export const Id = Type.String({ minLength: 1, maxLength: 200 })
const Limit = Type.Integer({ minimum: 1, maximum: PAGE_MAX, default: PAGE_DEFAULT })
const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const PREFIXED = '[0-9A-Za-z]{1,64}'
const ID_FORMS = {
  key: `^key_${PREFIXED}$`,
  account: `^acct_${PREFIXED}$`,
  operator: `^op_${PREFIXED}$`,
  session: `^ses_${PREFIXED}$`,
  'portal session': `^pses_${PREFIXED}$`,
  webhook: `^wh_${PREFIXED}$`,
  delivery: `^whd_${UUID}$`,
  request: `^${UUID}$`,
  event: `^${UUID}$`,
  'ledger entry': `^${UUID}(-correction)?$`,
}
const AFTER = { description: 'The last id of the previous page.', minLength: 1 }
// Ids of models and providers are chosen by operators.
export function paging(of: keyof typeof ID_FORMS | 'words') {
  const form = of === 'words' ? { maxLength: 256 } : { maxLength: 200, pattern: ID_FORMS[of] }
  return { limit: Type.Optional(Limit), after: Type.Optional(Type.String({ ...AFTER, ...form })) }
}
// Of a sorted list also the place where a page ended: the last id with what it was sorted by.
export function sortedPaging(of: 'key' | 'account' | 'request') {
  const form = { maxLength: 1200, pattern: `${ID_FORMS[of].slice(0, -1)}(~[0-9A-Za-z_-]*)?$` }
  const description = 'The last id of the previous page, or its `next_after`.'
  return { ...paging(of), after: Type.Optional(Type.String({ ...AFTER, ...form, description })) }
}
export const sortedListOf = <T extends TSchema>(item: T) =>
  Type.Object({
    ...listOf(item).properties,
    next_after: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description:
          'With `sort`: `after` of the next page, null if there is none. It begins where this page ended, even if the last entry has moved since.',
      }),
    ),
  })
export const listOf = <T extends TSchema>(item: T) =>
  Type.Object({ object: Type.Literal('list'), data: Type.Array(item), has_more: Type.Boolean() })
export const READ = [200, 400, 401, 404, 429, 503] as const
export const CHANGE = [200, 400, 401, 403, 404, 409, 413, 415, 429, 503] as const
export const CREATE = [201, 400, 401, 403, 413, 415, 429, 503] as const
// For entries with their own name, which may be taken.
export const CREATE_NAMED = [201, 400, 401, 403, 409, 413, 415, 429, 503] as const
// The version that a change is based on; a different current one gives 409.
export const ifMatch = {
  headers: Type.Object({ 'if-match': Type.Optional(Type.String({ pattern: '^(\\*|"?\\d{1,15}"?)$' })) }),
}
// Answered with 204.
export const Nothing = Type.Null()

export function endpoint<T extends Pick<Endpoint, 'query' | 'headers' | 'body' | 'access'>>(
  method: Endpoint['method'],
  path: string,
  summary: string,
  statuses: readonly number[],
  response: TSchema,
  takes: T,
): Omit<Endpoint, 'query' | 'headers' | 'body' | 'access'> & T {
  return { method, path: ADMIN_PREFIX + path, summary, statuses, response, ...takes }
}
