// What every store guarantees for webhooks: operators' changes, the queue that delivers each event at least once and in order per
// endpoint, whichever node does it, and alarms that are raised once per installation.
import type { DeliveryStatus, SentEvent, Webhook, WebhookControls, WebhookDelivery } from '../../domain/webhook.ts'
import type { Actor, Page, Paged } from './operator.ts'

// Changes return `undefined` for an unknown id, or a code for the rule that they would break.
export type Webhooks = {
  create(input: NewWebhook, max: number, actor: Actor): Promise<Webhook | 'no_account' | 'too_many'>
  get(id: string): Promise<Webhook | undefined>
  list(page: Page): Promise<Paged<Webhook>>
  // With an outdated version: `changed`. Disabling cancels what waits.
  update(
    id: string,
    patch: Partial<WebhookControls>,
    actor: Actor,
    basedOn?: number,
  ): Promise<Webhook | 'no_account' | 'changed' | undefined>
  // The replaced secret, and those replaced before that are still in use, stay until that time from now.
  rotateSecret(id: string, secret: string, overlapMs: number, actor: Actor): Promise<Webhook | undefined>
  // The same secrets under another key, unless they have changed meanwhile.
  replaceSecrets(webhook: Pick<Webhook, 'id' | 'secret' | 'previousSecrets'>, before: string): Promise<void>
  remove(id: string, actor: Actor): Promise<boolean>
  // Newest first; undefined if there is no such webhook.
  deliveries(id: string, filter: DeliveryFilter): Promise<Paged<WebhookDelivery> | undefined>
  // A new delivery of the same event, after all others that wait.
  resend(id: string, deliveryId: string, actor: Actor): Promise<WebhookDelivery | ResendFault | undefined>
}

export type NewWebhook = WebhookControls & { readonly id: string; readonly secret: string }
export type DeliveryFilter = Page & { readonly status?: DeliveryStatus | undefined }
export type ResendFault = 'disabled' | 'waiting' | 'event_gone'

export type WebhookQueue = {
  // Creates the deliveries of events that wait, oldest first, at most that many. Returns how many events it took.
  fanOut(eventsMax: number): Promise<number>
  // Endpoints with something to send now, leased to this owner until it has not reported for `leaseMs`.
  claim(ask: ClaimAsk): Promise<Claimed>
  // Stores the results of attempts, renews the lease and returns what comes next. With nothing next, the lease is released.
  report(report: DeliveryReport): Promise<readonly WaitingDelivery[]>
  // Other owners may have it at once.
  release(webhookId: string, owner: string): Promise<void>
  // Deletes old events and deliveries and cancels those that will not be sent, a few at a time. Returns whether there is more.
  tidy(bounds: TidyBounds): Promise<boolean>
}

export type ClaimAsk = {
  readonly owner: string
  readonly leaseMs: number
  readonly max: number
  // Claimed before and not released.
  readonly except: readonly string[]
}
export type Claimed = {
  readonly webhooks: readonly Webhook[]
  // When to ask again: something is due then, or is leased by another owner. Null: nothing waits.
  readonly againInMs: number | null
  // How many webhooks there are.
  readonly count: number
}

export type WaitingDelivery = {
  readonly id: string
  readonly attempts: number
  readonly event: SentEvent
}

export type Attempt = {
  readonly deliveryId: string
  readonly responseStatus: number | null
  // Null: delivered.
  readonly error: string | null
  readonly durationMs: number
}

export type DeliveryReport = {
  readonly webhookId: string
  // Of the webhook as it was claimed. If an operator has changed it since, a failure is not its fault, and it is claimed again.
  readonly version: number
  readonly owner: string
  readonly leaseMs: number
  // In order; only the last can have failed.
  readonly attempts: readonly Attempt[]
  // What follows a failure.
  readonly retryInMs: number
  readonly giveUpAfterMs: number
  // The endpoint is gone: it is disabled at once.
  readonly isGone: boolean
  // 0: the lease is released.
  readonly nextMax: number
}

export type TidyBounds = {
  // The time by which old events and deliveries are deleted.
  readonly now: number
  readonly eventsKeptMs: number
  readonly deliveriesKeptMs: number
  readonly deliveriesPerWebhookMax: number
  readonly waitingPerWebhookMax: number
}

// A state that is announced when it begins, by whichever node sees it first.
export type Alarm =
  | { readonly kind: 'provider'; readonly providerId: string; readonly targets: number }
  | { readonly kind: 'credential'; readonly providerId: string; readonly credential: string }

export type Alarms = {
  // Raises its event unless it is on already; one that has been on for a day counts as over. Returns whether it was raised.
  begin(alarm: Alarm): Promise<boolean>
  // Turns it off; a provider that was announced as unavailable has recovered.
  end(alarm: Alarm): Promise<boolean>
  // The providers that were announced as unavailable.
  unavailableProviders(): Promise<readonly string[]>
}
