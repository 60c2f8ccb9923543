// Links and sessions of the customer portal in SQL. The account's row is locked before a session is opened, so that an account that
// is suspended meanwhile keeps none.
import { DAY_MS } from '../../domain/key.ts'
import { CLOCK_AHEAD_MS_MAX, SESSION_IDLE_MS, SESSION_MS } from '../../domain/operator.ts'
import {
  PORTAL_LINK_SECONDS_MAX,
  type PortalPermission,
  type PortalSession,
  portalActorName,
} from '../../domain/portal.ts'
import type { Actor } from '../contract/operator.ts'
import type { NewPortalLink, NewPortalSession, Portal, PortalEntrance } from '../contract/portal.ts'
import { conditions } from './conditions.ts'
import { appendEvent } from './events.ts'
import { int, intOrNull, numbered, page, type Row, type Sql, type Tx, text, textOrNull } from './sql.ts'

const SESSION = `s.id, s.account_id, s.permissions, s.return_url, s.address, s.created_at, s.used_at, s.expires_at,
  a.name AS account_name`
const JOINED = 'portal_session s JOIN account a ON a.id = s.account_id'
const LINK_KEPT_MS = DAY_MS
// Per call, so that a backlog never makes one long transaction.
const TIDIED_MAX = 100

export function sqlPortal(sql: Sql): Portal {
  return {
    createLink: (input, max, actor) => sql.transaction(tx => createLink(tx, input, max, actor)),
    findLinks: tokenHashes => findLinks(sql, tokenHashes),
    open: (input, max) => sql.transaction(tx => open(tx, input, max)),

    async bearers(secretHashes) {
      const now = sql.now()
      const rows = await sql.all(
        `SELECT s.secret_hash, s.ended_at, a.status AS account_status, ${SESSION} FROM ${JOINED} WHERE s.secret_hash IN (${numbered(secretHashes)})`,
        secretHashes,
      )
      const found = new Map(
        rows.map(row => [text(row.secret_hash), { session: readSession(row), state: stateOf(row, now) }]),
      )
      return secretHashes.map(hash => found.get(hash))
    },

    async touch(id) {
      const now = sql.now()
      await sql.run('UPDATE portal_session SET used_at = $1 WHERE id = $2 AND used_at < $1', [now, id])
      return now
    },

    async list(accountId, { limit, after }) {
      if ((await sql.get('SELECT id FROM account WHERE id = $1', [accountId])) === undefined) return undefined
      const asked = conditions()
      asked.add('s.account_id = ?', accountId)
      asked.add('s.id < ?', after)
      asked.add('s.expires_at > ?', sql.now())
      asked.add('s.used_at > ?', sql.now() - SESSION_IDLE_MS)
      const rows = await sql.all(
        `SELECT ${SESSION} FROM ${JOINED} ${asked.where()} AND s.ended_at IS NULL
         ORDER BY s.id DESC LIMIT ${asked.param(limit + 1)}`,
        asked.params,
      )
      return page(rows, limit, readSession)
    },

    end: (accountId, id, actor) =>
      sql.transaction(async tx => {
        const ended = await tx.run(
          'UPDATE portal_session SET ended_at = $1 WHERE id = $2 AND account_id = $3 AND ended_at IS NULL',
          [tx.now(), id, accountId],
        )
        if (ended > 0) await recordEnd(tx, actor, accountId, id)
        return ended > 0
      }),

    async markEnds() {
      for (const end of passedEnds(sql.now())) await storeEnds(sql, end)
    },
  }
}

// Which links or sessions have ended, by one of their columns.
type Ends = {
  readonly table: 'portal_link' | 'portal_session'
  readonly id: 'token_hash' | 'id'
  readonly ended: 'used_at' | 'ended_at'
  readonly column: 'expires_at' | 'used_at'
  readonly is: '<=' | '>'
  readonly at: number
}

const LINKS = { table: 'portal_link', id: 'token_hash', ended: 'used_at', column: 'expires_at' } as const
const SESSIONS = { table: 'portal_session', id: 'id', ended: 'ended_at', column: 'expires_at' } as const

// Also those of a clock that was ahead: they would be valid until then.
function passedEnds(now: number): readonly Ends[] {
  return [
    { ...LINKS, is: '<=', at: now },
    { ...LINKS, is: '>', at: lastLinkEnd(now) },
    { ...SESSIONS, is: '<=', at: now },
    { ...SESSIONS, column: 'used_at', is: '<=', at: now - SESSION_IDLE_MS },
    { ...SESSIONS, is: '>', at: lastSessionEnd(now) },
  ]
}

// No link or session that was made by now ends later, by a clock that is right.
const lastLinkEnd = (now: number) => now + PORTAL_LINK_SECONDS_MAX * 1000 + CLOCK_AHEAD_MS_MAX
const lastSessionEnd = (now: number) => now + SESSION_MS + CLOCK_AHEAD_MS_MAX

// A link is used before it expires, so one that is used at its end or later has expired without a use. One by one in the order of
// their ids, as every node does at the same time: different lock orders would deadlock.
async function storeEnds(sql: Sql, { table, id, ended, column, is, at }: Ends): Promise<void> {
  const rows = await sql.all(
    `SELECT ${id} AS id FROM ${table} WHERE ${ended} IS NULL AND ${column} ${is} $1 ORDER BY ${column} LIMIT ${TIDIED_MAX}`,
    [at],
  )
  if (rows.length === 0) return
  const store = `UPDATE ${table} SET ${ended} = expires_at WHERE ${id} = $1 AND ${ended} IS NULL AND ${column} ${is} $2`
  const ids = rows.map(row => text(row.id)).sort()
  await sql.transaction(async tx => {
    for (const each of ids) await tx.run(store, [each, at])
  })
}

function recordEnd(tx: Tx, actor: Actor, accountId: string, session: string): Promise<void> {
  return appendEvent(tx, actor, 'portal_session.end', accountId, { session })
}

// Every session of an account, and its links, when it is suspended. Part of that transaction.
export async function endPortalSessions(tx: Tx, accountId: string): Promise<void> {
  await tx.run('UPDATE portal_session SET ended_at = $1 WHERE account_id = $2 AND ended_at IS NULL', [
    tx.now(),
    accountId,
  ])
  await tx.run(
    `UPDATE portal_link SET expires_at = $1, used_at = $1 WHERE account_id = $2 AND used_at IS NULL AND expires_at > $1`,
    [tx.now(), accountId],
  )
}

async function createLink(tx: Tx, input: NewPortalLink, max: number, actor: Actor) {
  const { tokenHash, accountId, permissions, returnUrl, validMs } = input
  const status = await lockAccount(tx, accountId)
  if (status === undefined) return undefined
  if (status === 'suspended') return 'suspended'
  const now = tx.now()
  await tidy(tx)
  await tx.run(
    `INSERT INTO portal_link (token_hash, account_id, permissions, return_url, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [tokenHash, accountId, JSON.stringify(permissions), returnUrl, now, now + validMs],
  )
  await tx.run(
    `DELETE FROM portal_link WHERE account_id = $1 AND used_at IS NULL AND token_hash <> $2 AND token_hash NOT IN (
       SELECT token_hash FROM portal_link WHERE account_id = $1 AND used_at IS NULL AND token_hash <> $2
       ORDER BY created_at DESC, token_hash LIMIT $3)`,
    [accountId, tokenHash, max - 1],
  )
  await appendEvent(tx, actor, 'portal_link.create', accountId, { permissions })
  return now + validMs
}

const UNKNOWN: PortalEntrance = { state: 'unknown', returnUrl: null }

async function findLinks(sql: Pick<Sql, 'all' | 'now'>, tokenHashes: readonly string[]) {
  const rows = await sql.all(
    `SELECT l.token_hash, l.return_url, l.used_at, l.expires_at, a.status
     FROM portal_link l JOIN account a ON a.id = l.account_id WHERE l.token_hash IN (${numbered(tokenHashes)})`,
    tokenHashes,
  )
  const found = new Map<string, PortalEntrance>(
    rows.map(row => [
      text(row.token_hash),
      { state: entranceOf(row, sql.now()), returnUrl: textOrNull(row.return_url) },
    ]),
  )
  return tokenHashes.map(hash => found.get(hash) ?? UNKNOWN)
}

function entranceOf(row: Row, now: number): PortalEntrance['state'] {
  const usedAt = intOrNull(row.used_at)
  if (usedAt !== null && usedAt < int(row.expires_at)) return 'used'
  if (row.status === 'suspended') return 'suspended'
  return usedAt !== null || int(row.expires_at) <= now ? 'expired' : 'open'
}

async function open(tx: Tx, input: NewPortalSession, max: number): Promise<PortalEntrance> {
  const { id, tokenHash, secretHash, address, replaces } = input
  const link = await tx.get('SELECT account_id FROM portal_link WHERE token_hash = $1', [tokenHash])
  if (link === undefined) return UNKNOWN
  const accountId = text(link.account_id)
  // Both are locked now, the account first, as by its suspension.
  await lockAccount(tx, accountId)
  const [entrance = UNKNOWN] = await findLinks(tx, [tokenHash])
  if (entrance.state !== 'open') return entrance
  const now = tx.now()
  const used = await tx.get(
    `UPDATE portal_link SET used_at = $1 WHERE token_hash = $2 AND used_at IS NULL AND expires_at > $1
     RETURNING permissions`,
    [now, tokenHash],
  )
  if (used === undefined) return { ...entrance, state: 'used' }

  await tidy(tx)
  if (replaces !== undefined) await endReplaced(tx, replaces, address)
  await tx.run(
    `INSERT INTO portal_session (id, account_id, secret_hash, permissions, return_url, address, created_at, used_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8)`,
    [id, accountId, secretHash, text(used.permissions), entrance.returnUrl, address, now, now + SESSION_MS],
  )
  // Ended ones are kept to name the way back, as long as there is space next to the open ones.
  await tx.run(
    `DELETE FROM portal_session WHERE account_id = $1 AND id NOT IN (
       SELECT id FROM portal_session WHERE account_id = $1
       ORDER BY CASE WHEN ended_at IS NULL AND expires_at > $3 AND used_at > $4 THEN 0 ELSE 1 END, created_at DESC, id DESC
       LIMIT $2)`,
    [accountId, max, now, now - SESSION_IDLE_MS],
  )
  const actor = { id, name: portalActorName(accountId), address }
  await appendEvent(tx, actor, 'portal_session.create', accountId, { session: id })
  return entrance
}

// The browser's previous session, perhaps of another account.
async function endReplaced(tx: Tx, secretHash: string, address: string): Promise<void> {
  const ended = await tx.get(
    'UPDATE portal_session SET ended_at = $1 WHERE secret_hash = $2 AND ended_at IS NULL RETURNING id, account_id',
    [tx.now(), secretHash],
  )
  if (ended === undefined) return
  const [id, accountId] = [text(ended.id), text(ended.account_id)]
  await recordEnd(tx, { id, name: portalActorName(accountId), address }, accountId, id)
}

// The account's status; undefined if there is none. Its row is locked for the rest of the transaction.
async function lockAccount(tx: Tx, accountId: string): Promise<string | undefined> {
  if ((await tx.run('UPDATE account SET version = version WHERE id = $1', [accountId])) === 0) return undefined
  return text((await tx.get('SELECT status FROM account WHERE id = $1', [accountId]))?.status)
}

// Also what a clock that was ahead has left, once its end is stored.
async function tidy(tx: Tx): Promise<void> {
  const now = tx.now()
  const remove = (table: string, id: string, which: string, at: number) =>
    tx.run(
      `DELETE FROM ${table} WHERE ${id} IN (SELECT ${id} FROM ${table} WHERE ${which} ORDER BY expires_at LIMIT ${TIDIED_MAX})`,
      [at],
    )
  await remove('portal_link', 'token_hash', 'expires_at <= $1', now - LINK_KEPT_MS)
  await remove('portal_link', 'token_hash', 'expires_at > $1 AND used_at IS NOT NULL', lastLinkEnd(now))
  await remove('portal_session', 'id', 'expires_at <= $1', now)
  await remove('portal_session', 'id', 'expires_at > $1 AND ended_at IS NOT NULL', lastSessionEnd(now))
}

function stateOf(row: Row, now: number): 'open' | 'ended' | 'suspended' {
  if (row.account_status === 'suspended') return 'suspended'
  const isOver = int(row.expires_at) <= now || int(row.used_at) <= now - SESSION_IDLE_MS
  return isOver || intOrNull(row.ended_at) !== null ? 'ended' : 'open'
}

function readSession(row: Row): PortalSession {
  return {
    id: text(row.id),
    account: { id: text(row.account_id), name: text(row.account_name) },
    permissions: JSON.parse(text(row.permissions)) as readonly PortalPermission[],
    returnUrl: textOrNull(row.return_url),
    address: text(row.address),
    createdAt: int(row.created_at),
    usedAt: int(row.used_at),
    expiresAt: int(row.expires_at),
  }
}
