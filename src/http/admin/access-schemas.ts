// The endpoint table of sessions, operators and settings.
import { Type } from 'typebox'
import { NAME_MAX } from '../../admin/input.ts'
import { ROLES } from '../../domain/operator.ts'
import { CHANGE, CREATE_NAMED, endpoint, listOf, Nothing, paging, READ, strict } from './endpoint-table.ts'
import { nullable, Time } from './shapes.ts'

const OPEN = [201, 400, 401, 413, 415, 429, 503] as const
const DELETE = [204, 400, 401, 403, 404, 429, 503] as const
const REMOVE = [204, 400, 401, 403, 404, 409, 429, 503] as const

const Name = Type.String({ minLength: 1, maxLength: NAME_MAX })
const Role = Type.Enum([...ROLES])
const Token = Type.String({ description: 'The token, shown only once.' })

const OPERATOR = {
  object: Type.Literal('operator'),
  id: Type.String(),
  name: Type.String(),
  role: Role,
  created_at: Time,
  last_used_at: nullable(Time),
}
const OperatorShape = Type.Object(OPERATOR)
const OperatorWithTokenShape = Type.Object({ ...OPERATOR, token: Token })

const SESSION = {
  object: Type.Literal('session'),
  id: Type.String(),
  operator: Type.Object({ id: Type.String(), name: Type.String(), role: Role }),
  address: Type.String({ description: 'Client IP address at sign-in.' }),
  created_at: Time,
  last_used_at: Time,
  expires_at: Time,
  idle_expires_at: Type.String({ description: 'When the session ends unless it is used. ISO 8601' }),
}
const SessionShape = Type.Object(SESSION)
const OwnSessionShape = Type.Object({
  ...SESSION,
  csrf_token: Type.String({ description: 'Send it as `X-CSRF-Token` with every change.' }),
})

const SettingsShape = Type.Object({
  object: Type.Literal('settings'),
  version: Type.String(),
  update_available: nullable(
    Type.String({ description: 'The newer version that the update check found; null if none, or if it is off.' }),
  ),
  engine: Type.Enum(['sqlite', 'postgres']),
  redis: Type.Enum(['none', 'ok', 'away']),
  brand: Type.Object({ key_prefix: Type.String(), header_prefix: Type.String() }),
  defaults: Type.Object({}, { additionalProperties: true, description: 'Defaults for new keys.' }),
  usage_retention_days: nullable(Type.Integer()),
  trusted_proxies: Type.Array(Type.String()),
  cors_origins: Type.Array(Type.String()),
  admin_listen: nullable(Type.String()),
  config_file: nullable(Type.String()),
  explain: Type.Boolean(),
  show_upstream_cost: Type.Boolean({ description: 'Whether keys see `upstream_cost` on their own usage rows.' }),
  credits_per_usd: nullable(
    Type.String({ description: 'The rate of the configuration file; null if it states none, which is one credit.' }),
  ),
  allow_private_upstreams: Type.Boolean(),
  portal: Type.Union(
    [Type.Object({ url: nullable(Type.String()), name: Type.String(), color: nullable(Type.String()) }), Type.Null()],
    { description: 'The customer portal; null if it is switched off.' },
  ),
})

export const ACCESS = {
  openSession: endpoint(
    'POST',
    '/session',
    'Sign in with a token; returns a session cookie and a CSRF token',
    OPEN,
    OwnSessionShape,
    { access: 'open', body: Type.Object({ token: Type.String({ maxLength: 1024 }) }, strict) },
  ),
  getSession: endpoint('GET', '/session', 'Read the current session', [200, 401, 404, 429, 503], OwnSessionShape, {}),
  endSession: endpoint('DELETE', '/session', 'Log out', DELETE, Nothing, { access: 'viewer' }),
  listSessions: endpoint('GET', '/sessions', 'List open sessions, newest first', READ, listOf(SessionShape), {
    query: Type.Object(paging('session'), strict),
  }),
  endOtherSession: endpoint('DELETE', '/sessions/{id}', "End anybody's session", DELETE, Nothing, {}),
  getSelf: endpoint('GET', '/operator', 'Read the operator of this token or session', READ, OperatorShape, {}),
  createOperator: endpoint(
    'POST',
    '/operators',
    'Create an operator; the token is shown only once',
    CREATE_NAMED,
    OperatorWithTokenShape,
    {
      body: Type.Object({ name: Name, role: Role }, strict),
    },
  ),
  listOperators: endpoint('GET', '/operators', 'List operators', READ, listOf(OperatorShape), {
    query: Type.Object(paging('operator'), strict),
  }),
  getOperator: endpoint('GET', '/operators/{id}', 'Read an operator', READ, OperatorShape, {}),
  updateOperator: endpoint(
    'PATCH',
    '/operators/{id}',
    'Update the name or role of an operator',
    CHANGE,
    OperatorShape,
    {
      body: Type.Object({ name: Type.Optional(Name), role: Type.Optional(Role) }, strict),
    },
  ),
  rotateOperator: endpoint(
    'POST',
    '/operators/{id}/rotate',
    'Rotate the token; ends the sessions of the old one',
    CHANGE,
    OperatorWithTokenShape,
    {
      body: Type.Object({}, strict),
    },
  ),
  removeOperator: endpoint(
    'DELETE',
    '/operators/{id}',
    'Delete an operator and end their sessions',
    REMOVE,
    Nothing,
    {},
  ),
  getSettings: endpoint(
    'GET',
    '/settings',
    'Read the settings of the gateway, without secrets',
    READ,
    SettingsShape,
    {},
  ),
} as const
