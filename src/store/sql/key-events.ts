// The events of keys for webhooks, raised in the transactions that change keys.
import { DAY_MS, type KeyWithSecrets, keyLabel } from '../../domain/key.ts'
import { isoTime, isoTimeOrNull } from '../../domain/wire-time.ts'
import type { Actor } from '../contract/operator.ts'
import { readKeyById } from './key-rows.ts'
import { emit } from './outbox.ts'
import { int, type Tx, text } from './sql.ts'

const EXPIRING_MS = 7 * DAY_MS
const ANNOUNCED_MAX = 200

export async function emitCreated(tx: Tx, key: KeyWithSecrets, { name: actor }: Actor): Promise<void> {
  const data = { ...partsOf(key), actor, expires_at: isoTimeOrNull(key.expiresAt) }
  await emit(tx, { type: 'key.created', accountId: key.accountId, once: null, data })
}

export async function emitRotated(tx: Tx, key: KeyWithSecrets, graceEndsAt: number, { name: actor }: Actor) {
  const data = { ...partsOf(key), actor, grace_expires_at: isoTime(graceEndsAt) }
  await emit(tx, { type: 'key.rotated', accountId: key.accountId, once: null, data })
}

export async function emitRevoked(tx: Tx, key: KeyWithSecrets, { name: actor }: Actor): Promise<void> {
  await emit(tx, { type: 'key.revoked', accountId: key.accountId, once: null, data: { ...partsOf(key), actor } })
}

// `ended`: the last four characters of the secrets.
export async function emitGraceEnded(tx: Tx, keyId: string, ended: readonly string[]): Promise<void> {
  const key = await readKeyById(tx, keyId)
  if (key === undefined) return
  await emit(tx, { type: 'key.grace_ended', accountId: key.accountId, once: null, data: { ...partsOf(key), ended } })
}

// Announces keys once before they expire; a new expiry is announced again. One key after the other in the order of their ids, as
// billing batches lock them.
export async function announceExpiries(tx: Tx): Promise<void> {
  const due = await tx.all(
    `SELECT id FROM api_key WHERE expires_at <= $1 AND expires_at IS NOT NULL AND expiry_announced IS NULL
       AND revoked_at IS NULL ORDER BY expires_at LIMIT ${ANNOUNCED_MAX}`,
    [tx.now() + EXPIRING_MS],
  )
  for (const id of due.map(row => text(row.id)).sort()) {
    const row = await tx.get(
      `UPDATE api_key SET expiry_announced = expires_at WHERE id = $1 AND expiry_announced IS NULL AND expires_at <= $2
       RETURNING expires_at`,
      [id, tx.now() + EXPIRING_MS],
    )
    const key = await readKeyById(tx, id)
    const expiresAt = int(row?.expires_at)
    if (row === undefined || key === undefined || expiresAt <= tx.now()) continue
    await emit(tx, {
      type: 'key.expiring',
      accountId: key.accountId,
      once: `key.expiring ${id} ${expiresAt}`,
      data: { ...partsOf(key), expires_at: isoTime(expiresAt) },
    })
  }
}

function partsOf({ id, name, prefix, last4, accountId }: KeyWithSecrets) {
  return { key_id: id, key_name: name, key_label: keyLabel({ prefix, last4 }), account_id: accountId }
}
