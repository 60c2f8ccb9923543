// Errors in the OpenAPI document, made from the table of refusals: one example per code, one response per status.
import type { ErrorWriter } from '../../dialects/dialect.ts'
import { errorBody, REFUSALS, Refusal, type RefusalCode, type RefusalDetail } from '../../domain/refusal.ts'
import type { Brand, Ref, Response, Schema } from './document.ts'
import { headerRefs, v1Headers } from './headers.ts'

export const ERROR_CODES = Object.keys(REFUSALS) as readonly RefusalCode[]

// Errors of any call under /v1, whatever the endpoint.
const V1_CODES: readonly RefusalCode[] = [
  'malformed_request',
  'request_timeout',
  'expectation_failed',
  'headers_too_large',
  'duplicate_authorization',
  'invalid_api_key',
  'too_many_failures',
  'ip_not_allowed',
  'rate_limit_exceeded',
  'daily_limit_exceeded',
  'concurrency_exceeded',
  'invalid_value',
  'service_unavailable',
  'internal_error',
]

// The example of a code, made by the function that answers.
const DETAILS: { readonly [code in RefusalCode]?: RefusalDetail } = {
  too_many_failures: { retryAfter: 8 },
  insufficient_scope: { metadata: { required_scope: 'chat.completions' } },
  rate_limit_exceeded: { retryAfter: 12, metadata: { limit: 'rpm', quota: 300, remaining: 0, reset: 60 } },
  daily_limit_exceeded: {
    retryAfter: 40_213,
    metadata: { limit: 'daily', quota: 10_000, used: 10_000, remaining: 0, reset: 40_213 },
  },
  concurrency_exceeded: { retryAfter: 1, metadata: { limit: 'concurrent', quota: 100 } },
  invalid_value: { param: 'temperature', message: 'temperature must be at most 2.' },
  missing_field: { param: 'messages', message: 'messages is missing.' },
  unsupported_value: { param: 'audio', message: 'audio with this value is not offered here.' },
  model_not_found: { param: 'model' },
  model_not_allowed: { param: 'model' },
  context_length_exceeded: { param: 'messages' },
  insufficient_credits: { metadata: short('0.02') },
  budget_exceeded: {
    metadata: {
      budget: 'key',
      window: 'month',
      amount: '25',
      spent: '24.98',
      held: '0',
      resets_at: '2026-02-01T00:00:00Z',
      available: '0.02',
      required: '0.05',
      affordable_max_tokens: 980,
    },
  },
  credits_held: { retryAfter: 2, metadata: short('0.02') },
  provider_unavailable: { retryAfter: 5 },
  service_unavailable: { retryAfter: 1 },
}

const REQUEST_ID = '019a8f3e-5b7c-7d21-9c44-1f0a6be2d731'

export function errorExamples(): Record<string, { readonly summary: string; readonly value: unknown }> {
  const example = (code: RefusalCode) => ({
    summary: REFUSALS[code].message,
    value: errorBody(new Refusal(code, DETAILS[code]), REQUEST_ID),
  })
  return Object.fromEntries(ERROR_CODES.map(code => [code, example(code)]))
}

// The responses of an operation that may refuse with these codes. A status that means the same on every call under /v1 is a
// reference to the shared one.
export function v1Errors(codes: readonly RefusalCode[], brand: Brand): Record<string, Response | Ref> {
  const all = ERROR_CODES.filter(code => V1_CODES.includes(code) || codes.includes(code))
  const statuses = byStatus(all)
  const shared = byStatus(V1_CODES)
  return Object.fromEntries(
    [...statuses].map(([status, own]) =>
      own.length === shared.get(status)?.length
        ? [status, { $ref: `#/components/responses/Error${status}` }]
        : [status, v1Error(own, brand)],
    ),
  )
}

// The same in the shape of another dialect.
export function v1ErrorsAs(
  { schema, write }: { readonly schema: Schema; readonly write: ErrorWriter },
  codes: readonly RefusalCode[],
  brand: Brand,
): Record<string, Response> {
  const all = ERROR_CODES.filter(code => V1_CODES.includes(code) || codes.includes(code))
  const example = (code: RefusalCode) => ({
    summary: REFUSALS[code].message,
    value: write(new Refusal(code, DETAILS[code]), REQUEST_ID),
  })
  return Object.fromEntries(
    [...byStatus(all)].map(([status, own]) => {
      const examples = Object.fromEntries(own.map(code => [code, example(code)]))
      return [status, { ...v1Error(own, brand), content: { 'application/json': { schema, examples } } }]
    }),
  )
}

export function sharedErrors(brand: Brand): Record<string, Response> {
  return Object.fromEntries([...byStatus(V1_CODES)].map(([status, codes]) => [`Error${status}`, v1Error(codes, brand)]))
}

// Outside /v1 there are neither costs nor limits.
export function plainErrors(codes: readonly RefusalCode[], headers: readonly string[]): Record<string, Response> {
  const all = ERROR_CODES.filter(code => codes.includes(code))
  return Object.fromEntries(
    [...byStatus(all)].map(([status, own]) => [status, response(own, headerRefs([...headers, ...special(own)]))]),
  )
}

function v1Error(codes: readonly RefusalCode[], brand: Brand): Response {
  return response(codes, v1Headers(brand, special(codes)))
}

function response(codes: readonly RefusalCode[], headers: Record<string, Ref>): Response {
  const examples = Object.fromEntries(codes.map(code => [code, { $ref: `#/components/examples/${code}` }]))
  return {
    description: codes.map(code => `\`${code}\`: ${REFUSALS[code].message}`).join('\n\n'),
    headers,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, examples } },
  }
}

const WAITING = new Set<RefusalCode>(['credits_held', 'provider_unavailable', 'service_unavailable'])
const ADVISED = new Set<RefusalCode>(['daily_limit_exceeded', 'credits_held'])

function special(codes: readonly RefusalCode[]): string[] {
  const waits = codes.some(code => REFUSALS[code].status === 429 || WAITING.has(code))
  return [
    ...(waits ? ['Retry-After', 'retry-after-ms'] : []),
    ...(codes.some(code => ADVISED.has(code)) ? ['x-should-retry'] : []),
    ...(codes.includes('invalid_api_key') ? ['WWW-Authenticate'] : []),
  ]
}

function byStatus(codes: readonly RefusalCode[]): Map<string, RefusalCode[]> {
  const sorted = codes.toSorted((a, b) => REFUSALS[a].status - REFUSALS[b].status)
  return Map.groupBy(sorted, code => String(REFUSALS[code].status))
}

function short(required: string): Readonly<Record<string, unknown>> {
  return { available: '0.0125', owed: '0', required, affordable_max_tokens: 980, limit: 'account' }
}
