// The required form of a refusal under /v1, by the contract's own table: status, type, shape, and the headers on every
// answer. Written out a second time, so that the gateway's table is not tested against itself.
import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import type { Loose } from './http-call.ts'
import type { HttpAnswer } from './http-response.ts'
import { rawRequest } from './raw-http.ts'
import { PROVIDER_KEY_CANARY } from './standard-config.ts'

const TABLE = {
  malformed_request: [400, 'invalid_request_error'],
  request_timeout: [408, 'invalid_request_error'],
  expectation_failed: [417, 'invalid_request_error'],
  headers_too_large: [431, 'invalid_request_error'],
  duplicate_authorization: [400, 'invalid_request_error'],
  invalid_api_key: [401, 'authentication_error'],
  too_many_failures: [429, 'rate_limit_error'],
  ip_not_allowed: [403, 'permission_error'],
  account_suspended: [403, 'permission_error'],
  not_found: [404, 'invalid_request_error'],
  method_not_allowed: [405, 'invalid_request_error'],
  insufficient_scope: [403, 'permission_error'],
  rate_limit_exceeded: [429, 'rate_limit_error'],
  daily_limit_exceeded: [429, 'rate_limit_error'],
  concurrency_exceeded: [429, 'rate_limit_error'],
  unsupported_media_type: [415, 'invalid_request_error'],
  request_too_large: [413, 'invalid_request_error'],
  invalid_json: [400, 'invalid_request_error'],
  invalid_value: [400, 'invalid_request_error'],
  missing_field: [400, 'invalid_request_error'],
  unsupported_value: [400, 'invalid_request_error'],
  model_not_found: [404, 'invalid_request_error'],
  model_not_allowed: [403, 'permission_error'],
  context_length_exceeded: [400, 'invalid_request_error'],
  insufficient_credits: [402, 'insufficient_quota'],
  credits_held: [402, 'insufficient_quota'],
  upstream_rejected: [400, 'invalid_request_error'],
  provider_unavailable: [503, 'upstream_error'],
  upstream_timeout: [504, 'upstream_error'],
  all_providers_failed: [502, 'upstream_error'],
  service_unavailable: [503, 'api_error'],
  internal_error: [500, 'api_error'],
} as const

export type Code = keyof typeof TABLE
export const CODES = TABLE

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
export const JSON_TYPE = 'application/json; charset=utf-8'

export type Seen = { readonly status: number; readonly text: string; readonly headers: IncomingHttpHeaders }

// A raw answer in the form of any other.
export function seen(answer: HttpAnswer): Seen {
  const headers = Object.fromEntries(answer.headers.map(([name, value]) => [name.toLowerCase(), value]))
  return { status: answer.status, text: answer.text, headers }
}

// A chat that announces more than the cap of 16 MiB. The body itself is never sent: a server that closes while the
// client still writes may cost the client the answer.
export async function announceTooMuch(port: number, secret?: string, type = 'application/json'): Promise<Seen> {
  const lines = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: x',
    ...(secret === undefined ? [] : [`Authorization: Bearer ${secret}`]),
    `Content-Type: ${type}`,
    `Content-Length: ${16 * 1024 * 1024 + 1}`,
  ]
  const { answer } = await rawRequest(port, `${lines.join('\r\n')}\r\n\r\n`, { expect: 1 })
  return seen(answer)
}

// Returns the error object, for checks of a particular refusal.
export function assertRefusal(answer: Seen, code: Code, param: string | null = null): Loose {
  const [status, type] = TABLE[code]
  const { error, ...others } = JSON.parse(answer.text) as { error: Loose }
  const said = { status: answer.status, type: error.type, code: error.code, param: error.param }
  assert.deepEqual(said, { status, type, code, param }, answer.text)
  assert.deepEqual(Object.keys(others), [])
  assert.ok(typeof error.message === 'string' && error.message !== '')
  assert.equal(error.metadata?.request_id, answer.headers['x-request-id'])
  assertCommonHeaders(answer.headers)
  assert.equal(answer.headers['content-type'], JSON_TYPE)
  assert.equal(answer.headers['x-svc-cost'], '0')
  assert.equal(answer.headers['x-svc-provider'], undefined)
  assertOnlyWhereDue(answer, code, error)
  assertKeepsSecrets(answer.text)
  return error
}

// On every answer under /v1, refused or not.
export function assertCommonHeaders(headers: IncomingHttpHeaders): void {
  assert.match(String(headers['x-request-id']), UUID_V7)
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map(name => {
    assert.match(String(headers[`ratelimit-${name}`]), /^\d+$/)
    return Number(headers[`ratelimit-${name}`])
  }) as [number, number, number]
  assert.ok(remaining <= limit && reset <= 86_400, `${remaining} of ${limit}, reset in ${reset}`)
  assert.match(String(headers['ratelimit-policy']), /^"\w+";q=\d+;w=\d+(, "\w+";q=\d+;w=\d+)*$/)
}

const SHOULD_RETRY: Partial<Record<Code, string>> = { daily_limit_exceeded: 'false', credits_held: 'true' }

function assertOnlyWhereDue({ status, headers }: Seen, code: Code, error: Loose): void {
  const waits = status === 429 || status === 503 || code === 'credits_held'
  if (waits) {
    assert.match(String(headers['retry-after']), /^[1-9]\d*$/)
    assert.match(String(headers['retry-after-ms']), /^[1-9]\d*$/)
    assert.equal(Math.ceil(Number(headers['retry-after-ms']) / 1000), Number(headers['retry-after']))
    assert.equal(error.metadata?.retry_after, Number(headers['retry-after']))
  } else {
    assert.equal(headers['retry-after'], undefined)
    assert.equal(headers['retry-after-ms'], undefined)
  }
  assert.equal(headers['x-should-retry'], SHOULD_RETRY[code])
  assert.equal(headers['www-authenticate'], status === 401 ? 'Bearer' : undefined)
  assert.equal(headers.allow !== undefined, status === 405)
}

// No hash, no stack, no SQL, no provider's address or key.
function assertKeepsSecrets(text: string): void {
  assert.doesNotMatch(text, /[0-9a-f]{64}|svc_live_|\.ts:\d|\bat \w+ \(|SELECT |INSERT |SQLITE|127\.0\.0\.1/)
  assert.ok(!text.includes(PROVIDER_KEY_CANARY))
}
