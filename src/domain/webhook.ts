// Webhooks and their deliveries: the nouns, and the rules that the admin API and the store share.

export const WEBHOOK_FORMATS = ['standard', 'slack'] as const
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number]

// For this long deliveries are signed with a replaced secret in addition to the new one.
export const SECRET_OVERLAP_MS = 24 * 60 * 60_000
// Replaced secrets that sign; one more replaces the oldest.
export const PREVIOUS_SECRETS_MAX = 5

// What an operator sets.
export type WebhookControls = {
  readonly url: string
  // Types of events, or patterns such as `key.*` and `*`.
  readonly events: readonly string[]
  // Only events of this account; null: all.
  readonly accountId: string | null
  readonly description: string
  readonly format: WebhookFormat
  readonly enabled: boolean
}

export type Webhook = WebhookControls & {
  readonly id: string
  // Encrypted.
  readonly secret: string
  // Replaced ones, the newest first; until then deliveries are signed with them too.
  readonly previousSecrets: readonly string[]
  readonly previousUntil: number | null
  readonly disabledAt: number | null
  // Why deliveries stopped; null if an operator disabled it.
  readonly disabledReason: string | null
  // Since when every attempt has failed; null: the last one succeeded.
  readonly failingSince: number | null
  // No attempt before this.
  readonly retryAt: number | null
  readonly createdAt: number
  // Incremented with every change by an operator.
  readonly version: number
}

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'canceled'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

// The event of a delivery as it is sent. `data` is JSON.
export type SentEvent = {
  readonly id: string
  readonly type: string
  readonly createdAt: number
  readonly data: string
}

export type WebhookDelivery = {
  readonly id: string
  readonly webhookId: string
  readonly eventId: string
  // Null: no longer stored.
  readonly event: SentEvent | null
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly responseStatus: number | null
  readonly error: string | null
  readonly createdAt: number
  // Of the last attempt.
  readonly attemptedAt: number | null
  readonly durationMs: number | null
  readonly finishedAt: number | null
}
