// The parts of every change of a key in SQL: its row locked, its version incremented and an event, in the transaction of the caller.
import { writeBudgets } from '../../domain/budget.ts'
import type { KeyControls } from '../../domain/key.ts'
import { writeTags } from '../../domain/tags.ts'
import type { Actor, NewSecret } from '../contract/operator.ts'
import { appendEvent } from './events.ts'
import { bumpVersion, writeEnds } from './key-ends.ts'
import { emitRevoked } from './key-events.ts'
import { readKeyById } from './key-rows.ts'
import type { Param, Tx } from './sql.ts'

// Whether the key exists. Its row is locked for the rest of the transaction, and passed ends are stored before anything is
// decided, so that nothing but a new end revives it.
export async function lockKey(tx: Tx, id: string): Promise<boolean> {
  if ((await tx.run('UPDATE api_key SET version = version WHERE id = $1', [id])) === 0) return false
  await writeEnds(tx, id)
  return true
}

export async function record(
  tx: Tx,
  id: string,
  actor: Actor,
  action: string,
  detail?: Readonly<Record<string, unknown>>,
) {
  await bumpVersion(tx, id)
  await appendEvent(tx, actor, action, id, detail)
}

// Nothing changes if it is revoked already. The key is locked.
export async function revokeKey(tx: Tx, id: string, actor: Actor): Promise<void> {
  const now = tx.now()
  if ((await tx.run('UPDATE api_key SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL', [now, id])) === 0) return
  await tx.run('UPDATE secret SET ended_at = $1 WHERE key_id = $2 AND ended_at IS NULL', [now, id])
  await record(tx, id, actor, 'key.revoke')
  await emitRevoked(tx, (await readKeyById(tx, id))!, actor)
}

export async function addSecret(tx: Tx, keyId: string, secret: NewSecret): Promise<void> {
  await tx.run('INSERT INTO secret (hash, key_id, prefix, last4, created_at) VALUES ($1, $2, $3, $4, $5)', [
    secret.hash,
    keyId,
    secret.prefix,
    secret.last4,
    tx.now(),
  ])
}

export function columnsOf(controls: Partial<KeyControls>): readonly (readonly [string, Param])[] {
  const columns: readonly (readonly [string, Param | undefined])[] = [
    ['name', controls.name],
    ['scopes', controls.scopes && JSON.stringify(controls.scopes)],
    ['ip_allowlist', controls.ipAllowlist && JSON.stringify(controls.ipAllowlist)],
    ['rpm_limit', controls.rpmLimit],
    ['daily_limit', controls.dailyLimit],
    ['credit_limit', controls.creditLimit],
    ['max_concurrent', controls.maxConcurrent],
    ['allowed_models', controls.allowedModels && JSON.stringify(controls.allowedModels)],
    ['tags', controls.tags && writeTags(controls.tags)],
    ['expires_at', controls.expiresAt],
    ['budgets', controls.budgets && writeBudgets(controls.budgets)],
    // A new expiry means that the key is valid again.
    ['expired_at', controls.expiresAt === undefined ? undefined : null],
    ['expiry_announced', controls.expiresAt === undefined ? undefined : null],
  ]
  return columns.filter((column): column is readonly [string, Param] => column[1] !== undefined)
}
