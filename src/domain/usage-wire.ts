// The usage record as callers and operators see it: API field names, money as decimal strings, times in ISO 8601.
import type { WrittenRates } from './catalog.ts'
import { formatCredits } from './credits.ts'
import type { Considered } from './routing.ts'
import { NO_TAGS, type Tags } from './tags.ts'
import type { Attempt, Endpoint, Outcome, RowState, UsageRow, UsageSource } from './usage.ts'
import { isoTime, isoTimeOrNull } from './wire-time.ts'

export type UsageObject = {
  readonly object: 'usage'
  readonly request_id: string
  readonly client_request_id: string | null
  readonly account_id: string
  readonly key_id: string
  readonly secret_last4: string
  readonly endpoint: Endpoint
  readonly model_requested: string | null
  readonly model_served: string | null
  readonly provider: string | null
  readonly attempts: readonly Attempt[]
  readonly stream: boolean
  readonly state: RowState
  readonly outcome: Outcome | null
  readonly http_status: number | null
  readonly error_code: string | null
  readonly finish_reason: string | null
  readonly prompt_tokens: number
  readonly cached_tokens: number
  readonly cache_write_tokens: number
  readonly cache_write_1h_tokens: number
  readonly image_tokens: number
  readonly audio_tokens: number
  readonly completion_tokens: number
  readonly reasoning_tokens: number
  readonly usage_source: UsageSource
  readonly price_version: string | null
  readonly price: WrittenRates | null
  readonly hold: string
  readonly cost: string
  readonly upstream_cost: string | null
  readonly created_at: string
  readonly first_byte_at: string | null
  readonly finished_at: string | null
  readonly client_ip: string
  readonly upstream_id: string | null
  readonly requests: number
  readonly tags: Tags
}

// Operators also see how the request was routed, and why it was refused or failed.
export type OperatorUsageObject = UsageObject & {
  readonly routing: readonly Considered[]
  readonly error_message: string | null
  readonly error_detail: Readonly<Record<string, unknown>> | null
}

export function operatorUsageObject(row: UsageRow): OperatorUsageObject {
  return {
    ...usageObject(row),
    routing: row.routing,
    error_message: row.errorMessage,
    error_detail: row.errorDetail === null ? null : (JSON.parse(row.errorDetail) as Record<string, unknown>),
  }
}

export function usageObject(row: UsageRow): UsageObject {
  return {
    object: 'usage',
    request_id: row.requestId,
    client_request_id: row.clientRequestId,
    account_id: row.accountId,
    key_id: row.keyId,
    secret_last4: row.secretLast4,
    endpoint: row.endpoint,
    model_requested: row.modelRequested,
    model_served: row.modelServed,
    provider: row.provider,
    attempts: row.attempts,
    stream: row.stream,
    state: row.state,
    outcome: row.outcome,
    http_status: row.httpStatus,
    error_code: row.errorCode,
    finish_reason: row.finishReason,
    prompt_tokens: row.tokens.prompt,
    cached_tokens: row.tokens.cached,
    cache_write_tokens: row.tokens.cacheWrite,
    cache_write_1h_tokens: row.tokens.cacheWrite1h,
    image_tokens: row.tokens.image,
    audio_tokens: row.tokens.audio,
    completion_tokens: row.tokens.completion,
    reasoning_tokens: row.tokens.reasoning,
    usage_source: row.usageSource,
    price_version: row.priceVersion,
    // The snapshot is already JSON of decimal strings with API field names.
    price: row.price === null ? null : (JSON.parse(row.price) as WrittenRates),
    hold: formatCredits(row.hold),
    cost: formatCredits(row.cost),
    upstream_cost: row.upstreamCost === null ? null : formatCredits(row.upstreamCost),
    created_at: isoTime(row.createdAt),
    first_byte_at: isoTimeOrNull(row.firstByteAt),
    finished_at: isoTimeOrNull(row.finishedAt),
    client_ip: row.clientIp,
    upstream_id: row.upstreamId,
    requests: row.requests,
    tags: row.tags === null ? NO_TAGS : (JSON.parse(row.tags) as Tags),
  }
}
