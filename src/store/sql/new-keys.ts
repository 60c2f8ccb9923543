// New keys in SQL: by an operator, by a customer within the limits of the account, and for the playground.
import { DAY_MS, type KeyWithSecrets } from '../../domain/key.ts'
import type { Actor, ExpiringKey, KeysOfTag, NewKey, NewKeyFault, NewKeyRule } from '../contract/operator.ts'
import { appendEvent } from './events.ts'
import { addSecret, columnsOf, lockKey, revokeKey } from './key-changes.ts'
import { emitCreated } from './key-events.ts'
import { readKeyById } from './key-rows.ts'
import { int, type Tx, text } from './sql.ts'

export async function createKey(tx: Tx, input: NewKey, actor: Actor): Promise<KeyWithSecrets | 'no_account'> {
  const { id, accountId, secret, ...controls } = input
  if ((await tx.get('SELECT id FROM account WHERE id = $1', [accountId])) === undefined) return 'no_account'
  const columns = columnsOf(controls)
  const names = ['id', 'account_id', 'created_at', ...columns.map(([name]) => name)]
  await tx.run(`INSERT INTO api_key (${names.join(', ')}) VALUES (${names.map((_, i) => `$${i + 1}`).join(', ')})`, [
    id,
    accountId,
    tx.now(),
    ...columns.map(([, value]) => value),
  ])
  await tx.run('INSERT INTO key_balance (key_id) VALUES ($1)', [id])
  await addSecret(tx, id, secret)
  await appendEvent(tx, actor, 'key.create', id, { accountId, ...controls })
  const made = (await readKeyById(tx, id))!
  await emitCreated(tx, made, actor)
  return made
}

// A customer may create keys and revoke them again; only as many as this in a day.
const NEW_KEYS_PER_DAY_MAX = 1000

export async function createWithin(tx: Tx, rule: NewKeyRule, input: NewKey, actor: Actor) {
  return (await refuseNewKey(tx, input.accountId, rule)) ?? createKey(tx, input, actor)
}

async function refuseNewKey(
  tx: Tx,
  accountId: string,
  { accountVersion, activeMax }: NewKeyRule,
): Promise<NewKeyFault | undefined> {
  await tx.run('UPDATE account SET version = version WHERE id = $1', [accountId])
  const account = await tx.get('SELECT status, version FROM account WHERE id = $1', [accountId])
  if (account === undefined) return 'no_account'
  if (account.status === 'suspended') return 'suspended'
  if (int(account.version) !== accountVersion) return 'changed'
  const now = tx.now()
  const active = await tx.get(
    `SELECT COUNT(*) AS n FROM (
       SELECT id FROM api_key WHERE account_id = $1 AND revoked_at IS NULL AND expired_at IS NULL
         AND (expires_at IS NULL OR expires_at > $2) LIMIT $3) AS active`,
    [accountId, now, activeMax],
  )
  if (int(active?.n) >= activeMax) return 'too_many'
  const earlier = await tx.get(
    `SELECT created_at FROM api_key WHERE account_id = $1 ORDER BY id DESC LIMIT 1 OFFSET ${NEW_KEYS_PER_DAY_MAX - 1}`,
    [accountId],
  )
  return earlier !== undefined && int(earlier.created_at) > now - DAY_MS ? 'too_many_today' : undefined
}

// Only keys that expire at most this much later than the new one are counted: as far as a clock may have been ahead.
const LATER_MS = DAY_MS
// Per call: an operator may have created any number of keys with this name and tag. The next call takes the rest.
const REPLACED_MAX = 100

// The operator's row is locked, so that racing calls do not each leave room for their own key.
export async function createReplacing(tx: Tx, { tag, max }: KeysOfTag, input: ExpiringKey, actor: Actor) {
  await tx.run('UPDATE operator SET last_used_at = last_used_at WHERE id = $1', [actor.id ?? null])
  const own = await tx.all(
    `SELECT id FROM api_key WHERE expires_at > $1 AND expires_at <= $2 AND expired_at IS NULL AND revoked_at IS NULL
       AND name = $3 AND tags${tx.jsonCast} ->> CAST($4 AS TEXT) = $5 ORDER BY id DESC LIMIT ${REPLACED_MAX}`,
    [tx.now(), input.expiresAt + LATER_MS, input.name, ...tag],
  )
  const key = await createKey(tx, input, actor)
  if (key === 'no_account') return key
  const revoked = own
    .slice(max - 1)
    .map(row => text(row.id))
    .sort()
  for (const id of revoked) {
    await lockKey(tx, id)
    await revokeKey(tx, id, actor)
  }
  return { key, revoked }
}
