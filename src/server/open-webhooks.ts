// Opens the delivery of webhooks, and what operators need of it: encryption of secrets, and a sample that is sent at once.
import { installationKey } from '../config/installation-key.ts'
import type { Webhook } from '../domain/webhook.ts'
import { failpoints } from '../lib/failpoint.ts'
import { wordsOf } from '../lib/text.ts'
import { version } from '../lib/version.ts'
import { sendOne } from '../webhooks/deliver.ts'
import { startDispatcher } from '../webhooks/dispatcher.ts'
import { webhookSecrets } from '../webhooks/secrets.ts'
import { type Outcome, openEndpoint } from '../webhooks/send.ts'
import type { ServerContext } from './context.ts'
import type { OpenedStore } from './open-store.ts'

export type OpenedWebhooks = {
  encrypt(secret: string, webhookId: string): string
  sendSample(webhook: Webhook, sample: Sample): Promise<Outcome>
  wake(): void
  stop(): Promise<void>
}

type Sample = { readonly id: string; readonly type: string; readonly data: string }

export async function openWebhooks({ store, onRaised }: OpenedStore, context: ServerContext): Promise<OpenedWebhooks> {
  const { config, clock, log, metrics, newId, random, onBug } = context
  const { bounds, network, encryptionKeyPrevious: previous } = config
  const secrets = webhookSecrets(
    installationKey(config),
    previous === undefined ? undefined : Buffer.from(previous, 'hex'),
  )
  await secrets.renew(store.webhooks)
  const sending = {
    clock,
    network,
    limit: context.upstreamConnections,
    allowPrivate: config.webhooksAllowPrivate,
    userAgent: `turnpike/${version()}`,
    bounds,
    onBug,
  }
  const dispatcher = startDispatcher({
    ...sending,
    owner: newId(),
    queue: store.webhookQueue,
    secrets,
    random,
    failpoint: failpoints(config.failpoints),
    onAttempt({ id }, { error, status }) {
      metrics.webhookAttempt(error === null)
      if (error !== null) log.warn({ webhook: id, status, err: error }, 'webhook delivery failed')
    },
    onError: error => log.error({ err: wordsOf(error) }, 'cannot deliver webhooks; retrying'),
  })
  onRaised(dispatcher.wake)

  return {
    encrypt: secrets.encrypt,
    async sendSample(webhook, { id, type, data }) {
      const endpoint = openEndpoint(webhook.url, sending)
      try {
        return await sendOne(webhook, { id, event: { id, type, createdAt: clock.now(), data } }, endpoint, {
          secrets,
          clock,
        })
      } finally {
        await endpoint.close()
      }
    },
    wake: dispatcher.wake,
    stop: dispatcher.stop,
  }
}
