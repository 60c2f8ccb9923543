// Every endpoint of the customer portal's API with its input and responses: the endpoints validate by this table, and a test
// calls each of them with the ids of another account.
import { type TProperties, Type } from 'typebox'
import { PORTAL_PERMISSIONS } from '../../domain/portal.ts'
import { ACCOUNT_FIELDS, BUDGET_FIELDS, KEY_FIELDS, SUMMARY_FIELDS, USAGE_FIELDS } from '../../portal/objects.ts'
import type { SummaryGroup } from '../../store/contract/operator.ts'
import {
  ADMIN_PREFIX,
  CHANGE,
  type Endpoint,
  endpoint,
  listOf,
  Nothing,
  PORTAL_PREFIX,
  paging,
  READ as READ_ALL,
  strict,
} from '../admin/endpoint-table.ts'
import { ADMIN, controls, Name, Search, UsageFormat, usageFilter } from '../admin/schemas.ts'
import {
  AccountShape,
  BUDGET_STATE,
  KeyShape,
  nullable,
  OperatorUsageShape,
  PORTAL_GROUP_PATTERN,
  PORTAL_GROUPS,
  StatusFilter,
  SummaryShape,
  Time,
} from '../admin/shapes.ts'

// The fields that customers see, of the shapes for operators.
const budgets = Type.Array(Type.Object(picked(BUDGET_STATE, BUDGET_FIELDS)))

const PortalAccountShape = Type.Object({ ...picked(AccountShape.properties, ACCOUNT_FIELDS), budgets })

const PortalKeyShape = Type.Object({ ...picked(KeyShape.properties, KEY_FIELDS), budgets })
const PortalKeyWithSecretShape = Type.Object({
  ...PortalKeyShape.properties,
  secret: Type.String({ description: 'The secret, shown only once.' }),
})

const PortalUsageShape = Type.Object({
  ...picked(OperatorUsageShape.properties, ['object', ...USAGE_FIELDS]),
  reason: nullable(Type.String({ description: 'One sentence about a request that was refused or failed.' })),
})

const PortalSummaryShape = Type.Object(picked(SummaryShape.properties, SUMMARY_FIELDS))

const BrandShape = Type.Object({
  object: Type.Literal('portal_brand'),
  name: Type.String(),
  logo: nullable(Type.String({ description: 'The URL of an image, or the image as `data:`.' })),
  color: nullable(Type.String()),
})

const OwnSessionShape = Type.Object({
  object: Type.Literal('portal_session'),
  account: Type.Object({ id: Type.String(), name: Type.String() }),
  permissions: Type.Array(Type.Enum([...PORTAL_PERMISSIONS])),
  return_url: nullable(Type.String()),
  base_url: Type.String({ description: 'The base URL of the API that the keys are for.' }),
  example_model: nullable(Type.String({ description: 'A model that is served, for examples.' })),
  expires_at: Time,
  idle_expires_at: Time,
  csrf_token: Type.String({ description: 'Send it as `X-CSRF-Token` with every change.' }),
})

const GroupBy = Type.Unsafe<SummaryGroup>(
  Type.String({
    pattern: PORTAL_GROUP_PATTERN,
    description: `${PORTAL_GROUPS.join(', ')}, or a tag such as \`tag:team\`.`,
  }),
)

const { account_id: _account, provider: _provider, ...filter } = usageFilter
const { tags: _tags, ...keyControls } = controls
const usage = { permission: 'usage' } as const
const keys = { permission: 'keys' } as const
// The account may be suspended, or the permission missing.
const READ = [...READ_ALL, 403] as const
const CREATE = [201, 400, 401, 403, 409, 413, 415, 429, 503] as const

export const PORTAL = {
  getBrand: portal('GET', '/brand', 'Read the name, logo and color of the portal', [200, 503], BrandShape, {
    access: 'open',
  }),
  getSession: portal('GET', '/session', 'Read the session', READ, OwnSessionShape, {}),
  endSession: portal('DELETE', '/session', 'End the session', [204, 401, 403, 503], Nothing, {}),
  getAccount: portal('GET', '/account', 'Read the account', READ, PortalAccountShape, {}),
  listKeys: portal('GET', '/keys', 'List keys, newest first', READ, listOf(PortalKeyShape), {
    query: Type.Object({ status: Type.Optional(StatusFilter), q: Search, ...paging('key') }, strict),
  }),
  createKey: portal('POST', '/keys', 'Create a key', CREATE, PortalKeyWithSecretShape, {
    ...keys,
    body: Type.Object({ name: Name, ...keyControls }, strict),
  }),
  getKey: portal('GET', '/keys/{id}', 'Read a key', READ, PortalKeyShape, {}),
  rotateKey: portal('POST', '/keys/{id}/rotate', 'Rotate a key', CHANGE, PortalKeyWithSecretShape, {
    ...keys,
    body: ADMIN.rotateKey.body,
  }),
  endGrace: portal('POST', '/keys/{id}/end-grace', 'End the grace period of old secrets', CHANGE, PortalKeyShape, {
    ...keys,
    body: ADMIN.endGrace.body,
  }),
  revokeKey: portal('POST', '/keys/{id}/revoke', 'Revoke a key permanently', CHANGE, PortalKeyShape, {
    ...keys,
    body: ADMIN.revokeKey.body,
  }),
  listUsage: portal('GET', '/usage', 'List usage rows, as JSON or CSV', READ, listOf(PortalUsageShape), {
    ...usage,
    query: Type.Object({ ...filter, format: Type.Optional(UsageFormat), ...paging('request') }, strict),
  }),
  summariseUsage: portal(
    'GET',
    '/usage/summary',
    'Summarize usage rows, as JSON or CSV',
    READ,
    listOf(PortalSummaryShape),
    {
      ...usage,
      query: Type.Object({ ...filter, group_by: GroupBy, format: Type.Optional(UsageFormat) }, strict),
    },
  ),
  getUsage: portal('GET', '/usage/{request_id}', 'Read a usage row', READ, PortalUsageShape, usage),
} satisfies Record<string, Endpoint>

export const PORTAL_ENDPOINTS: readonly Endpoint[] = Object.values(PORTAL)

function portal<T extends Pick<Endpoint, 'query' | 'body' | 'access' | 'permission'>>(
  method: Endpoint['method'],
  path: string,
  summary: string,
  statuses: readonly number[],
  response: Endpoint['response'],
  takes: T,
) {
  const made = endpoint(method, path, summary, statuses, response, takes)
  return { ...made, path: PORTAL_PREFIX + made.path.slice(ADMIN_PREFIX.length) }
}

function picked(properties: TProperties, names: readonly string[]): TProperties {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => names.includes(name)))
}
