// The customer portal's API as OpenAPI operations, made from the table that its endpoints validate by.
import { REFUSALS, type RefusalCode } from '../../domain/refusal.ts'
import { type Endpoint, PORTAL_PREFIX } from '../admin/endpoint-table.ts'
import { PORTAL } from '../portal/schemas.ts'
import { answerOf, bodyOf, HEADERS, OF_BODY, OF_INPUT, parametersOf } from './admin.ts'
import type { Operation, PathItem, Paths } from './document.ts'
import { plainErrors } from './errors.ts'

export function portalPaths(): Paths {
  const paths: Record<string, PathItem> = {}
  for (const [name, endpoint] of Object.entries<Endpoint>(PORTAL)) {
    const method = endpoint.method.toLowerCase() as keyof PathItem
    paths[endpoint.path] = { ...paths[endpoint.path], [method]: operation(name, endpoint) }
  }
  return paths
}

function operation(name: string, endpoint: Endpoint): Operation {
  const { path, summary, body } = endpoint
  const parameters = parametersOf(endpoint, path.slice(PORTAL_PREFIX.length + 1).split('/')[0] ?? '')
  return {
    operationId: `portal${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    tags: ['Portal'],
    summary,
    description: PORTAL_ABOUT[name as keyof typeof PORTAL],
    security: endpoint.access === 'open' ? [] : [{ portalSession: [] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: bodyOf(name, body) }),
    responses: {
      [String(endpoint.statuses[0] ?? 200)]: answerOf(name, endpoint),
      ...plainErrors(codesOf(name, endpoint), HEADERS),
    },
  }
}

// Lists and reports have a query, and changes of keys need a permission: both are limited.
function codesOf(name: string, { method, statuses, query, body, permission }: Endpoint): RefusalCode[] {
  const candidates: readonly RefusalCode[] = [
    'portal_session_required',
    'account_suspended',
    ...(method === 'GET' ? [] : (['csrf_failed'] as const)),
    ...(method === 'GET' || permission === undefined ? [] : (['rate_limit_exceeded'] as const)),
    ...(query === undefined ? [] : (['concurrency_exceeded'] as const)),
    ...(permission === undefined ? [] : (['permission_missing'] as const)),
    ...(name === 'rotateKey' ? (['too_many_secrets'] as const) : []),
    ...(query === undefined && body === undefined ? [] : OF_INPUT),
    ...(body === undefined ? [] : OF_BODY),
    'not_found',
    'conflict',
    'service_unavailable',
    'internal_error',
  ]
  return candidates.filter(code => code === 'internal_error' || statuses.includes(REFUSALS[code].status))
}

const PORTAL_ABOUT: Readonly<Record<keyof typeof PORTAL, string>> = {
  getBrand: 'For pages before there is a session.',
  getSession: 'The account, the permissions and the CSRF token.',
  endSession: 'Signs out.',
  getAccount: 'The balance, the budgets and the limits of keys.',
  listKeys: 'All keys of the account, including those that operators made.',
  createKey:
    'Within `portal_key_limits` of the account. Omitted fields take the default or the limit, whichever is lower.',
  getKey: 'Includes limits, spend, and old secrets in their grace period.',
  rotateKey:
    'The old secret keeps working for its grace period of 60 minutes. A key gets at most 24 secrets within a day.',
  endGrace: 'Ends all old secrets, or the one that ends in `last4`. Idempotent.',
  revokeKey: 'Invalidates all secrets on every node. Running streams finish unless `abort_streams` is true.',
  listUsage: 'One row per request with a key of the account. Only chat requests unless `endpoint` is set.',
  summariseUsage: 'Requests, tokens and cost of the selected rows, grouped by one column.',
  getUsage: 'Includes prices, and one sentence about why it failed.',
}
