// Every refusal that a caller can get: one table of codes, from which answers, tests and docs are generated.

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'insufficient_quota'
  | 'upstream_error'
  | 'api_error'

// What a refusal records when its key is known. `counts`: against the key's requests per minute and, with a row
// of the reservation, per day. `row`: its usage row is
// written in the reservation's transaction before the response is sent, in the background after it, or not at all. A request
// refused before admission counts against nothing, and its row is written in the background.
type RefusalRecord = { readonly counts: boolean; readonly row: 'reservation' | 'background' | 'none' }

type Entry = RefusalRecord & { readonly status: number; readonly type: ErrorType; readonly message: string }

// No valid key is known.
const NO_KEY = { counts: false, row: 'none' } as const
const AT_LIMITS = { counts: false, row: 'background' } as const
const UNPAID = { counts: false, row: 'reservation' } as const
const COUNTED = { counts: true, row: 'reservation' } as const

// In the order in which refusals are checked. The message is the default; a refusal may carry a more specific one.
export const REFUSALS = {
  malformed_request: entry(400, 'invalid_request_error', COUNTED, 'The HTTP request could not be parsed.'),
  request_timeout: entry(408, 'invalid_request_error', COUNTED, 'The request took too long to arrive.'),
  expectation_failed: entry(
    417,
    'invalid_request_error',
    NO_KEY,
    'The Expect header has an unsupported value; only 100-continue is supported.',
  ),
  headers_too_large: entry(
    431,
    'invalid_request_error',
    NO_KEY,
    'The request has more than 100 headers or more than 16 KiB of headers.',
  ),
  duplicate_authorization: entry(
    400,
    'invalid_request_error',
    NO_KEY,
    'Send one API key: as "Authorization: Bearer <key>" or as "x-api-key".',
  ),
  invalid_api_key: entry(
    401,
    'authentication_error',
    NO_KEY,
    'Invalid or missing API key. Send it as "Authorization: Bearer <key>" or as "x-api-key".',
  ),
  too_many_failures: entry(
    429,
    'rate_limit_error',
    NO_KEY,
    'Too many failed authentication attempts from this address.',
  ),
  ip_not_allowed: entry(403, 'permission_error', AT_LIMITS, 'This key cannot be used from this IP address.'),
  account_suspended: entry(403, 'permission_error', AT_LIMITS, 'The account of this key is suspended.'),
  not_found: entry(404, 'invalid_request_error', COUNTED, 'Unknown path.'),
  method_not_allowed: entry(405, 'invalid_request_error', AT_LIMITS, 'This method is not allowed for this path.'),
  insufficient_scope: entry(
    403,
    'permission_error',
    AT_LIMITS,
    'This key does not have the scope that this endpoint requires.',
  ),
  rate_limit_exceeded: entry(
    429,
    'rate_limit_error',
    AT_LIMITS,
    'The requests-per-minute limit of this key is exceeded.',
  ),
  daily_limit_exceeded: entry(
    429,
    'rate_limit_error',
    AT_LIMITS,
    'The daily request limit of this key is exceeded; it resets at midnight UTC.',
  ),
  concurrency_exceeded: entry(429, 'rate_limit_error', AT_LIMITS, 'Too many concurrent requests with this key.'),
  unsupported_media_type: entry(
    415,
    'invalid_request_error',
    COUNTED,
    'Send the body as application/json, without a content encoding.',
  ),
  request_too_large: entry(413, 'invalid_request_error', COUNTED, 'The request body is too large.'),
  invalid_json: entry(
    400,
    'invalid_request_error',
    COUNTED,
    'The body must be a JSON object in UTF-8, nested at most 32 levels deep.',
  ),
  invalid_value: entry(400, 'invalid_request_error', COUNTED, 'A field has an invalid value.'),
  missing_field: entry(400, 'invalid_request_error', COUNTED, 'A required field is missing.'),
  unsupported_value: entry(400, 'invalid_request_error', COUNTED, 'A field or value is not supported.'),
  model_not_found: entry(404, 'invalid_request_error', COUNTED, 'The model does not exist or is not active.'),
  model_not_allowed: entry(403, 'permission_error', COUNTED, 'This key may not use this model.'),
  context_length_exceeded: entry(
    400,
    'invalid_request_error',
    COUNTED,
    "The prompt exceeds the model's context length.",
  ),
  insufficient_credits: entry(402, 'insufficient_quota', UNPAID, 'Not enough credits for this request.'),
  budget_exceeded: entry(402, 'insufficient_quota', UNPAID, 'A budget of this key or its account is used up.'),
  credits_held: entry(
    402,
    'insufficient_quota',
    UNPAID,
    'The remaining credits are held by running requests; try again shortly.',
  ),
  upstream_rejected: entry(400, 'invalid_request_error', COUNTED, 'The provider rejected the request as invalid.'),
  provider_unavailable: entry(
    503,
    'upstream_error',
    COUNTED,
    'All providers of this model are rate limited or overloaded.',
  ),
  upstream_timeout: entry(504, 'upstream_error', COUNTED, 'The provider did not respond in time.'),
  all_providers_failed: entry(502, 'upstream_error', COUNTED, 'No provider could serve this request.'),
  service_unavailable: entry(503, 'api_error', COUNTED, 'The service is temporarily unavailable.'),
  internal_error: entry(500, 'api_error', { counts: true, row: 'background' }, 'An internal error occurred.'),
  // Only used by the admin API.
  csrf_failed: entry(403, 'permission_error', NO_KEY, 'The CSRF token in X-CSRF-Token is missing or invalid.'),
  operator_is_viewer: entry(403, 'permission_error', NO_KEY, 'This operator has read-only access.'),
  // Only used by the customer portal.
  portal_session_required: entry(
    401,
    'authentication_error',
    NO_KEY,
    'There is no open portal session, or it has ended. Open the portal again from the site that linked to it.',
  ),
  permission_missing: entry(
    403,
    'permission_error',
    NO_KEY,
    'This portal session does not have the permission that this endpoint requires.',
  ),
  conflict: entry(409, 'invalid_request_error', NO_KEY, 'The change conflicts with the current state.'),
  too_many_secrets: entry(
    409,
    'invalid_request_error',
    NO_KEY,
    'This key already has five old secrets in their grace period.',
  ),
  idempotency_mismatch: entry(
    422,
    'invalid_request_error',
    NO_KEY,
    'This Idempotency-Key was already used with a different body.',
  ),
} as const satisfies Record<string, Entry>

export type RefusalCode = keyof typeof REFUSALS

export type RefusalDetail = {
  readonly message?: string
  // What the usage row keeps instead of a message that may quote the caller's content.
  readonly stored?: string
  readonly param?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  // Seconds, whole or not; becomes Retry-After and retry-after-ms.
  readonly retryAfter?: number
  readonly headers?: Readonly<Record<string, string>>
}

export class Refusal extends Error {
  readonly code: RefusalCode
  readonly status: number
  readonly detail: RefusalDetail

  constructor(code: RefusalCode, detail: RefusalDetail = {}) {
    super(detail.message ?? REFUSALS[code].message)
    this.code = code
    this.status = REFUSALS[code].status
    this.detail = detail
  }
}

export type ErrorBody = {
  readonly error: {
    readonly message: string
    readonly type: ErrorType
    readonly param: string | null
    readonly code: RefusalCode
    readonly metadata: Readonly<Record<string, unknown>>
  }
}

export function errorBody(refusal: Refusal, requestId: string): ErrorBody {
  const { param, metadata, retryAfter } = refusal.detail
  return {
    error: {
      message: refusal.message,
      type: REFUSALS[refusal.code].type,
      param: param ?? null,
      code: refusal.code,
      metadata: {
        request_id: requestId,
        ...metadata,
        ...(retryAfter === undefined ? {} : { retry_after: Math.ceil(retryAfter) }),
      },
    },
  }
}

function entry(status: number, type: ErrorType, record: RefusalRecord, message: string): Entry {
  return { status, type, ...record, message }
}
