// Operators in SQL. Changes are serialised by the root operator's row, so that two of them cannot both take the last name or the
// last slot.
import { type Operator, ROOT, type Role } from '../../domain/operator.ts'
import type { Actor, NewOperator, Operators } from '../contract/operator.ts'
import { conditions } from './conditions.ts'
import { appendEvent, SYSTEM } from './events.ts'
import { int, intOrNull, numbered, page, type Row, type Sql, type Tx, text } from './sql.ts'

const OPERATOR = 'id, name, role, created_at, last_used_at'
// A use is stored at most this often.
const TOKEN_USE_NOTED_EVERY_MS = 60_000

export function sqlOperators(sql: Sql): Operators {
  const read = async (from: Pick<Sql, 'get'>, id: string) => {
    const row = await from.get(`SELECT ${OPERATOR} FROM operator WHERE id = $1`, [id])
    return row === undefined ? undefined : readOperator(row)
  }

  // Changes one operator, unless it does not exist or is the root.
  function change<T>(id: string, work: (tx: Tx, before: Operator) => Promise<T>): Promise<T | 'root' | undefined> {
    if (id === ROOT.id) return Promise.resolve('root')
    return sql.transaction(async tx => {
      await takeTurn(tx, ROOT.id)
      // A login with its token waits, and finds the result of this.
      await takeTurn(tx, id)
      const before = await read(tx, id)
      return before === undefined ? undefined : work(tx, before)
    })
  }

  return {
    setRoot: tokenHash => sql.transaction(tx => setRoot(tx, tokenHash)),

    async bearers(tokenHashes) {
      // The root last, so that it wins if somebody has configured another operator's token.
      const rows = await sql.all(
        `SELECT token_hash, ${OPERATOR} FROM operator WHERE token_hash IN (${numbered(tokenHashes)}) ORDER BY id`,
        tokenHashes,
      )
      const found = new Map(rows.map(row => [text(row.token_hash), readOperator(row)]))
      const now = sql.now()
      for (const { id, lastUsedAt } of found.values()) {
        if (lastUsedAt !== null && lastUsedAt >= now - TOKEN_USE_NOTED_EVERY_MS) continue
        // Operators can still read a store that cannot write.
        await sql.run('UPDATE operator SET last_used_at = $1 WHERE id = $2', [now, id]).catch(() => 0)
      }
      return tokenHashes.map(hash => found.get(hash))
    },

    create: (input, max, actor) => sql.transaction(tx => create(tx, input, max, actor)),
    get: id => read(sql, id),

    async list({ limit, after }) {
      const asked = conditions()
      asked.add('id < ?', after)
      const rows = await sql.all(
        `SELECT ${OPERATOR} FROM operator ${asked.where()} ORDER BY id DESC LIMIT ${asked.param(limit + 1)}`,
        asked.params,
      )
      return page(rows, limit, readOperator)
    },

    update: (id, patch, actor) =>
      change(id, async (tx, before) => {
        const name = patch.name ?? before.name
        const role = patch.role ?? before.role
        if (await isTaken(tx, name, id)) return 'name_taken'
        if (name === before.name && role === before.role) return before
        await tx.run('UPDATE operator SET name = $1, role = $2 WHERE id = $3', [name, role, id])
        await appendEvent(tx, actor, 'operator.update', id, { was: before.name, name, role })
        return { ...before, name, role }
      }),

    rotate: (id, tokenHash, actor) =>
      change(id, async (tx, before) => {
        await tx.run('UPDATE operator SET token_hash = $1 WHERE id = $2', [tokenHash, id])
        await endSessions(tx, id)
        await appendEvent(tx, actor, 'operator.rotate', id, { name: before.name })
        return before
      }),

    remove: (id, actor) =>
      change(id, async (tx, before) => {
        await endSessions(tx, id)
        await tx.run('DELETE FROM operator WHERE id = $1', [id])
        await appendEvent(tx, actor, 'operator.remove', id, { name: before.name })
        return 'removed' as const
      }),
  }
}

async function takeTurn(tx: Tx, id: string): Promise<void> {
  await tx.run('UPDATE operator SET name = name WHERE id = $1', [id])
}

async function setRoot(tx: Tx, tokenHash: string): Promise<void> {
  const made = await tx.run(
    `INSERT INTO operator (id, name, role, token_hash, created_at) VALUES ($1, $2, 'admin', $3, $4) ON CONFLICT DO NOTHING`,
    [ROOT.id, ROOT.name, tokenHash, tx.now()],
  )
  if (made > 0) return
  const changed = await tx.run('UPDATE operator SET token_hash = $1 WHERE id = $2 AND token_hash <> $1', [
    tokenHash,
    ROOT.id,
  ])
  if (changed === 0) return
  await endSessions(tx, ROOT.id)
  await appendEvent(tx, SYSTEM, 'operator.rotate', ROOT.id, { name: ROOT.name })
}

async function create(tx: Tx, input: NewOperator, max: number, actor: Actor) {
  const { id, name, role, tokenHash } = input
  await takeTurn(tx, ROOT.id)
  if (await isTaken(tx, name, id)) return 'name_taken'
  if (int((await tx.get('SELECT COUNT(*) AS count FROM operator'))?.count) >= max) return 'too_many'
  await tx.run('INSERT INTO operator (id, name, role, token_hash, created_at) VALUES ($1, $2, $3, $4, $5)', [
    id,
    name,
    role,
    tokenHash,
    tx.now(),
  ])
  await appendEvent(tx, actor, 'operator.create', id, { name, role })
  return { id, name, role, createdAt: tx.now(), lastUsedAt: null }
}

async function isTaken(tx: Tx, name: string, id: string): Promise<boolean> {
  return (await tx.get('SELECT id FROM operator WHERE lower(name) = lower($1) AND id <> $2', [name, id])) !== undefined
}

async function endSessions(tx: Tx, operatorId: string): Promise<void> {
  await tx.run('DELETE FROM session WHERE operator_id = $1', [operatorId])
}

function readOperator(row: Row): Operator {
  return {
    id: text(row.id),
    name: text(row.name),
    role: text(row.role) as Role,
    createdAt: int(row.created_at),
    lastUsedAt: intOrNull(row.last_used_at),
  }
}
