// Webhooks and deliveries as operators see them, with the API's field names.
import type { EventType } from '../domain/events.ts'
import type { Role } from '../domain/operator.ts'
import type { DeliveryStatus, Webhook, WebhookDelivery, WebhookFormat } from '../domain/webhook.ts'
import { isoTime, isoTimeOrNull } from '../domain/wire-time.ts'

export type WebhookObject = {
  readonly object: 'webhook'
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly account_id: string | null
  readonly description: string
  readonly format: WebhookFormat
  readonly enabled: boolean
  readonly disabled_at: string | null
  readonly disabled_reason: string | null
  readonly failing_since: string | null
  readonly next_attempt_at: string | null
  readonly previous_secret_expires_at: string | null
  readonly version: number
  readonly created_at: string
}
// The only responses that contain a secret: of a creation and of a rotation.
export type WebhookWithSecret = WebhookObject & { readonly secret: string }

export function webhookObject(webhook: Webhook, role: Role): WebhookObject {
  return {
    object: 'webhook',
    id: webhook.id,
    url: role === 'viewer' ? `${new URL(webhook.url).origin}/…` : webhook.url,
    events: webhook.events,
    account_id: webhook.accountId,
    description: webhook.description,
    format: webhook.format,
    enabled: webhook.enabled,
    disabled_at: isoTimeOrNull(webhook.disabledAt),
    disabled_reason: webhook.disabledReason,
    failing_since: isoTimeOrNull(webhook.failingSince),
    next_attempt_at: isoTimeOrNull(webhook.retryAt),
    previous_secret_expires_at: isoTimeOrNull(webhook.previousUntil),
    version: webhook.version,
    created_at: isoTime(webhook.createdAt),
  }
}

export type DeliveryObject = {
  readonly object: 'webhook_delivery'
  readonly id: string
  readonly webhook_id: string
  readonly event_id: string
  readonly type: string | null
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly response_status: number | null
  readonly error: string | null
  readonly created_at: string
  readonly last_attempt_at: string | null
  readonly duration_ms: number | null
  readonly finished_at: string | null
  // Null: no longer stored.
  readonly event: { readonly type: string; readonly timestamp: string; readonly data: unknown } | null
}

export function deliveryObject(delivery: WebhookDelivery): DeliveryObject {
  const { event } = delivery
  return {
    object: 'webhook_delivery',
    id: delivery.id,
    webhook_id: delivery.webhookId,
    event_id: delivery.eventId,
    type: event?.type ?? null,
    status: delivery.status,
    attempts: delivery.attempts,
    response_status: delivery.responseStatus,
    error: delivery.error,
    created_at: isoTime(delivery.createdAt),
    last_attempt_at: isoTimeOrNull(delivery.attemptedAt),
    duration_ms: delivery.durationMs,
    finished_at: isoTimeOrNull(delivery.finishedAt),
    event: event && { type: event.type, timestamp: isoTime(event.createdAt), data: JSON.parse(event.data) as unknown },
  }
}

export type TestResult = {
  readonly object: 'webhook_test'
  readonly type: EventType
  readonly delivered: boolean
  readonly response_status: number | null
  readonly error: string | null
  readonly duration_ms: number
}
