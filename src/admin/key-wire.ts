// Keys as operators send and see them, with the API's field names.
import { formatCredits } from '../domain/credits.ts'
import { type KeyStatus, type KeyWithSecrets, keyStatus, type Scope } from '../domain/key.ts'
import { isoTime, isoTimeOrNull } from '../domain/wire-time.ts'

export type KeyChange = {
  readonly name?: string
  readonly scopes?: readonly Scope[]
  readonly ip_allowlist?: readonly string[]
  readonly rpm_limit?: number
  readonly daily_limit?: number | null
  readonly credit_limit?: string | null
  readonly max_concurrent?: number
  readonly expires_at?: string | null
}
export type KeyInput = KeyChange & { readonly name: string; readonly account_id?: string }

export type KeyObject = {
  readonly object: 'key'
  readonly id: string
  readonly name: string
  readonly label: string
  readonly status: KeyStatus
  readonly account_id: string
  readonly scopes: readonly Scope[]
  readonly ip_allowlist: readonly string[]
  readonly rpm_limit: number
  readonly daily_limit: number | null
  readonly credit_limit: string | null
  readonly max_concurrent: number
  // Incremented with every change of the key or its secrets.
  readonly version: number
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
  readonly last_used_at: string | null
  readonly previous: readonly {
    readonly last4: string
    readonly grace_expires_at: string | null
    readonly last_used_at: string | null
  }[]
}
// The only responses that contain a secret: of a creation and of a rotation.
export type KeyWithSecret = KeyObject & { readonly secret: string }

export function keyObject(key: KeyWithSecrets, now: number): KeyObject {
  return {
    object: 'key',
    id: key.id,
    name: key.name,
    label: `${key.prefix}…${key.last4}`,
    status: keyStatus(key, now),
    account_id: key.accountId,
    scopes: key.scopes,
    ip_allowlist: key.ipAllowlist,
    rpm_limit: key.rpmLimit,
    daily_limit: key.dailyLimit,
    credit_limit: key.creditLimit === null ? null : formatCredits(key.creditLimit),
    max_concurrent: key.maxConcurrent,
    version: key.version,
    created_at: isoTime(key.createdAt),
    expires_at: isoTimeOrNull(key.expiresAt),
    revoked_at: isoTimeOrNull(key.revokedAt),
    last_used_at: isoTimeOrNull(key.lastUsedAt),
    previous: key.previous.map(secret => ({
      last4: secret.last4,
      grace_expires_at: isoTimeOrNull(secret.graceExpiresAt),
      last_used_at: isoTimeOrNull(secret.lastUsedAt),
    })),
  }
}
