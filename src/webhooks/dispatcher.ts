// Turns events into deliveries and hands endpoints with something to send to their own loops, a few at once. It is woken by events
// of this node, and looks by itself for those of others and for retries.
import type { Failpoint } from '../lib/failpoint.ts'
import type { WebhookQueue } from '../store/contract/webhooks.ts'
import { type DeliverNeeds, type Delivery, deliverTo } from './deliver.ts'

export type DispatcherNeeds = Omit<DeliverNeeds, 'queue' | 'bounds'> & {
  readonly queue: WebhookQueue
  readonly bounds: DeliverNeeds['bounds'] & {
    readonly webhooksAtOnceMax: number
    readonly webhooksPolledEveryMs: number
    readonly webhooksIdlePolledEveryMs: number
    readonly webhookDrainMsMax: number
  }
  readonly failpoint: Failpoint | undefined
  readonly onError: (error: unknown) => void
}

export type Dispatcher = {
  // There may be something to send.
  wake(): void
  // Ends it; waits for exchanges under way, but not for long.
  stop(): Promise<void>
}

const EVENTS_AT_ONCE_MAX = 200

export function startDispatcher(needs: DispatcherNeeds): Dispatcher {
  const { bounds, queue, owner } = needs
  const active = new Map<string, Delivery>()
  let isStopped = false
  let isAwake = false
  let isAskedAgain = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  function wake(): void {
    isAskedAgain = true
    if (isAwake || isStopped) return
    isAwake = true
    clearTimeout(timer)
    running = run()
  }

  async function run(): Promise<void> {
    let againInMs = bounds.webhooksPolledEveryMs
    while (isAskedAgain && !isStopped) {
      isAskedAgain = false
      againInMs = await turn().catch(error => {
        needs.onError(error)
        return bounds.webhooksPolledEveryMs
      })
    }
    isAwake = false
    if (!isStopped) timer = setTimeout(wake, againInMs).unref()
  }

  // Returns when to look again.
  async function turn(): Promise<number> {
    await fanOut()
    const max = bounds.webhooksAtOnceMax - active.size
    const ask = { owner, leaseMs: bounds.webhookLeaseMs, max, except: [...active.keys()] }
    const { webhooks, againInMs, count } = await queue.claim(ask)
    for (const webhook of webhooks) begin(webhook)
    const usual = count === 0 ? bounds.webhooksIdlePolledEveryMs : bounds.webhooksPolledEveryMs
    // One that ends wakes it.
    return active.size >= bounds.webhooksAtOnceMax ? usual : Math.min(againInMs ?? usual, usual)
  }

  async function fanOut(): Promise<void> {
    await needs.failpoint?.('webhook_before_fan_out')
    while (!isStopped && (await queue.fanOut(EVENTS_AT_ONCE_MAX)) > 0) await needs.failpoint?.('webhook_after_fan_out')
  }

  function begin(webhook: Parameters<typeof deliverTo>[0]): void {
    const delivery = deliverTo(webhook, needs)
    active.set(webhook.id, delivery)
    delivery.done
      .catch(needs.onError)
      .finally(() => active.delete(webhook.id))
      .then(wake)
  }

  wake()
  return {
    wake,
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await running
      for (const { finish } of active.values()) finish()
      const ending = Promise.allSettled([...active.values()].map(({ done }) => done))
      const late = setTimeout(() => {
        for (const { stop } of active.values()) void stop().catch(needs.onError)
      }, bounds.webhookDrainMsMax)
      await ending
      clearTimeout(late)
    },
  }
}
