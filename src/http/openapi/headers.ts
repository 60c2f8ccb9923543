// Every response header, described once, and which of them are on which kind of response.
import type { Brand, Header, Ref } from './document.ts'

const text = { type: 'string' }
const whole = { type: 'integer', minimum: 0 }

export function componentHeaders({ headerPrefix }: Brand): Readonly<Record<string, Header>> {
  return {
    'X-Request-Id': {
      description:
        'UUIDv7 created by the server, on every response. The usage record has the same id; quote it in support requests.',
      schema: text,
      example: '019a8f3e-5b7c-7d21-9c44-1f0a6be2d731',
    },
    [`${headerPrefix}Provider`]: {
      description:
        'Id of the provider that served the request; absent if none did. A trailer on streams whose headers were sent before any content.',
      schema: text,
      example: 'openai',
    },
    [`${headerPrefix}Cost`]: {
      description:
        'Credits, as a plain decimal without exponent or trailing zeros. An HTTP trailer on streams, because the cost is known only at the end. `0` for free requests.',
      schema: { type: 'string' },
      example: '0.000123',
    },
    [`${headerPrefix}Output-Cap`]: {
      description: 'Tokens. Only if `max_tokens` was not set and a low balance capped the response.',
      schema: whole,
      example: 1024,
    },
    [`${headerPrefix}Ignored-Fields`]: {
      description: 'Names of request fields that were not forwarded, separated by commas.',
      schema: text,
      example: 'my_field',
    },
    'RateLimit-Limit': {
      description: 'The policy with the least remaining requests; on a 429, the policy that was exceeded.',
      schema: whole,
      example: 300,
    },
    'RateLimit-Remaining': { description: 'Remaining requests under that policy.', schema: whole, example: 299 },
    'RateLimit-Reset': {
      description: 'Seconds until the bucket is full (rpm) or until midnight UTC (daily).',
      schema: whole,
      example: 1,
    },
    'RateLimit-Policy': {
      description: 'All policies. Without a valid key: the policy of the client address.',
      schema: text,
      example: '"rpm";q=300;w=60, "daily";q=10000;w=86400',
    },
    'x-ratelimit-limit-requests': {
      description: 'The same three under the names that OpenAI SDKs read.',
      schema: whole,
      example: 300,
    },
    'x-ratelimit-remaining-requests': { description: 'As `RateLimit-Remaining`.', schema: whole, example: 299 },
    'x-ratelimit-reset-requests': {
      description: 'As `RateLimit-Reset`, with its unit.',
      schema: text,
      example: '1s',
    },
    'Retry-After': {
      description: 'Seconds to wait, on 429, 503, and 402 with code `credits_held`.',
      schema: whole,
      example: 12,
    },
    'retry-after-ms': { description: 'The same in milliseconds.', schema: whole, example: 11840 },
    'x-should-retry': {
      description: '`false` on `daily_limit_exceeded`, `true` on `credits_held`: respected by OpenAI SDKs.',
      schema: { enum: ['true', 'false'] },
    },
    'WWW-Authenticate': { description: 'On every 401.', schema: { const: 'Bearer' } },
    Allow: { description: 'On 405: the method to use.', schema: text, example: 'POST' },
    Deprecation: {
      description: 'RFC 9745. On requests with an old secret in its grace period: when it was replaced.',
      schema: text,
      example: '@1767225600',
    },
    Sunset: {
      description: 'RFC 8594. On the same requests: when the old secret stops working.',
      schema: text,
      example: 'Thu, 01 Jan 2026 01:00:00 GMT',
    },
    'Content-Type': {
      description: '`application/json; charset=utf-8` or `text/event-stream; charset=utf-8`.',
      schema: text,
    },
    'Cache-Control': {
      description:
        '`no-cache, no-transform` on streams; `private, no-cache` on the list of models; `no-store` in the admin API.',
      schema: text,
    },
    'X-Accel-Buffering': {
      description: '`no` on streams, so that proxies do not buffer events.',
      schema: { const: 'no' },
    },
    Trailer: {
      description: 'On streams: the headers that follow the body.',
      schema: text,
      example: `${headerPrefix}Cost`,
    },
    ETag: {
      description: 'On the list of models; send it as `If-None-Match` to get 304 if nothing has changed.',
      schema: text,
    },
  }
}

const RATES = [
  ...['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'RateLimit-Policy'],
  ...['limit', 'remaining', 'reset'].map(name => `x-ratelimit-${name}-requests`),
]

export function v1Headers({ headerPrefix }: Brand, more: readonly string[] = []): Record<string, Ref> {
  return headerRefs(['X-Request-Id', `${headerPrefix}Cost`, ...RATES, 'Deprecation', 'Sunset', ...more])
}

export function chatHeaders(brand: Brand): Record<string, Ref> {
  const own = ['Provider', 'Output-Cap', 'Ignored-Fields'].map(name => brand.headerPrefix + name)
  return v1Headers(brand, [...own, 'Cache-Control', 'X-Accel-Buffering', 'Trailer'])
}

export function headerRefs(names: readonly string[]): Record<string, Ref> {
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}
