// The queue of webhooks in SQL: events become deliveries, endpoints are leased to one node at a time, and results are stored. See
// docs/decisions/webhooks.md.
import { type EventType, typesOf } from '../../../domain/events.ts'
import type { Webhook } from '../../../domain/webhook.ts'
import type {
  Attempt,
  ClaimAsk,
  Claimed,
  DeliveryReport,
  WaitingDelivery,
  WebhookQueue,
} from '../../contract/webhooks.ts'
import { int, intOrNull, type Row, type Sql, type Tx, text, textOrNull } from '../sql.ts'
import { disable } from './disable.ts'
import {
  DELIVERIES,
  DELIVERY_COLUMNS,
  inChunks,
  insertDeliveries,
  type NewDelivery,
  readDelivery,
  readWebhook,
  WEBHOOK_COLUMNS,
} from './rows.ts'
import { tidyWebhooks } from './tidy.ts'

// How soon an endpoint is looked at again that another node is delivering to: its lease may end any moment.
const LEASED_ELSEWHERE_MS = 500
// No endpoint is left alone for longer, whatever it asks for.
const RETRY_MS_MAX = 3_600_000
// Time alone disables no endpoint: a clock may jump by days.
const GIVE_UP_ATTEMPTS_MIN = 10

export function sqlWebhookQueue(sql: Sql): WebhookQueue {
  return {
    async fanOut(eventsMax) {
      if ((await sql.get('SELECT 1 AS one FROM outbox WHERE fanned_out = 0 LIMIT 1')) === undefined) return 0
      // One node at a time: two would mix the order.
      return sql.transaction(tx => fanOut(tx, eventsMax), 'webhooks')
    },
    claim: ask => claim(sql, ask),
    report: report => sql.transaction(tx => book(tx, report)),
    async release(webhookId, owner) {
      await sql.run(`${RELEASE} WHERE id = $1 AND owner = $2`, [webhookId, owner])
    },
    tidy: bounds => tidyWebhooks(sql, bounds),
  }
}

const RELEASE = 'UPDATE webhook SET owner = NULL, leased_until = NULL'

// By whether they have been fanned out, not by their ids: the transaction of an earlier event may commit after that of a later one.
async function fanOut(tx: Tx, eventsMax: number): Promise<number> {
  const events = await tx.all('SELECT id, type, account_id FROM outbox WHERE fanned_out = 0 ORDER BY id LIMIT $1', [
    eventsMax,
  ])
  const rows = await tx.all('SELECT id, events, account_id FROM webhook WHERE enabled = 1 ORDER BY id')
  const webhooks = rows.map(row => ({
    id: text(row.id),
    accountId: textOrNull(row.account_id),
    types: new Set<string>(typesOf(JSON.parse(text(row.events)) as string[]) satisfies readonly EventType[]),
  }))
  const deliveries: NewDelivery[] = []
  for (const event of events) {
    for (const { id, accountId, types } of webhooks) {
      const isMeant = types.has(text(event.type)) && (accountId === null || accountId === event.account_id)
      if (isMeant) deliveries.push({ webhookId: id, eventId: text(event.id) })
    }
  }
  if (deliveries.length > 0) await insertDeliveries(tx, deliveries)
  await inChunks(
    events.map(row => text(row.id)),
    async ids => {
      await tx.run(`UPDATE outbox SET fanned_out = 1 WHERE id IN (${ids.map((_, i) => `$${i + 1}`).join(', ')})`, ids)
    },
  )
  return events.length
}

const WAITS = `enabled = 1 AND EXISTS (SELECT 1 FROM webhook_delivery d
  WHERE d.webhook_id = webhook.id AND d.status = 'pending' AND d.id > webhook.resumed_after)`

async function claim(sql: Sql, { owner, leaseMs, max, except }: ClaimAsk): Promise<Claimed> {
  // There are few, and a page of them costs less than two questions.
  const rows = await sql.all(
    `SELECT id, owner, leased_until, retry_at, CASE WHEN ${WAITS} THEN 1 ELSE 0 END AS waits
     FROM webhook ORDER BY claimed_at, id`,
  )
  const now = sql.now()
  const waits = rows.filter(row => int(row.waits) === 1 && !except.includes(text(row.id)))
  const isFree = (row: Row) => row.owner === null || text(row.owner) === owner || isOver(row.leased_until, leaseMs, now)
  const isDue = (row: Row) => isFree(row) && isOver(row.retry_at, RETRY_MS_MAX, now)
  const soonest = (row: Row) => (isFree(row) ? Math.max(int(row.retry_at) - now, 0) : LEASED_ELSEWHERE_MS)
  const due = waits.filter(isDue).slice(0, max)
  const later = waits.filter(row => !due.includes(row)).map(soonest)
  const webhooks: Webhook[] = []
  if (due.length > 0) {
    await sql.transaction(async tx => {
      webhooks.length = 0
      for (const row of due) webhooks.push(...(await lease(tx, text(row.id), owner, leaseMs)))
    })
  }
  if (webhooks.length < due.length) later.push(LEASED_ELSEWHERE_MS)
  return { webhooks, againInMs: later.length === 0 ? null : Math.min(...later), count: rows.length }
}

// A time further ahead than it can have been set was set by a wrong clock.
function isOver(until: Row[string] | undefined, msMax: number, now: number): boolean {
  return until === null || int(until) <= now || int(until) > now + 2 * msMax
}

// Of two nodes that try, the second finds it leased.
async function lease(tx: Tx, id: string, owner: string, leaseMs: number): Promise<readonly Webhook[]> {
  const rows = await tx.all(
    `UPDATE webhook SET owner = $1, leased_until = $2, claimed_at = $3 WHERE id = $4 AND enabled = 1
       AND (owner IS NULL OR owner = $1 OR leased_until <= $3 OR leased_until > $5)
       AND (retry_at IS NULL OR retry_at <= $3 OR retry_at > $6)
     RETURNING ${WEBHOOK_COLUMNS}`,
    [owner, tx.now() + leaseMs, tx.now(), id, tx.now() + 2 * leaseMs, tx.now() + 2 * RETRY_MS_MAX],
  )
  return rows.map(readWebhook)
}

// The row of the webhook is locked first. What was sent is stored even if the lease was lost meanwhile.
async function book(tx: Tx, report: DeliveryReport): Promise<readonly WaitingDelivery[]> {
  const { webhookId: id, owner, leaseMs, attempts, nextMax, version } = report
  const row = await tx.get(
    `UPDATE webhook SET leased_until = $1 WHERE id = $2 AND owner = $3 AND enabled = 1
     RETURNING ${WEBHOOK_COLUMNS}, resumed_after`,
    [tx.now() + leaseMs, id, owner],
  )
  const failed = attempts.find(({ error }) => error !== null)
  await bookDelivered(
    tx,
    id,
    attempts.filter(({ error }) => error === null),
  )
  const tries = failed === undefined ? 0 : await bookFailed(tx, id, failed)
  if (row === undefined) return []
  if (int(row.version) !== version) {
    await tx.run(`${RELEASE} WHERE id = $1`, [id])
    return []
  }
  if (failed !== undefined) {
    // Those before it were accepted: it has been failing only from now on.
    const since = attempts.length > 1 ? tx.now() : (intOrNull(row.failing_since) ?? tx.now())
    await bookFailure(tx, readWebhook(row), { deliveryId: failed.deliveryId, tries, since }, report)
    return []
  }
  if (attempts.length > 0 && (row.failing_since !== null || row.retry_at !== null))
    await tx.run('UPDATE webhook SET failing_since = NULL, retry_at = NULL WHERE id = $1', [id])
  const next = nextMax === 0 ? [] : await nextOf(tx, id, text(row.resumed_after), nextMax)
  if (next.length === 0) await tx.run(`${RELEASE} WHERE id = $1`, [id])
  return next
}

// All of them by few statements, since there may be hundreds in a second. What was canceled while it was sent is delivered, too:
// nobody has to send it again.
async function bookDelivered(tx: Tx, webhookId: string, delivered: readonly Attempt[]): Promise<void> {
  await inChunks(delivered, async chunk => {
    const row = (_: Attempt, i: number) =>
      `(CAST($${3 * i + 3} AS TEXT), CAST($${3 * i + 4} AS BIGINT), CAST($${3 * i + 5} AS BIGINT))`
    await tx.run(
      `UPDATE webhook_delivery SET status = 'delivered', attempts = attempts + 1, response_status = v.column2, error = NULL,
         attempted_at = $1, duration_ms = v.column3, finished_at = $1
       FROM (VALUES ${chunk.map(row).join(', ')}) AS v
       WHERE webhook_delivery.id = v.column1 AND webhook_id = $2 AND status IN ('pending', 'canceled')`,
      [
        tx.now(),
        webhookId,
        ...chunk.flatMap(({ deliveryId, responseStatus, durationMs }) => [deliveryId, responseStatus, durationMs]),
      ],
    )
  })
}

// Returns how often it has been tried.
async function bookFailed(tx: Tx, webhookId: string, attempt: Attempt): Promise<number> {
  const { deliveryId, responseStatus, error, durationMs } = attempt
  const row = await tx.get(
    `UPDATE webhook_delivery SET attempts = attempts + 1, response_status = $1, error = $2, attempted_at = $3,
       duration_ms = $4 WHERE id = $5 AND webhook_id = $6 AND status = 'pending' RETURNING attempts`,
    [responseStatus, error, tx.now(), durationMs, deliveryId, webhookId],
  )
  return row === undefined ? 0 : int(row.attempts)
}

async function bookFailure(
  tx: Tx,
  webhook: Webhook,
  { deliveryId, tries, since }: { readonly deliveryId: string; readonly tries: number; readonly since: number },
  { retryInMs, giveUpAfterMs, isGone }: DeliveryReport,
): Promise<void> {
  const hasFailedLong = tx.now() - since >= giveUpAfterMs && tries >= GIVE_UP_ATTEMPTS_MIN
  if (isGone || hasFailedLong) {
    const ends = [tx.now(), deliveryId]
    await tx.run(
      `UPDATE webhook_delivery SET status = 'failed', finished_at = $1 WHERE id = $2 AND status = 'pending'`,
      ends,
    )
    await disable(tx, webhook, since, isGone ? 'the endpoint answered 410 Gone' : 'the endpoint failed for too long')
    return
  }
  await tx.run(`${RELEASE}, failing_since = $1, retry_at = $2 WHERE id = $3`, [since, tx.now() + retryInMs, webhook.id])
}

// An event that was deleted cannot be sent.
async function nextOf(tx: Tx, id: string, after: string, max: number): Promise<readonly WaitingDelivery[]> {
  const rows = await tx.all(
    `SELECT ${DELIVERY_COLUMNS} FROM ${DELIVERIES}
     WHERE d.webhook_id = $1 AND d.status = 'pending' AND d.id > $2 ORDER BY d.id LIMIT $3`,
    [id, after, max],
  )
  const next: WaitingDelivery[] = []
  for (const { id: deliveryId, attempts, event } of rows.map(readDelivery)) {
    if (event !== null) next.push({ id: deliveryId, attempts, event })
    else
      await tx.run(`UPDATE webhook_delivery SET status = 'canceled', error = $1, finished_at = $2 WHERE id = $3`, [
        'the event is no longer stored',
        tx.now(),
        deliveryId,
      ])
  }
  // All of them were gone: the next call finds what follows.
  return next
}
