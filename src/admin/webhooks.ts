// Admin operations on webhooks. A secret is shown once, when it is made. The URL of an endpoint may be a secret too (Slack's are),
// so that viewers see its host only.
import { EVENT_SAMPLES } from '../domain/event-samples.ts'
import { type EventType, typesOf } from '../domain/events.ts'
import type { Role } from '../domain/operator.ts'
import { SECRET_OVERLAP_MS, type Webhook, type WebhookControls, type WebhookFormat } from '../domain/webhook.ts'
import type { Actor, Page } from '../store/contract/operator.ts'
import type { DeliveryFilter, ResendFault, Webhooks } from '../store/contract/webhooks.ts'
import { conflict, type List, listOf, noAccount, readIfMatch, unknown, versionMismatch, wrong } from './input.ts'
import {
  type DeliveryObject,
  deliveryObject,
  type TestResult,
  type WebhookObject,
  type WebhookWithSecret,
  webhookObject,
} from './webhook-wire.ts'

export const WEBHOOK_URL_MAX = 2048
export const DESCRIPTION_MAX = 200

export type WebhookChange = {
  readonly url?: string
  readonly events?: readonly string[]
  readonly account_id?: string | null
  readonly description?: string
  readonly format?: WebhookFormat
  readonly enabled?: boolean
}
export type WebhookInput = WebhookChange & { readonly url: string; readonly events: readonly string[] }

export type WebhookMethods = {
  create(input: WebhookInput, actor: Actor): Promise<WebhookWithSecret>
  get(id: string, role: Role): Promise<WebhookObject>
  list(page: Page, role: Role): Promise<List<WebhookObject>>
  update(id: string, change: WebhookChange, ifMatch: string | undefined, actor: Actor): Promise<WebhookObject>
  remove(id: string, actor: Actor): Promise<void>
  rotateSecret(id: string, actor: Actor): Promise<WebhookWithSecret>
  deliveries(id: string, filter: DeliveryFilter): Promise<List<DeliveryObject>>
  resend(id: string, deliveryId: string, actor: Actor): Promise<DeliveryObject>
  test(id: string, type: EventType | undefined): Promise<TestResult>
}

export type WebhookNeeds = {
  readonly webhooks: Webhooks
  readonly webhooksMax: number
  // A UUIDv7 with dashes.
  newId(): string
  newSecret(): string
  encrypt(secret: string, webhookId: string): string
  // Refuses an address that may not be called.
  checkAddress(url: string, param: string): Promise<void>
  sendSample(
    webhook: Webhook,
    sample: { readonly id: string; readonly type: string; readonly data: string },
  ): Promise<{ readonly status: number | null; readonly error: string | null; readonly durationMs: number }>
  // There may be something to send.
  wake(): void
}

const SAMPLES_AT_ONCE_MAX = 4

export function webhookMethods(needs: WebhookNeeds): WebhookMethods {
  const { webhooks, webhooksMax } = needs
  let samples = 0

  async function readControls(change: WebhookChange): Promise<Partial<WebhookControls>> {
    return {
      ...(change.url === undefined ? {} : { url: await readUrl(change.url, needs) }),
      ...(change.events === undefined ? {} : { events: readPatterns(change.events) }),
      ...(change.account_id === undefined ? {} : { accountId: change.account_id }),
      ...(change.description === undefined ? {} : { description: readDescription(change.description) }),
      ...(change.format === undefined ? {} : { format: change.format }),
      ...(change.enabled === undefined ? {} : { enabled: change.enabled }),
    }
  }

  return {
    async create(input, actor) {
      const id = `wh_${needs.newId().replaceAll('-', '')}`
      const secret = needs.newSecret()
      const given = await readControls(input)
      const webhook = await webhooks.create(
        { ...DEFAULTS, ...given, id, secret: needs.encrypt(secret, id) } as Parameters<Webhooks['create']>[0],
        webhooksMax,
        actor,
      )
      if (webhook === 'too_many') throw conflict(`The maximum number of webhooks (${webhooksMax}) is reached.`)
      if (webhook === 'no_account') throw noAccount()
      return { ...webhookObject(webhook, 'admin'), secret }
    },

    async get(id, role) {
      return webhookObject(found(await webhooks.get(id)), role)
    },

    async list(page, role) {
      return listOf(await webhooks.list(page), webhook => webhookObject(webhook, role))
    },

    async update(id, change, ifMatch, actor) {
      const patch = await readControls(change)
      const webhook = await webhooks.update(id, patch, actor, readIfMatch(ifMatch))
      if (webhook === 'changed') throw versionMismatch('webhook', id)
      if (webhook === 'no_account') throw noAccount()
      needs.wake()
      return webhookObject(found(webhook), 'admin')
    },

    async remove(id, actor) {
      if (!(await webhooks.remove(id, actor))) throw unknown('webhook')
    },

    async rotateSecret(id, actor) {
      const secret = needs.newSecret()
      const webhook = await webhooks.rotateSecret(id, needs.encrypt(secret, id), SECRET_OVERLAP_MS, actor)
      return { ...webhookObject(found(webhook), 'admin'), secret }
    },

    async deliveries(id, filter) {
      const page = await webhooks.deliveries(id, filter)
      if (page === undefined) throw unknown('webhook')
      return listOf(page, deliveryObject)
    },

    async resend(id, deliveryId, actor) {
      const made = await webhooks.resend(id, deliveryId, actor)
      if (made === undefined) throw unknown('delivery')
      if (typeof made === 'string') throw conflict(RESEND_FAULTS[made])
      needs.wake()
      return deliveryObject(made)
    },

    async test(id, type = 'webhook.test') {
      const webhook = found(await webhooks.get(id))
      if (samples >= SAMPLES_AT_ONCE_MAX) throw conflict('Too many tests are running. Repeat this one in a moment.')
      samples += 1
      try {
        const data = type === 'webhook.test' ? { ...EVENT_SAMPLES[type], webhook_id: id } : EVENT_SAMPLES[type]
        const sample = { id: `evt_test_${needs.newId()}`, type, data: JSON.stringify(data) }
        const { status, error, durationMs } = await needs.sendSample(webhook, sample)
        return {
          object: 'webhook_test',
          type,
          delivered: error === null,
          response_status: status,
          error,
          duration_ms: durationMs,
        }
      } finally {
        samples -= 1
      }
    },
  }
}

const DEFAULTS = { accountId: null, description: '', format: 'standard', enabled: true } as const

const RESEND_FAULTS: Readonly<Record<ResendFault, string>> = {
  disabled: 'The webhook is disabled. Enable it before sending a delivery again.',
  waiting: 'This delivery is still waiting to be sent.',
  event_gone: 'The event of this delivery is no longer stored.',
}

async function readUrl(text: string, { checkAddress }: WebhookNeeds): Promise<string> {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.href.length > WEBHOOK_URL_MAX || /[\p{Cc}\s]/u.test(text))
    throw wrong('url', `an https:// or http:// URL of at most ${WEBHOOK_URL_MAX} characters`)
  if (url.username !== '' || url.password !== '') throw wrong('url', 'a URL without user and password')
  url.hash = ''
  await checkAddress(url.href, 'url')
  return url.href
}

function readPatterns(patterns: readonly string[]): readonly string[] {
  for (const [i, pattern] of patterns.entries()) {
    if (typesOf([pattern]).length === 0)
      throw wrong(`events.${i}`, 'a type of event such as key.revoked, a group such as key.*, or *')
  }
  return [...new Set(patterns)]
}

function readDescription(text: string): string {
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) throw wrong('description', 'no control characters')
  return text
}

function found(webhook: Webhook | undefined): Webhook {
  if (webhook === undefined) throw unknown('webhook')
  return webhook
}
