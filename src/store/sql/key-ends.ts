// Stores the ends of keys and of grace periods that have passed, so that a clock that jumps back revives nothing. A clock that was
// wrong by more than a day is not trusted: what it ended is valid again, and a grace period that it granted is shortened.
import { DAY_MS, GRACE_MS } from '../../domain/key.ts'
import { appendEvent, SYSTEM } from './events.ts'
import { emitGraceEnded } from './key-events.ts'
import { type Row, type Tx, text } from './sql.ts'

// Per run over all keys, so that a backlog never makes one long transaction; the next run takes the rest.
const ENDS_MAX = 200

// Returns the keys that changed: all that are due, or that one.
export async function writeEnds(tx: Tx, keyId?: string): Promise<readonly string[]> {
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
export async function bumpVersion(tx: Tx, keyId: string): Promise<void> {
  await tx.run('UPDATE api_key SET version = version + 1 WHERE id = $1', [keyId])
}

export function last4sOf(rows: readonly Row[]): readonly string[] {
  return rows.map(row => text(row.last4)).sort()
}

function idsOf(rows: readonly Row[]): readonly string[] {
  return [...new Set(rows.map(row => text(row.id)))].sort()
}
