// Webhooks in SQL as operators change them: each change is one transaction with its audit event, which contains no URL, since the
// URL of an endpoint may be a secret.
import { PREVIOUS_SECRETS_MAX, type Webhook, type WebhookControls } from '../../../domain/webhook.ts'
import type { Actor } from '../../contract/operator.ts'
import type { DeliveryFilter, NewWebhook, ResendFault, Webhooks } from '../../contract/webhooks.ts'
import { conditions } from '../conditions.ts'
import { appendEvent } from '../events.ts'
import { int, type Param, page, type Sql, type Tx, text } from '../sql.ts'
import { cancelSome } from './disable.ts'
import {
  DELIVERIES,
  DELIVERY_COLUMNS,
  insertDeliveries,
  isTrue,
  readDelivery,
  readWebhook,
  secretList,
  WEBHOOK_COLUMNS,
} from './rows.ts'

export function sqlWebhooks(sql: Sql): Webhooks {
  return {
    create: (input, max, actor) => sql.transaction(tx => create(tx, input, max, actor), 'webhooks'),
    get: id => read(sql, id),

    async list({ limit, after }) {
      const asked = conditions()
      asked.add('id < ?', after)
      const rows = await sql.all(
        `SELECT ${WEBHOOK_COLUMNS} FROM webhook ${asked.where()} ORDER BY id DESC LIMIT ${asked.param(limit + 1)}`,
        asked.params,
      )
      return page(rows, limit, readWebhook)
    },

    update: (id, patch, actor, basedOn) => sql.transaction(tx => update(tx, { id, patch, actor, basedOn })),

    rotateSecret: (id, secret, overlapMs, actor) =>
      sql.transaction(async tx => {
        if (!(await lock(tx, id))) return undefined
        await tx.run(
          `UPDATE webhook SET previous_secret = $1, previous_until = $2, secret = $3, version = version + 1 WHERE id = $4`,
          [secretList(replaced((await read(tx, id))!, tx.now())), tx.now() + overlapMs, secret, id],
        )
        await appendEvent(tx, actor, 'webhook.rotate_secret', id)
        return read(tx, id)
      }),

    async replaceSecrets({ id, secret, previousSecrets }, before) {
      const values = [secret, secretList(previousSecrets), id, before]
      await sql.run('UPDATE webhook SET secret = $1, previous_secret = $2 WHERE id = $3 AND secret = $4', values)
    },

    // Its deliveries are deleted later, a few at a time.
    remove: (id, actor) =>
      sql.transaction(async tx => {
        const isGone = (await tx.run('DELETE FROM webhook WHERE id = $1', [id])) > 0
        if (isGone) await appendEvent(tx, actor, 'webhook.delete', id)
        return isGone
      }),

    async deliveries(id, filter) {
      return (await read(sql, id)) === undefined ? undefined : listDeliveries(sql, id, filter)
    },

    resend: (id, deliveryId, actor) => sql.transaction(tx => resend(tx, id, deliveryId, actor), 'webhooks'),
  }
}

async function read(from: Pick<Sql, 'get'>, id: string): Promise<Webhook | undefined> {
  const row = await from.get(`SELECT ${WEBHOOK_COLUMNS} FROM webhook WHERE id = $1`, [id])
  return row === undefined ? undefined : readWebhook(row)
}

// Of two rotations soon after each other the endpoint may not have heard: what signed before both still signs.
function replaced({ secret, previousSecrets, previousUntil }: Webhook, now: number): readonly string[] {
  const before = (previousUntil ?? 0) > now ? previousSecrets : []
  return [secret, ...before].slice(0, PREVIOUS_SECRETS_MAX)
}

// Until the transaction ends; false if there is no such webhook.
async function lock(tx: Tx, id: string): Promise<boolean> {
  return (await tx.run('UPDATE webhook SET version = version WHERE id = $1', [id])) > 0
}

async function create(tx: Tx, input: NewWebhook, max: number, actor: Actor) {
  const { id, secret, ...controls } = input
  if (await lacksAccount(tx, controls)) return 'no_account'
  if (int((await tx.get('SELECT COUNT(*) AS count FROM webhook'))?.count) >= max) return 'too_many'
  const columns = [['id', id], ['secret', secret], ['created_at', tx.now()], ...columnsOf(controls)] as const
  await tx.run(
    `INSERT INTO webhook (${columns.map(([name]) => name).join(', ')}) VALUES (${columns.map((_, i) => `$${i + 1}`).join(', ')})`,
    columns.map(([, value]) => value),
  )
  await appendEvent(tx, actor, 'webhook.create', id, told(controls))
  return (await read(tx, id))!
}

type Update = {
  readonly id: string
  readonly patch: Partial<WebhookControls>
  readonly actor: Actor
  readonly basedOn: number | undefined
}

async function update(tx: Tx, { id, patch, actor, basedOn }: Update) {
  if (!(await lock(tx, id))) return undefined
  const before = (await read(tx, id))!
  if (basedOn !== undefined && basedOn !== before.version) return 'changed'
  if (await lacksAccount(tx, patch)) return 'no_account'
  const columns = columnsOf(patch)
  if (columns.length === 0) return before
  await tx.run(
    `UPDATE webhook SET ${columns.map(([name], i) => `${name} = $${i + 2}`).join(', ')}, version = version + 1 WHERE id = $1`,
    [id, ...columns.map(([, value]) => value)],
  )
  // Another address, or a deliberate start, is tried at once and has all of its time.
  if (patch.url !== undefined || patch.enabled === true)
    await tx.run('UPDATE webhook SET retry_at = NULL, failing_since = NULL WHERE id = $1', [id])
  if (patch.enabled !== undefined && patch.enabled !== before.enabled) await turn(tx, id, patch.enabled)
  await appendEvent(tx, actor, 'webhook.update', id, told(patch))
  return read(tx, id)
}

// What waited when it was disabled is not sent when it is enabled again.
async function turn(tx: Tx, id: string, enabled: boolean): Promise<void> {
  if (!enabled) {
    await tx.run('UPDATE webhook SET disabled_at = $1, owner = NULL, leased_until = NULL WHERE id = $2', [tx.now(), id])
    await cancelSome(tx, id, '~')
    return
  }
  const last = await tx.get('SELECT id FROM webhook_delivery WHERE webhook_id = $1 ORDER BY id DESC LIMIT 1', [id])
  await tx.run('UPDATE webhook SET disabled_at = NULL, disabled_reason = NULL, resumed_after = $1 WHERE id = $2', [
    last === undefined ? '' : text(last.id),
    id,
  ])
}

async function lacksAccount(tx: Tx, { accountId }: Partial<WebhookControls>): Promise<boolean> {
  if (accountId === undefined || accountId === null) return false
  return (await tx.get('SELECT id FROM account WHERE id = $1', [accountId])) === undefined
}

function columnsOf(controls: Partial<WebhookControls>): readonly (readonly [string, Param])[] {
  const columns: readonly (readonly [string, Param | undefined])[] = [
    ['url', controls.url],
    ['events', controls.events && JSON.stringify(controls.events)],
    ['account_id', controls.accountId],
    ['description', controls.description],
    ['format', controls.format],
    ['enabled', controls.enabled === undefined ? undefined : isTrue(controls.enabled)],
  ]
  return columns.filter((column): column is readonly [string, Param] => column[1] !== undefined)
}

function told({ url, ...controls }: Partial<WebhookControls>): Readonly<Record<string, unknown>> {
  return { ...controls, ...(url === undefined ? {} : { host: URL.parse(url)?.host }) }
}

async function listDeliveries(sql: Sql, id: string, { limit, after, status }: DeliveryFilter) {
  const asked = conditions()
  asked.add('d.webhook_id = ?', id)
  asked.add('d.id < ?', after)
  asked.add('d.status = ?', status)
  const rows = await sql.all(
    `SELECT ${DELIVERY_COLUMNS} FROM ${DELIVERIES} ${asked.where()} ORDER BY d.id DESC LIMIT ${asked.param(limit + 1)}`,
    asked.params,
  )
  return page(rows, limit, readDelivery)
}

async function resend(tx: Tx, id: string, deliveryId: string, actor: Actor) {
  const before = await readOne(tx, id, deliveryId)
  const webhook = await read(tx, id)
  if (before === undefined || webhook === undefined) return undefined
  if (!webhook.enabled) return 'disabled' satisfies ResendFault
  if (before.status === 'pending') return 'waiting' satisfies ResendFault
  if (before.event === null) return 'event_gone' satisfies ResendFault
  const [made = ''] = await insertDeliveries(tx, [{ webhookId: id, eventId: before.eventId }])
  await appendEvent(tx, actor, 'webhook.resend', id, { delivery: deliveryId })
  return (await readOne(tx, id, made))!
}

async function readOne(tx: Tx, id: string, deliveryId: string) {
  const row = await tx.get(`SELECT ${DELIVERY_COLUMNS} FROM ${DELIVERIES} WHERE d.id = $1 AND d.webhook_id = $2`, [
    deliveryId,
    id,
  ])
  return row === undefined ? undefined : readDelivery(row)
}
