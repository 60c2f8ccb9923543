// Every response header, described once, and which of them are on which kind of response.
import type { Brand, Header, Ref } from './document.ts'

const text = { type: 'string' }
const whole = { type: 'integer', minimum: 0 }

export function componentHeaders({ headerPrefix }: Brand): Readonly<Record<string, Header>> {
  return {
    'X-Request-Id': {
      description:
        'UUIDv7 made by the server, on every answer. The usage record bears the same id; quote it to support.',
      schema: text,
      example: '019a8f3e-5b7c-7d21-9c44-1f0a6be2d731',
    },
    [`${headerPrefix}Provider`]: {
      description:
        'Id of the provider that served; absent when none did. On a stream whose headers left before content came, it is a trailer.',
      schema: text,
      example: 'openai',
    },
    [`${headerPrefix}Cost`]: {
      description:
        'Credits, as a plain decimal without exponent or trailing zeros. On streams an HTTP trailer, since the price is known only at the end. Whatever costs nothing says `0`.',
      schema: { type: 'string' },
      example: '0.000123',
    },
    [`${headerPrefix}Output-Cap`]: {
      description: 'Tokens. Only when no `max_tokens` was given and a low balance capped the answer.',
      schema: whole,
      example: 1024,
    },
    [`${headerPrefix}Ignored-Fields`]: {
      description: 'Names of request fields that were not forwarded, separated by commas.',
      schema: text,
      example: 'my_field',
    },
    'RateLimit-Limit': {
      description: 'Of the policies in force, the one with the least left; on a 429 the one that refused.',
      schema: whole,
      example: 300,
    },
    'RateLimit-Remaining': { description: 'Requests left under that policy.', schema: whole, example: 299 },
    'RateLimit-Reset': {
      description: 'Seconds until the bucket is full (rpm) or until midnight UTC (daily).',
      schema: whole,
      example: 1,
    },
    'RateLimit-Policy': {
      description: "All policies. Without a valid key: the policy of the caller's address.",
      schema: text,
      example: '"rpm";q=300;w=60, "daily";q=10000;w=86400',
    },
    'Retry-After': {
      description: 'Seconds to wait; on 429, on 503, and on 402 with code `credits_held`.',
      schema: whole,
      example: 12,
    },
    'retry-after-ms': { description: 'The same in milliseconds.', schema: whole, example: 11840 },
    'x-should-retry': {
      description: '`false` on `daily_limit_exceeded`, `true` on `credits_held`: OpenAI SDKs obey it.',
      schema: { enum: ['true', 'false'] },
    },
    'WWW-Authenticate': { description: 'On every 401.', schema: { const: 'Bearer' } },
    Allow: { description: 'On 405: the method to use.', schema: text, example: 'POST' },
    Deprecation: {
      description: 'RFC 9745. On calls made with an old secret in its grace period: when it was replaced.',
      schema: text,
      example: '@1767225600',
    },
    Sunset: {
      description: 'RFC 8594. On the same calls: when the old secret stops working.',
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
    'X-Accel-Buffering': { description: '`no` on streams, so that proxies pass events on.', schema: { const: 'no' } },
    Trailer: {
      description: 'On streams: which headers follow the body.',
      schema: text,
      example: `${headerPrefix}Cost`,
    },
    ETag: {
      description: 'On the list of models; send it back as `If-None-Match` to get 304 while nothing changed.',
      schema: text,
    },
  }
}

const RATES = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'RateLimit-Policy']

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
