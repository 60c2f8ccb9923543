// Keys and their secrets in SQL. Every change locks the key's row, increments its version and leaves an event, all in one
// transaction, so that the next reservation detects any stale cache.
import { type Budget, writeBudgets } from '../../domain/budget.ts'
import {
  DAY_MS,
  dayOf,
  GRACE_MS,
  type KeyControls,
  type KeyWithSecrets,
  keyStatus,
  SECRETS_IN_GRACE_MAX,
} from '../../domain/key.ts'
import { writeTags } from '../../domain/tags.ts'
import type { Actor, Keys, NewKey, NewKeyFault, NewKeyRule, NewSecret } from '../contract/operator.ts'
import { emitPassed, setWindows } from './budgets.ts'
import { appendEvent, SYSTEM } from './events.ts'
import { announceExpiries, emitCreated, emitGraceEnded, emitRevoked, emitRotated } from './key-events.ts'
import { listKeys, readKeyById } from './key-rows.ts'
import { int, type Param, type Row, type Sql, type Tx, text } from './sql.ts'

// The event by which the other nodes learn of it.
export const ABORT_STREAMS = 'key.abort_streams'

export function sqlKeys(sql: Sql): Keys {
  return {
    create: (input, actor) => sql.transaction(tx => create(tx, input, actor)),
    createWithin: (rule, input, actor) =>
      sql.transaction(async tx => (await refuseNewKey(tx, input.accountId, rule)) ?? create(tx, input, actor)),
    get: id => readKeyById(sql, id),
    list: filter => listKeys(sql, filter),

    update: (id, patch, actor, basedOn) =>
      sql.transaction(async tx => {
        if (!(await lock(tx, id))) return undefined
        const key = await readKeyById(tx, id)
        if (key?.revokedAt !== null) return 'revoked'
        if (basedOn !== undefined && basedOn !== key.version) return 'changed'
        if (await change(tx, id, patch)) await record(tx, id, actor, 'key.update', patch)
        if (patch.budgets !== undefined) await changeBudgets(tx, key, patch.budgets)
        return readKeyById(tx, id)
      }),

    rotate: (id, next, actor) => sql.transaction(tx => rotate(tx, id, next, actor)),

    endGrace: (id, last4, actor) =>
      sql.transaction(async tx => {
        if (!(await lock(tx, id))) return undefined
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
        if (!(await lock(tx, id))) return undefined
        const now = tx.now()
        if ((await tx.run('UPDATE api_key SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL', [now, id])) > 0) {
          await tx.run('UPDATE secret SET ended_at = $1 WHERE key_id = $2 AND ended_at IS NULL', [now, id])
          await record(tx, id, actor, 'key.revoke')
          await emitRevoked(tx, (await readKeyById(tx, id))!, actor)
        }
        if (abortStreams) await appendEvent(tx, actor, ABORT_STREAMS, id)
        return readKeyById(tx, id)
      }),

    resetDay: (id, actor) =>
      sql.transaction(async tx => {
        if (!(await lock(tx, id))) return undefined
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

async function create(tx: Tx, input: NewKey, actor: Actor) {
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

async function rotate(tx: Tx, id: string, next: NewSecret, actor: Actor) {
  if (!(await lock(tx, id))) return undefined
  const key = await readKeyById(tx, id)
  if (key === undefined || keyStatus(key, tx.now()) !== 'active') return 'not_active'
  const inGrace = await tx.get(
    'SELECT COUNT(*) AS n FROM secret WHERE key_id = $1 AND ended_at IS NULL AND grace_expires_at > $2',
    [id, tx.now()],
  )
  if (int(inGrace?.n) >= SECRETS_IN_GRACE_MAX) return 'too_many_secrets'

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

// Whether the key exists. Its row is locked for the rest of the transaction, and passed ends are stored before anything is
// decided, so that nothing but a new end revives it.
async function lock(tx: Tx, id: string): Promise<boolean> {
  if ((await tx.run('UPDATE api_key SET version = version WHERE id = $1', [id])) === 0) return false
  await writeEnds(tx, id)
  return true
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

async function record(tx: Tx, id: string, actor: Actor, action: string, detail?: Readonly<Record<string, unknown>>) {
  await bumpVersion(tx, id)
  await appendEvent(tx, actor, action, id, detail)
}

async function addSecret(tx: Tx, keyId: string, secret: NewSecret): Promise<void> {
  await tx.run('INSERT INTO secret (hash, key_id, prefix, last4, created_at) VALUES ($1, $2, $3, $4, $5)', [
    secret.hash,
    keyId,
    secret.prefix,
    secret.last4,
    tx.now(),
  ])
}

function columnsOf(controls: Partial<KeyControls>): readonly (readonly [string, Param])[] {
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

// Stores the ends that have passed (of grace periods and of keys), so that a clock that jumps back revives nothing. A clock that
// was wrong by more than a day is not trusted: what it ended is valid again, and a grace period that it granted is shortened.
// Per run over all keys, so that a backlog never makes one long transaction; the next run takes the rest.
const ENDS_MAX = 200

// Returns the keys that changed: all that are due, or that one.
async function writeEnds(tx: Tx, keyId?: string): Promise<readonly string[]> {
  const params = keyId === undefined ? [tx.now()] : [tx.now(), keyId]
  const undone = await undoWrongEnds(tx, keyId)
  const ended = await tx.all(
    `UPDATE secret SET ended_at = grace_expires_at WHERE hash IN (
       SELECT hash FROM secret WHERE grace_expires_at <= $1 AND ended_at IS NULL ${keyId === undefined ? '' : 'AND key_id = $2'}
       ORDER BY grace_expires_at LIMIT ${ENDS_MAX}) AND ended_at IS NULL
     RETURNING key_id AS id, last4`,
    params,
  )
  const due = await tx.all(
    `SELECT id FROM api_key WHERE expires_at <= $1 AND expired_at IS NULL ${keyId === undefined ? '' : 'AND id = $2'}
     ORDER BY expires_at LIMIT ${ENDS_MAX}`,
    params,
  )
  const [ofSecrets, revived] = [new Set(idsOf(ended)), new Set(undone)]
  const changed: string[] = []
  // Key by key in the order of their ids, as batches lock them: different lock orders would deadlock.
  for (const id of [...new Set([...undone, ...idsOf([...ended, ...due])])].sort()) {
    const expires =
      'UPDATE api_key SET expired_at = expires_at WHERE id = $2 AND expires_at <= $1 AND expired_at IS NULL'
    const isExpired = (await tx.run(expires, [tx.now(), id])) > 0
    if (ofSecrets.has(id)) {
      await appendEvent(tx, SYSTEM, 'key.grace_passed', id)
      await emitGraceEnded(tx, id, last4sOf(ended.filter(row => text(row.id) === id)))
    }
    if (isExpired) await appendEvent(tx, SYSTEM, 'key.expire', id)
    if (!isExpired && !ofSecrets.has(id) && !revived.has(id)) continue
    await bumpVersion(tx, id)
    changed.push(id)
  }
  return changed
}

// An end is stored as the time that was set for it. One more than a day ahead has not passed.
async function undoWrongEnds(tx: Tx, keyId: string | undefined): Promise<readonly string[]> {
  const of = (column: string) => (keyId === undefined ? '' : `AND ${column} = $2`)
  const aheadOf = (at: number) => (keyId === undefined ? [at] : [at, keyId])
  const revived = await tx.all(
    `UPDATE api_key SET expired_at = NULL WHERE id IN (
       SELECT id FROM api_key WHERE expired_at > $1 ${of('id')} ORDER BY expired_at DESC LIMIT ${ENDS_MAX})
     RETURNING id`,
    aheadOf(tx.now() + DAY_MS),
  )
  const given = aheadOf(tx.now() + GRACE_MS + DAY_MS)
  const cut = await tx.all(
    `UPDATE secret SET grace_expires_at = $${given.length + 1} WHERE hash IN (
       SELECT hash FROM secret WHERE grace_expires_at > $1 AND ended_at IS NULL ${of('key_id')}
       ORDER BY grace_expires_at DESC LIMIT ${ENDS_MAX})
     RETURNING key_id AS id`,
    [...given, tx.now() + GRACE_MS],
  )
  for (const id of idsOf(revived)) await appendEvent(tx, SYSTEM, 'key.unexpire', id)
  for (const id of idsOf(cut)) await appendEvent(tx, SYSTEM, 'key.grace_cut', id)
  return idsOf([...revived, ...cut])
}

// With every change of a key or of one of its secrets: reservations on every node then find its cached record stale.
async function bumpVersion(tx: Tx, keyId: string): Promise<void> {
  await tx.run('UPDATE api_key SET version = version + 1 WHERE id = $1', [keyId])
}

function last4sOf(rows: readonly Row[]): readonly string[] {
  return rows.map(row => text(row.last4)).sort()
}

function idsOf(rows: readonly Row[]): readonly string[] {
  return [...new Set(rows.map(row => text(row.id)))].sort()
}
