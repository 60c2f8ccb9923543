// Housekeeping of webhooks, in bounded steps: old events and deliveries are deleted, deliveries that will not be sent are canceled,
// and an endpoint that fails while too much waits is disabled.
import type { TidyBounds } from '../../contract/webhooks.ts'
import { int, type Row, type Sql, text } from '../sql.ts'
import { timePrefix } from '../time-order.ts'
import { cancelSome, disable } from './disable.ts'
import { readWebhook, WEBHOOK_COLUMNS } from './rows.ts'

const DELETED_AT_ONCE_MAX = 500
// Webhooks that were deleted with deliveries left, per run.
const DELETED_WEBHOOKS_MAX = 100

export async function tidyWebhooks(sql: Sql, bounds: TidyBounds): Promise<boolean> {
  const webhooks = await sql.all(`SELECT ${WEBHOOK_COLUMNS}, resumed_after FROM webhook`)
  const steps: boolean[] = []
  for (const row of webhooks) {
    steps.push(await cancelSome(sql, text(row.id), int(row.enabled) === 1 ? text(row.resumed_after) : '~'))
    steps.push(await dropBeyond(sql, text(row.id), bounds.deliveriesPerWebhookMax))
    if (row.failing_since !== null && int(row.enabled) === 1) await disableIfTooMany(sql, row, bounds)
  }
  steps.push(await dropOldDeliveries(sql, bounds.now - bounds.deliveriesKeptMs))
  steps.push(await dropOfDeleted(sql, new Set(webhooks.map(row => text(row.id)))))
  steps.push(await dropOldEvents(sql, bounds.now - bounds.eventsKeptMs))
  await sql.run('DELETE FROM alarm WHERE raised_at < $1', [bounds.now - bounds.eventsKeptMs])
  return steps.includes(true)
}

async function dropBeyond(sql: Sql, webhookId: string, max: number): Promise<boolean> {
  const last = await sql.get(
    'SELECT id FROM webhook_delivery WHERE webhook_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2',
    [webhookId, max],
  )
  if (last === undefined) return false
  return deleted(sql, `webhook_id = $1 AND id <= $2 AND status <> 'pending'`, [webhookId, text(last.id)])
}

function dropOldDeliveries(sql: Sql, before: number): Promise<boolean> {
  return deleted(sql, `id < $1 AND status <> 'pending'`, [`whd_${timePrefix(before)}`])
}

// The ids of webhooks that have deliveries, each found by one look into the index.
async function dropOfDeleted(sql: Sql, known: ReadonlySet<string>): Promise<boolean> {
  let at = ''
  for (let seen = 0; seen < known.size + DELETED_WEBHOOKS_MAX; seen++) {
    const row = await sql.get(
      'SELECT webhook_id FROM webhook_delivery WHERE webhook_id > $1 ORDER BY webhook_id LIMIT 1',
      [at],
    )
    if (row === undefined) return false
    at = text(row.webhook_id)
    if (!known.has(at) && (await isStillGone(sql, at)) && (await deleted(sql, 'webhook_id = $1', [at]))) return true
  }
  return true
}

// It may have been created after the list was read.
async function isStillGone(sql: Sql, id: string): Promise<boolean> {
  return (await sql.get('SELECT id FROM webhook WHERE id = $1', [id])) === undefined
}

async function deleted(sql: Sql, where: string, params: readonly string[]): Promise<boolean> {
  const count = await sql.run(
    `DELETE FROM webhook_delivery WHERE id IN (
       SELECT id FROM webhook_delivery WHERE ${where} ORDER BY id LIMIT ${DELETED_AT_ONCE_MAX})`,
    params,
  )
  return count === DELETED_AT_ONCE_MAX
}

async function dropOldEvents(sql: Sql, before: number): Promise<boolean> {
  const count = await sql.run(
    `DELETE FROM outbox WHERE id IN (
       SELECT id FROM outbox WHERE id < $1 AND fanned_out = 1 ORDER BY id LIMIT ${DELETED_AT_ONCE_MAX})`,
    [`evt_${timePrefix(before)}`],
  )
  return count === DELETED_AT_ONCE_MAX
}

async function disableIfTooMany(sql: Sql, row: Row, { waitingPerWebhookMax }: TidyBounds): Promise<void> {
  const id = text(row.id)
  const beyond = await sql.get(
    `SELECT id FROM webhook_delivery WHERE webhook_id = $1 AND status = 'pending' ORDER BY id LIMIT 1 OFFSET $2`,
    [id, waitingPerWebhookMax],
  )
  if (beyond === undefined) return
  await sql.transaction(async tx => {
    const locked = await tx.get(
      `UPDATE webhook SET version = version WHERE id = $1 AND enabled = 1 RETURNING ${WEBHOOK_COLUMNS}`,
      [id],
    )
    if (locked === undefined) return
    const webhook = readWebhook(locked)
    const reason = `more than ${waitingPerWebhookMax} events are waiting`
    await disable(tx, webhook, webhook.failingSince, reason)
  })
}
