// Signatures of webhooks by the Standard Webhooks specification: HMAC-SHA-256 over id, time and body, one per valid secret.
import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

export function newWebhookSecret(randomBytes: (length: number) => Uint8Array): string {
  return PREFIX + Buffer.from(randomBytes(SECRET_BYTES)).toString('base64')
}

export type Signed = { readonly id: string; readonly body: string; readonly secrets: readonly string[] }

// The time is that of the attempt.
export function signedHeaders({ id, body, secrets }: Signed, nowMs: number): Readonly<Record<string, string>> {
  const seconds = Math.floor(nowMs / 1000)
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': signatures.join(' ') }
}
