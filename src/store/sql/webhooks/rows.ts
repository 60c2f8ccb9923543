// Rows of webhooks and deliveries: columns, readers, and ids that sort in the order of delivery.
import { randomUUIDv7 } from 'node:crypto'
import type { DeliveryStatus, Webhook, WebhookDelivery, WebhookFormat } from '../../../domain/webhook.ts'
import { int, intOrNull, type Param, type Row, type Tx, text, textOrNull } from '../sql.ts'
import { timeOfId, timePrefix } from '../time-order.ts'

export const WEBHOOK_COLUMNS = `id, url, events, account_id, description, format, enabled, secret, previous_secret, previous_until,
  disabled_at, disabled_reason, failing_since, retry_at, created_at, version`

export function readWebhook(row: Row): Webhook {
  return {
    id: text(row.id),
    url: text(row.url),
    events: JSON.parse(text(row.events)) as string[],
    accountId: textOrNull(row.account_id),
    description: text(row.description),
    format: text(row.format) as WebhookFormat,
    enabled: int(row.enabled) === 1,
    secret: text(row.secret),
    previousSecrets: textOrNull(row.previous_secret)?.split(' ') ?? [],
    previousUntil: intOrNull(row.previous_until),
    disabledAt: intOrNull(row.disabled_at),
    disabledReason: textOrNull(row.disabled_reason),
    failingSince: intOrNull(row.failing_since),
    retryAt: intOrNull(row.retry_at),
    createdAt: int(row.created_at),
    version: int(row.version),
  }
}

// Deliveries with their events, which may have been deleted.
export const DELIVERIES = 'webhook_delivery d LEFT JOIN outbox o ON o.id = d.event_id'
export const DELIVERY_COLUMNS = `d.id, d.webhook_id, d.event_id, d.status, d.attempts, d.response_status, d.error, d.created_at,
  d.attempted_at, d.duration_ms, d.finished_at, o.type, o.created_at AS event_at, o.data`

export function readDelivery(row: Row): WebhookDelivery {
  const eventId = text(row.event_id)
  const event = { id: eventId, type: text(row.type), createdAt: int(row.event_at), data: text(row.data) }
  return {
    id: text(row.id),
    webhookId: text(row.webhook_id),
    eventId,
    event: row.type === null ? null : event,
    status: text(row.status) as DeliveryStatus,
    attempts: int(row.attempts),
    responseStatus: intOrNull(row.response_status),
    error: textOrNull(row.error),
    createdAt: int(row.created_at),
    attemptedAt: intOrNull(row.attempted_at),
    durationMs: intOrNull(row.duration_ms),
    finishedAt: intOrNull(row.finished_at),
  }
}

export type NewDelivery = { readonly webhookId: string; readonly eventId: string }

// After all that exist, in this order. The caller has made sure that nobody else inserts any. Returns their ids.
export async function insertDeliveries(tx: Tx, deliveries: readonly NewDelivery[]): Promise<readonly string[]> {
  const ids = await idsAfterLast(tx, deliveries.length)
  const rows = deliveries.map(({ webhookId, eventId }, i) => [ids[i] as string, webhookId, eventId, tx.now()])
  await inChunks(rows, async chunk => {
    const values = chunk.map((row, at) => `(${row.map((_, i) => `$${at * row.length + i + 1}`).join(', ')})`)
    await tx.run(
      `INSERT INTO webhook_delivery (id, webhook_id, event_id, created_at) VALUES ${values.join(', ')}`,
      chunk.flat(),
    )
  })
  return ids
}

const PREFIX = 'whd_'
const PER_MS = 0x1000

// Whatever the clock does, they sort after the last one: their bits after the time count on.
async function idsAfterLast(tx: Tx, count: number): Promise<readonly string[]> {
  const last = await tx.get('SELECT id FROM webhook_delivery ORDER BY id DESC LIMIT 1')
  const lastAt = last === undefined ? undefined : timeOfId(text(last.id).slice(PREFIX.length))
  const at = Math.max(tx.now(), (lastAt ?? 0) + 1)
  return Array.from({ length: count }, (_, i) => {
    const within = (i % PER_MS).toString(16).padStart(3, '0')
    return `${PREFIX}${timePrefix(at + Math.floor(i / PER_MS))}-7${within}${randomUUIDv7().slice(18)}`
  })
}

const CHUNKS = [100, 10, 1]

// In chunks of a few sizes, so that there are few different statements.
export async function inChunks<T>(list: readonly T[], work: (chunk: readonly T[]) => Promise<void>): Promise<void> {
  for (let at = 0; at < list.length; ) {
    const size = CHUNKS.find(each => each <= list.length - at) ?? 1
    await work(list.slice(at, at + size))
    at += size
  }
}

// No ciphertext has a space.
export const secretList = (secrets: readonly string[]): Param => (secrets.length === 0 ? null : secrets.join(' '))

export const isTrue = (value: boolean): Param => (value ? 1 : 0)
