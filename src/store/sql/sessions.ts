// Sessions in SQL, each bound to its operator's row: the session has the operator's current role and status.
import { CLOCK_AHEAD_MS_MAX, type Role, SESSION_IDLE_MS, SESSION_MS, type Session } from '../../domain/operator.ts'
import type { Actor, NewSession, Sessions } from '../contract/operator.ts'
import { conditions } from './conditions.ts'
import { appendEvent } from './events.ts'
import { int, numbered, page, type Row, type Sql, type Tx, text } from './sql.ts'

const SESSION = `s.id, s.address, s.created_at, s.used_at, s.expires_at, o.id AS operator_id, o.name, o.role`
const JOINED = 'session s JOIN operator o ON o.id = s.operator_id'

export function sqlSessions(sql: Sql): Sessions {
  return {
    open: (input, max) => sql.transaction(tx => open(tx, input, max)),

    async bearers(secretHashes) {
      const now = sql.now()
      const rows = await sql.all(
        `SELECT s.secret_hash, ${SESSION} FROM ${JOINED}
         WHERE s.expires_at > $1 AND s.used_at > $2 AND s.secret_hash IN (${numbered(secretHashes, 3)})`,
        [now, now - SESSION_IDLE_MS, ...secretHashes],
      )
      const found = new Map(rows.map(row => [text(row.secret_hash), readSession(row)]))
      return secretHashes.map(hash => found.get(hash))
    },

    async touch(id) {
      const now = sql.now()
      await sql.run('UPDATE session SET used_at = $1 WHERE id = $2 AND used_at < $1', [now, id])
      return now
    },

    async list({ limit, after }) {
      const asked = conditions()
      asked.add('s.expires_at > ?', sql.now())
      asked.add('s.used_at > ?', sql.now() - SESSION_IDLE_MS)
      asked.add('s.id < ?', after)
      const rows = await sql.all(
        `SELECT ${SESSION} FROM ${JOINED} ${asked.where()} ORDER BY s.id DESC LIMIT ${asked.param(limit + 1)}`,
        asked.params,
      )
      return page(rows, limit, readSession)
    },

    end: (id, actor) => sql.transaction(tx => end(tx, 'id', id, actor)),
    async markEnds() {
      if ((await passedIds(sql)).length > 0) await sql.transaction(dropPassed)
    },
  }
}

// The operator's row is locked first: a token that is rotated meanwhile opens nothing.
async function open(tx: Tx, input: NewSession, max: number): Promise<Session | undefined> {
  const { id, secretHash, tokenHash, address, replaces } = input
  const owner = await tx.get(
    `UPDATE operator SET last_used_at = $1
     WHERE id = (SELECT id FROM operator WHERE token_hash = $2 ORDER BY id DESC LIMIT 1) AND token_hash = $2
     RETURNING id, name, role`,
    [tx.now(), tokenHash],
  )
  if (owner === undefined) return undefined
  const operator = { id: text(owner.id), name: text(owner.name), role: text(owner.role) as Role }
  const actor = { id: operator.id, name: operator.name, address }
  const now = tx.now()

  await dropPassed(tx)
  if (replaces !== undefined) await end(tx, 'secret_hash', replaces, actor)
  await tx.run(
    `INSERT INTO session (id, operator_id, secret_hash, address, created_at, used_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $5, $6)`,
    [id, operator.id, secretHash, address, now, now + SESSION_MS],
  )
  await tx.run(
    `DELETE FROM session WHERE operator_id = $1 AND id NOT IN (
       SELECT id FROM session WHERE operator_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2)`,
    [operator.id, max],
  )
  await appendEvent(tx, actor, 'session.create', id, { operator: operator.id })
  return { id, operator, address, createdAt: now, usedAt: now, expiresAt: now + SESSION_MS }
}

// Also those opened by a clock that was ahead: they would last until then.
const PASSED = ['expires_at <= $1', 'expires_at > $1', 'used_at <= $1']

// Per call, so that a backlog never makes one long transaction.
const DROPPED_MAX = 100

function passedAt(now: number): readonly number[] {
  return [now, now + SESSION_MS + CLOCK_AHEAD_MS_MAX, now - SESSION_IDLE_MS]
}

async function passedIds(tx: Pick<Tx, 'all' | 'now'>): Promise<readonly string[]> {
  const ids = new Set<string>()
  for (const [i, at] of passedAt(tx.now()).entries()) {
    const rows = await tx.all(`SELECT id FROM session WHERE ${PASSED[i]} LIMIT ${DROPPED_MAX}`, [at])
    for (const row of rows) ids.add(text(row.id))
  }
  return [...ids].sort()
}

// One by one in the order of their ids, as every node does at the same time: different lock orders would deadlock.
async function dropPassed(tx: Tx): Promise<void> {
  const isPassed = PASSED.map((each, i) => each.replace('$1', `$${i + 2}`)).join(' OR ')
  for (const id of await passedIds(tx))
    await tx.run(`DELETE FROM session WHERE id = $1 AND (${isPassed})`, [id, ...passedAt(tx.now())])
}

async function end(tx: Tx, column: 'id' | 'secret_hash', value: string, actor: Actor): Promise<boolean> {
  const ended = await tx.get(`DELETE FROM session WHERE ${column} = $1 RETURNING id, operator_id`, [value])
  if (ended === undefined) return false
  await appendEvent(tx, actor, 'session.end', text(ended.id), { operator: text(ended.operator_id) })
  return true
}

function readSession(row: Row): Session {
  return {
    id: text(row.id),
    operator: { id: text(row.operator_id), name: text(row.name), role: text(row.role) as Role },
    address: text(row.address),
    createdAt: int(row.created_at),
    usedAt: int(row.used_at),
    expiresAt: int(row.expires_at),
  }
}
