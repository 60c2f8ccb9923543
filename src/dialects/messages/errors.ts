// Errors in Anthropic's shape: its types by the status, plus Turnpike's code.
import { REFUSALS, type Refusal } from '../../domain/refusal.ts'

export function messagesError(refusal: Refusal, requestId: string): object {
  const { param, metadata, retryAfter } = refusal.detail
  const more = { ...metadata, ...(retryAfter === undefined ? {} : { retry_after: Math.ceil(retryAfter) }) }
  return {
    type: 'error',
    error: {
      type: typeOf(REFUSALS[refusal.code].status),
      message: refusal.message,
      code: refusal.code,
      ...(param === undefined ? {} : { param }),
      ...(Object.keys(more).length === 0 ? {} : { metadata: more }),
    },
    request_id: requestId,
  }
}

function typeOf(status: number): string {
  return TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}
