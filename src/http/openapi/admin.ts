// The admin API as OpenAPI operations, made from the table that its endpoints validate by.
import type { TObject } from 'typebox'
import { REFUSALS, type RefusalCode } from '../../domain/refusal.ts'
import { ADMIN_PREFIX, type Endpoint } from '../admin/endpoint-table.ts'
import { ADMIN } from '../admin/schemas.ts'
import type { Media, Operation, Parameter, PathItem, Paths, Schema } from './document.ts'
import { plainErrors } from './errors.ts'
import { ADMIN_BODIES } from './examples.ts'
import { headerRefs } from './headers.ts'
import { described } from './schemas.ts'

const ALWAYS: readonly RefusalCode[] = [
  'malformed_request',
  'duplicate_authorization',
  'invalid_api_key',
  'too_many_failures',
  'service_unavailable',
  'internal_error',
]
export const OF_INPUT: readonly RefusalCode[] = ['invalid_value', 'missing_field']
export const HEADERS = ['X-Request-Id', 'Cache-Control']
export const OF_BODY: readonly RefusalCode[] = ['invalid_json', 'unsupported_media_type', 'request_too_large']

export function adminPaths(): Paths {
  const paths: Record<string, PathItem> = {}
  for (const [name, endpoint] of Object.entries<Endpoint>(ADMIN)) {
    const method = endpoint.method.toLowerCase() as keyof PathItem
    paths[endpoint.path] = { ...paths[endpoint.path], [method]: operation(name, endpoint) }
  }
  return paths
}

function operation(name: string, endpoint: Endpoint): Operation {
  const { path, summary, body } = endpoint
  const resource = path.slice(ADMIN_PREFIX.length + 1).split('/')[0] ?? ''
  const parameters = parametersOf(endpoint, resource)
  return {
    operationId: `admin${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    tags: [`Admin: ${resource}`],
    summary,
    description: ADMIN_ABOUT[name as keyof typeof ADMIN],
    security: endpoint.access === 'open' ? [] : [{ adminToken: [] }, { adminSession: [] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: bodyOf(name, body) }),
    responses: {
      [String(endpoint.statuses[0] ?? 200)]: answerOf(name, endpoint),
      ...plainErrors(codesOf(name, endpoint), HEADERS),
    },
  }
}

export function parametersOf({ path, query, headers }: Endpoint, resource: string): Parameter[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path' as const,
    required: true,
    description: PATH_NOTES[name] ?? `Of the ${resource.replace(/s$/, '')}.`,
    schema: { type: 'string' },
  }))
  return [...inPath, ...fieldsOf('query', query), ...fieldsOf('header', headers)]
}

const PATH_NOTES: Readonly<Record<string, string>> = {
  request_id: 'What `X-Request-Id` said.',
  credential_id: 'Of the credential.',
  session_id: 'Of the session.',
  delivery_id: 'Of the delivery.',
}

const NOTES: Readonly<Record<string, string>> = {
  'if-match': 'The `version` that the change is based on, such as `"3"`. Returns 409 if the version has changed.',
  'idempotency-key':
    'Unique per account and kept permanently. The same body returns the same entry; a different body returns 422.',
  from: 'At or after this time (ISO 8601).',
  to: 'Before this time (ISO 8601).',
  endpoint: 'Default: chat requests only.',
  status: 'Only objects with this status.',
  account_id: 'Only this account.',
  key_id: 'Only this key.',
  model: 'Only this model, as requested or as served.',
  provider: 'Only this provider.',
  outcome: 'Only this outcome; `failed` is any of refused, upstream_failed and upstream_broke.',
  group_by: 'The column to group by.',
  step: 'The interval of the series.',
  limit: 'Maximum number of entries per page.',
}

function fieldsOf(place: 'query' | 'header', object: TObject | undefined): Parameter[] {
  if (object === undefined) return []
  const { properties = {}, required = [] } = described(object)
  return Object.entries(properties).map(([name, { description: own, ...schema }]) => ({
    name: place === 'header' ? name.replace(/\b[a-z]/g, letter => letter.toUpperCase()) : name,
    in: place,
    required: required.includes(name),
    ...(own === undefined && NOTES[name] === undefined ? {} : { description: NOTES[name] ?? own ?? '' }),
    schema,
  }))
}

// No body at all is an empty object, so only one with required fields is mandatory.
export function bodyOf(name: string, body: TObject): NonNullable<Operation['requestBody']> {
  const schema: Schema = described(body)
  const example = ADMIN_BODIES[name]
  const required = (schema.required ?? []).length > 0
  return { required, content: { 'application/json': { schema, ...(example === undefined ? {} : { example }) } } }
}

export function answerOf(name: string, { method, statuses, response }: Endpoint): Operation['responses'][string] {
  const csv: Record<string, Media> = ['listUsage', 'summariseUsage', 'listLedger'].includes(name)
    ? { 'text/csv': { schema: { type: 'string' } } }
    : {}
  const description = method === 'GET' ? 'Success.' : statuses[0] === 201 ? 'Created.' : 'Done.'
  if (statuses[0] === 204) return { description, headers: headerRefs(HEADERS) }
  return {
    description,
    headers: headerRefs(HEADERS),
    content: { 'application/json': { schema: described(response) }, ...csv },
  }
}

// The table states statuses; which codes they can mean follows from the endpoint's input.
function codesOf(name: string, { statuses, query, headers, body, access }: Endpoint): RefusalCode[] {
  const takesInput = query !== undefined || headers !== undefined || body !== undefined
  const candidates: readonly RefusalCode[] = [
    ...ALWAYS,
    ...(takesInput ? OF_INPUT : []),
    ...(body === undefined ? [] : OF_BODY),
    'csrf_failed',
    ...(access === 'viewer' ? [] : (['operator_is_viewer'] as const)),
    'not_found',
    'conflict',
    'idempotency_mismatch',
    ...(name === 'rotateKey' ? (['too_many_secrets'] as const) : []),
  ]
  return candidates.filter(code => code === 'internal_error' || statuses.includes(REFUSALS[code].status))
}

// Descriptions of the admin API's operations, beyond their summaries.
const ADMIN_ABOUT: Readonly<Record<keyof typeof ADMIN, string>> = {
  createKey:
    'Without `account_id`, the key belongs to the default account. Omitted fields take the defaults of the settings.',
  createPlaygroundKey:
    'An ordinary key named `Playground`, with the tag `playground` and the operator. It expires after an hour, may spend ' +
    'one credit, and belongs to the given account or to the default one, which pays. An operator has at most four.',
  listKeys: 'Secrets and hashes are never returned. `q` searches names, labels and ids; `name` and `last4` are exact.',
  getKey: 'Includes limits, spend, and old secrets in their grace period.',
  updateKey: 'Omitted fields are unchanged; `null` removes a limit or an expiry. A revoked key cannot be changed.',
  rotateKey:
    'The old secret keeps working for its grace period of 60 minutes. A key has at most five old secrets in their grace period.',
  endGrace: 'Ends all old secrets, or the one that ends in `last4`. Idempotent.',
  resetDay: 'Use it after a clock error, or to grant a key its daily limit again. The audit log keeps the old count.',
  revokeKey: 'Invalidates all secrets on every node. Running streams finish unless `abort_streams` is true.',
  createAccount: 'A new account is active and has no credits.',
  listAccounts: '`q` searches names and ids; `name` is exact.',
  getAccount: 'Includes the balance: available, held by running requests, spent and owed.',
  updateAccount: 'Requests of a suspended account are rejected with 403; its keys and credits are kept.',
  addCredits:
    'Applied once per `Idempotency-Key`. Owed credits are settled first. An adjustment never deducts more than is available.',
  listLedger: 'Top-ups, adjustments, charges and corrections of the account.',
  createPortalSession:
    'The link opens a session of this account only. It works once, for at most five minutes; the session ends after an hour without use, and after twelve hours at the latest.',
  listPortalSessions: 'Sessions that customers have opened, without secrets.',
  endPortalSession: 'The next request of the session is rejected.',
  listUsage: 'One row per request with a valid key. Only chat requests unless `endpoint` is set.',
  summariseUsage: 'Requests, tokens and cost of the selected rows, grouped by one column.',
  overview: 'The numbers on the overview page of the dashboard for a time range.',
  getUsage: 'Includes attempts, routing decisions and prices.',
  listEvents: 'Who changed what, when and from where. Kept permanently.',
  search:
    'Accounts by name, contact e-mail, external id or id, keys by name, id or the last four of a secret, active models, and a request by its id. Beginnings of names come first.',
  listNodes: 'Version, start time and running requests of each node. With SQLite there is one node.',
  createWebhook:
    'Deliveries follow the Standard Webhooks specification. Only public addresses, unless TURNPIKE_WEBHOOKS_ALLOW_PRIVATE is set.',
  listWebhooks: 'Secrets are never returned.',
  getWebhook: 'Includes whether deliveries fail, since when, and why it was disabled.',
  updateWebhook:
    'Omitted fields are unchanged. Disabling cancels waiting deliveries; a new URL is tried at once and has all of its retries.',
  deleteWebhook: 'Waiting deliveries are not sent.',
  rotateWebhookSecret: 'For 24 hours, deliveries are signed with the old and the new secret.',
  testWebhook: 'Sent at once, also to a disabled webhook, and not retried or listed. Returns the result.',
  listDeliveries: 'Kept for 30 days, at most 10,000 per webhook.',
  resendDelivery: 'Creates a new delivery of the same event after all waiting ones.',
  createProvider: 'The credential is stored encrypted and never returned.',
  listProviders: 'Includes providers of the configuration file and providers added by operators.',
  getProvider: 'Credentials are shown with their last four characters only.',
  updateProvider: 'Providers declared in the configuration file can be changed only there.',
  deleteProvider: 'Rejected while a model uses the provider as a target.',
  addCredential: 'Credentials are used round-robin; rejected and rate-limited ones are skipped.',
  removeCredential: 'Running requests that use the credential finish.',
  getProviderHealth:
    'The targets of a provider as seen by this node: their status, the outcomes of their requests in the last ten minutes, ' +
    'and their circuit breakers.',
  setTarget:
    "A target is a provider's model, whichever models of the catalog it serves. A disabled one gets no requests on any " +
    'node; a model without another target is not offered meanwhile. The configuration file does not change it.',
  testTarget:
    'Sends "Say OK." with at most 16 output tokens, at most one test every two seconds. It has no usage row and nobody is ' +
    'charged; the provider charges you as for any request. The target may be disabled.',
  createModel:
    'Prices are in US dollars per token and are converted to credits with the configured markup and exchange rate.',
  repriceModels:
    'Scales what was entered and what clients pay, each rounded up to a trillionth, all models or none; each has an audit ' +
    'event. With `dry_run`, returns the changes without saving them. To save them, send `models` with the versions that it ' +
    'returned: exactly these are saved, and a repeated request is a 409.',
  importModels: 'With `dry_run`, returns the changes without saving them.',
  listModels: 'Includes active and inactive models of the configuration file and of operators.',
  getModel: 'Includes the entered prices and the prices in credits that clients pay.',
  updateModel: 'A new price applies to later requests and has a new `price_version`.',
  deleteModel: 'Usage rows keep their prices. Models declared in the configuration file can be removed only there.',
  applyCatalog:
    'Applies the providers and models of the file in one transaction. With `dry_run`, returns the changes without saving them.',
  openSession: 'The cookie is HttpOnly and SameSite=Strict; every change requires `X-CSRF-Token`.',
  getSession: 'The operator, the role and the CSRF token.',
  endSession: 'Ends the session of the cookie that was sent.',
  listSessions: 'Sessions of all operators, without secrets.',
  endOtherSession: 'The next request of the session is rejected.',
  getSelf: 'For checking a token: its name and role.',
  createOperator: 'Admins have full access; viewers have read-only access.',
  listOperators: 'Tokens are never returned.',
  getOperator: 'The token is never returned.',
  updateOperator: 'The operator of TURNPIKE_ADMIN_TOKEN cannot be changed here.',
  rotateOperator: 'The old token stops working immediately.',
  removeOperator: 'The token stops working immediately. The operator of TURNPIKE_ADMIN_TOKEN cannot be deleted.',
  getSettings: 'Read-only. Set in the environment or the configuration file.',
}
