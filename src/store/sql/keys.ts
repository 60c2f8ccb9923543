// Keys and their secrets in SQL. Every change locks the key's row, increments its version and leaves an event, all in one
// transaction, so that the next reservation detects any stale cache.
import type { Budget } from '../../domain/budget.ts'
import {
  DAY_MS,
  dayOf,
  GRACE_MS,
  type KeyControls,
  type KeyWithSecrets,
  keyStatus,
  SECRETS_IN_GRACE_MAX,
} from '../../domain/key.ts'
import type { Actor, Keys, NewSecret } from '../contract/operator.ts'
import { emitPassed, setWindows } from './budgets.ts'
import { appendEvent } from './events.ts'
import { addSecret, columnsOf, lockKey, record, revokeKey } from './key-changes.ts'
import { last4sOf, writeEnds } from './key-ends.ts'
import { announceExpiries, emitGraceEnded, emitRotated } from './key-events.ts'
import { listKeys, readKeyById } from './key-rows.ts'
import { createKey, createReplacing, createWithin } from './new-keys.ts'
import { int, type Sql, type Tx } from './sql.ts'

// The event by which the other nodes learn of it.
export const ABORT_STREAMS = 'key.abort_streams'

export function sqlKeys(sql: Sql): Keys {
  return {
    create: (input, actor) => sql.transaction(tx => createKey(tx, input, actor)),
    createWithin: (rule, input, actor) => sql.transaction(tx => createWithin(tx, rule, input, actor)),
    createReplacing: (rule, input, actor) => sql.transaction(tx => createReplacing(tx, rule, input, actor)),
    get: id => readKeyById(sql, id),
    list: filter => listKeys(sql, filter),

    update: (id, patch, actor, basedOn) =>
      sql.transaction(async tx => {
        if (!(await lockKey(tx, id))) return undefined
        const key = await readKeyById(tx, id)
        if (key?.revokedAt !== null) return 'revoked'
        if (basedOn !== undefined && basedOn !== key.version) return 'changed'
        if (await change(tx, id, patch)) await record(tx, id, actor, 'key.update', patch)
        if (patch.budgets !== undefined) await changeBudgets(tx, key, patch.budgets)
        return readKeyById(tx, id)
      }),

    rotate: (id, next, actor, perDayMax) => sql.transaction(tx => rotate(tx, id, next, actor, perDayMax)),

    endGrace: (id, last4, actor) =>
      sql.transaction(async tx => {
        if (!(await lockKey(tx, id))) return undefined
        const ended = await tx.all(
          `UPDATE secret SET ended_at = $1 WHERE key_id = $2 AND ended_at IS NULL AND grace_expires_at IS NOT NULL
           ${last4 === undefined ? '' : 'AND last4 = $3'} RETURNING last4`,
          last4 === undefined ? [tx.now(), id] : [tx.now(), id, last4],
        )
        if (ended.length > 0) {
          await record(tx, id, actor, 'key.end_grace', last4 === undefined ? {} : { last4 })
          await emitGraceEnded(tx, id, last4sOf(ended))
        }
        return readKeyById(tx, id)
      }),

    revoke: (id, actor, abortStreams = false) =>
      sql.transaction(async tx => {
        if (!(await lockKey(tx, id))) return undefined
        await revokeKey(tx, id, actor)
        if (abortStreams) await appendEvent(tx, actor, ABORT_STREAMS, id)
        return readKeyById(tx, id)
      }),

    resetDay: (id, actor) =>
      sql.transaction(async tx => {
        if (!(await lockKey(tx, id))) return undefined
        const before = await tx.get('SELECT day, day_count FROM key_balance WHERE key_id = $1', [id])
        const detail = { day: dayName(int(before?.day)), requests: int(before?.day_count) }
        await tx.run('UPDATE key_balance SET day = $1, day_count = 0 WHERE key_id = $2', [dayOf(tx.now()), id])
        await record(tx, id, actor, 'key.reset_day', detail)
        return readKeyById(tx, id)
      }),

    // One transaction each: both lock keys in the order of their ids, and together they would not.
    async markEnds() {
      await sql.transaction(announceExpiries)
      return sql.transaction(tx => writeEnds(tx))
    },
  }
}

function dayName(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

async function rotate(tx: Tx, id: string, next: NewSecret, actor: Actor, perDayMax: number | undefined) {
  if (!(await lockKey(tx, id))) return undefined
  const key = await readKeyById(tx, id)
  if (key === undefined || keyStatus(key, tx.now()) !== 'active') return 'not_active'
  const inGrace = await tx.get(
    'SELECT COUNT(*) AS n FROM secret WHERE key_id = $1 AND ended_at IS NULL AND grace_expires_at > $2',
    [id, tx.now()],
  )
  if (int(inGrace?.n) >= SECRETS_IN_GRACE_MAX) return 'too_many_secrets'
  if (perDayMax !== undefined && (await hasNewSecrets(tx, id, perDayMax))) return 'too_many_today'

  await tx.run(
    'UPDATE secret SET grace_expires_at = $1 WHERE key_id = $2 AND grace_expires_at IS NULL AND ended_at IS NULL',
    [tx.now() + GRACE_MS, id],
  )
  await addSecret(tx, id, next)
  await record(tx, id, actor, 'key.rotate', { last4: next.last4 })
  const rotated = (await readKeyById(tx, id))!
  await emitRotated(tx, rotated, tx.now() + GRACE_MS, actor)
  return rotated
}

// Whether as many were created within a day: ended secrets are kept, so each adds a row.
async function hasNewSecrets(tx: Tx, id: string, count: number): Promise<boolean> {
  const earlier = await tx.get(
    'SELECT created_at FROM secret WHERE key_id = $1 ORDER BY created_at DESC LIMIT 1 OFFSET $2',
    [id, count - 1],
  )
  return earlier !== undefined && int(earlier.created_at) > tx.now() - DAY_MS
}

async function changeBudgets(tx: Tx, key: KeyWithSecrets, budgets: readonly Budget[]): Promise<void> {
  const { id, name, accountId, use } = key
  const subject = { object: 'key', id, accountId } as const
  await setWindows(tx, subject, key.budgets, budgets)
  await emitPassed(tx, subject, { id, name, budgets, spent: use.spent, held: use.held })
}

async function change(tx: Tx, id: string, patch: Partial<KeyControls>): Promise<boolean> {
  const columns = columnsOf(patch)
  if (columns.length === 0) return false
  await tx.run(`UPDATE api_key SET ${columns.map(([name], i) => `${name} = $${i + 2}`).join(', ')} WHERE id = $1`, [
    id,
    ...columns.map(([, value]) => value),
  ])
  return true
}
