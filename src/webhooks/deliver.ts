// Delivers to one endpoint, one event after the other: the next waits for the one before. Results are stored in small batches, so
// that a crash repeats at most those of one batch.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Webhook } from '../domain/webhook.ts'
import type { Failpoint } from '../lib/failpoint.ts'
import type { Attempt, DeliveryReport, WaitingDelivery, WebhookQueue } from '../store/contract/webhooks.ts'
import { messageOf } from './message.ts'
import type { WebhookSecrets } from './secrets.ts'
import { type Endpoint, type Outcome, openEndpoint, type SendNeeds } from './send.ts'
import { signedHeaders } from './signature.ts'

export type DeliverNeeds = SendNeeds & {
  readonly owner: string
  readonly queue: Pick<WebhookQueue, 'report' | 'release'>
  readonly secrets: Pick<WebhookSecrets, 'read'>
  readonly random: () => number
  readonly bounds: SendNeeds['bounds'] & {
    readonly webhookLeaseMs: number
    readonly webhookRetryMsMin: number
    readonly webhookRetryMsMax: number
    readonly webhookRetriedForMs: number
  }
  readonly failpoint: Failpoint | undefined
  readonly onAttempt: (webhook: Webhook, outcome: Outcome) => void
}

const BATCH_MAX = 50
// However slow the endpoint is, the lease is renewed and results are stored this often, between two exchanges.
const REPORTED_EVERY_MS = 1000
// Then others have their turn.
const TURN_MS = 1000
const REPORT_TRIES_MAX = 10
const REPORT_PAUSE_MS = 500

// `finish`: after the exchange under way. `stop`: at once.
export type Delivery = { readonly done: Promise<void>; finish(): void; stop(): Promise<void> }

export function deliverTo(webhook: Webhook, needs: DeliverNeeds): Delivery {
  const endpoint = openEndpoint(webhook.url, needs)
  let isStopping = false

  async function run(): Promise<void> {
    const startedMs = needs.clock.monotonic()
    try {
      let batch = await report(webhook, [], BATCH_MAX, needs)
      while (batch.length > 0) {
        const sent = await sendSome(batch)
        const isOver = isStopping || needs.clock.monotonic() - startedMs > TURN_MS
        batch = await report(webhook, sent, isOver ? 0 : BATCH_MAX, needs)
        await needs.failpoint?.('webhook_after_report')
      }
    } finally {
      await endpoint.close()
    }
  }

  async function sendSome(batch: readonly WaitingDelivery[]): Promise<readonly Sent[]> {
    const sent: Sent[] = []
    const startedMs = needs.clock.monotonic()
    for (const delivery of batch) {
      if (isStopping || needs.clock.monotonic() - startedMs > REPORTED_EVERY_MS) break
      await needs.failpoint?.('webhook_before_send')
      const outcome = await sendOne(webhook, delivery, endpoint, needs)
      await needs.failpoint?.('webhook_after_send')
      if (outcome.isAborted) break
      needs.onAttempt(webhook, outcome)
      sent.push({ delivery, outcome })
      if (outcome.error !== null) break
    }
    return sent
  }

  return {
    done: run(),
    finish() {
      isStopping = true
    },
    async stop() {
      isStopping = true
      await endpoint.close()
    },
  }
}

type Sent = { readonly delivery: WaitingDelivery; readonly outcome: Outcome }

// Also for a sample.
export async function sendOne(
  webhook: Webhook,
  { id, event }: Pick<WaitingDelivery, 'id' | 'event'>,
  endpoint: Endpoint,
  { secrets, clock }: Pick<DeliverNeeds, 'secrets' | 'clock'>,
): Promise<Outcome> {
  const keys = secrets.read(webhook, clock.now())
  if (keys === undefined) return UNSIGNED
  const body = messageOf(event, webhook.format)
  const headers = signedHeaders({ id: event.id, body, secrets: keys }, clock.now())
  return endpoint.post({ id, headers, body })
}

const UNSIGNED: Outcome = {
  status: null,
  error: 'the stored secret cannot be decrypted; rotate it',
  durationMs: 0,
  retryAfterMs: 0,
  isAborted: false,
}

// A store that is unavailable for a moment must not cost a second delivery.
async function report(
  { id: webhookId, version }: Webhook,
  sent: readonly Sent[],
  nextMax: number,
  { queue, owner, bounds, random }: DeliverNeeds,
): Promise<readonly WaitingDelivery[]> {
  const last = sent.at(-1)
  const made: DeliveryReport = {
    webhookId,
    version,
    owner,
    leaseMs: bounds.webhookLeaseMs,
    attempts: sent.map(attemptOf),
    retryInMs: last === undefined ? 0 : retryInMs(last, bounds, random),
    giveUpAfterMs: bounds.webhookRetriedForMs,
    isGone: last?.outcome.status === 410,
    nextMax,
  }
  for (let tries = 1; ; tries++) {
    try {
      return await queue.report(made)
    } catch (error) {
      if (tries === REPORT_TRIES_MAX) throw error
      await sleep(REPORT_PAUSE_MS)
    }
  }
}

function attemptOf({ delivery, outcome }: Sent): Attempt {
  const { status: responseStatus, error, durationMs } = outcome
  return { deliveryId: delivery.id, responseStatus, error, durationMs }
}

// Doubled with every attempt, with jitter: endpoints that failed together do not come back together.
function retryInMs({ delivery, outcome }: Sent, bounds: DeliverNeeds['bounds'], random: () => number): number {
  const { webhookRetryMsMin, webhookRetryMsMax } = bounds
  const full = Math.min(webhookRetryMsMin * 2 ** Math.min(delivery.attempts, 30), webhookRetryMsMax)
  return Math.max(Math.round(full * (0.5 + random() / 2)), outcome.retryAfterMs)
}
