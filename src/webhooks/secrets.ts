// Secrets of webhooks are stored encrypted under the key of the installation, like provider credentials. While nodes change to a
// new key, those under the previous one are read too, and encrypted again.
import type { Webhook } from '../domain/webhook.ts'
import { type Encryption, encryptionWith } from '../lib/encryption.ts'
import type { Webhooks } from '../store/contract/webhooks.ts'

export type WebhookSecrets = {
  encrypt(secret: string, webhookId: string): string
  // The secrets to sign with, the current one first; undefined if it cannot be decrypted.
  read(webhook: Webhook, nowMs: number): readonly string[] | undefined
  // Encrypts again what is under the previous key.
  renew(webhooks: Webhooks): Promise<void>
}

const PURPOSE = 'webhooks'
// As many as there can be.
const PAGE = 1000

export function webhookSecrets(master: Buffer, previousMaster: Buffer | undefined): WebhookSecrets {
  const ours = encryptionWith(master, PURPOSE)
  const before = previousMaster === undefined ? undefined : encryptionWith(previousMaster, PURPOSE)
  const open = (ciphertext: string, id: string) =>
    opened(ours, ciphertext, id) ?? (before === undefined ? undefined : opened(before, ciphertext, id))

  const openAll = (ciphertexts: readonly string[], id: string) => ciphertexts.flatMap(each => open(each, id) ?? [])

  return {
    encrypt: (secret, webhookId) => ours.encrypt(secret, [webhookId]),
    read({ id, secret, previousSecrets, previousUntil }, nowMs) {
      const current = open(secret, id)
      if (current === undefined) return undefined
      const isOverlap = (previousUntil ?? 0) > nowMs
      return [current, ...(isOverlap ? openAll(previousSecrets, id) : [])]
    },
    async renew(webhooks) {
      if (before === undefined) return
      const { data } = await webhooks.list({ limit: PAGE })
      for (const { id, secret, previousSecrets } of data) {
        const plain = opened(before, secret, id)
        if (plain === undefined) continue
        const renewed = {
          id,
          secret: ours.encrypt(plain, [id]),
          previousSecrets: openAll(previousSecrets, id).map(each => ours.encrypt(each, [id])),
        }
        await webhooks.replaceSecrets(renewed, secret)
      }
    },
  }
}

function opened(encryption: Encryption, ciphertext: string, id: string): string | undefined {
  try {
    return encryption.decrypt(ciphertext, [id])
  } catch {
    return undefined
  }
}
