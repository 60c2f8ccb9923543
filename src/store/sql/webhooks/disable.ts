// Ends deliveries to an endpoint that does not answer any more: an event tells about it, and what waits is canceled.
import type { Webhook } from '../../../domain/webhook.ts'
import { isoTimeOrNull } from '../../../domain/wire-time.ts'
import { appendEvent, SYSTEM } from '../events.ts'
import { emit } from '../outbox.ts'
import type { Tx } from '../sql.ts'

const CANCELED_AT_ONCE_MAX = 500

export async function disable(tx: Tx, webhook: Webhook, failingSince: number | null, reason: string): Promise<void> {
  await tx.run(
    `UPDATE webhook SET enabled = 0, disabled_at = $1, disabled_reason = $2, retry_at = NULL, owner = NULL,
       leased_until = NULL, version = version + 1 WHERE id = $3`,
    [tx.now(), reason, webhook.id],
  )
  await cancelSome(tx, webhook.id, '~')
  const host = URL.parse(webhook.url)?.host ?? ''
  await appendEvent(tx, SYSTEM, 'webhook.disable', webhook.id, { host, reason })
  await emit(tx, {
    type: 'webhook.disabled',
    accountId: webhook.accountId,
    once: null,
    data: { webhook_id: webhook.id, host, reason, failing_since: isoTimeOrNull(failingSince) },
  })
}

// Deliveries up to this id. Returns whether there may be more.
export async function cancelSome(tx: Pick<Tx, 'run' | 'now'>, webhookId: string, upTo: string): Promise<boolean> {
  const canceled = await tx.run(
    `UPDATE webhook_delivery SET status = 'canceled', finished_at = $1 WHERE id IN (
       SELECT id FROM webhook_delivery WHERE webhook_id = $2 AND status = 'pending' AND id <= $3
       ORDER BY id LIMIT ${CANCELED_AT_ONCE_MAX})`,
    [tx.now(), webhookId, upTo],
  )
  return canceled === CANCELED_AT_ONCE_MAX
}
