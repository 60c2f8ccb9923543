// The search over accounts and keys. Ids, the last four of a secret and the beginnings of names and addresses are found by index;
// a part in the middle of a name is looked for in the newest rows only, so that a search takes the same time in any database.
import { type AccountStatus, keyLabel, keyStatus } from '../../domain/key.ts'
import type { Finder, FoundAccount, FoundKey } from '../contract/operator.ts'
import { containing } from './conditions.ts'
import { intOrNull, type Param, type Row, type Sql, text, textOrNull } from './sql.ts'

// Rows in which a part of a name is looked for.
const EXAMINED_MAX = 20_000
// Above all letters: the end of a range of texts with the same beginning.
const LAST = '\u{10ffff}'

const ACCOUNT = 'id, name, status, contact_email, external_id'
const KEY = 'id, name, account_id, revoked_at, expired_at, expires_at'

export function sqlFinder(sql: Sql): Finder {
  return {
    async accounts(words, max) {
      const found = await firstOf(max, [
        () => byId('account', ACCOUNT, words, sql),
        () => equal('account', ACCOUNT, 'external_id', words, max, sql),
        () => beginning('account', ACCOUNT, 'name', words, max, sql),
        () => beginning('account', ACCOUNT, 'contact_email', words, max, sql),
        () => containingOne('account', ACCOUNT, ['name', 'contact_email', 'external_id', 'id'], words, max, sql),
      ])
      return found.map(readAccount)
    },

    async keys(words, max) {
      const found = await firstOf(max, [
        () => byId('api_key', KEY, words, sql),
        () => byLast4(words, max, sql),
        () => beginning('api_key', KEY, 'name', words, max, sql),
        () => containingOne('api_key', KEY, ['name', 'id'], words, max, sql),
      ])
      const labels = await labelsOf(found, sql)
      return found.map(row => readKey(row, labels, sql.now()))
    },
  }
}

type Table = 'account' | 'api_key'
type Rows = Promise<readonly Row[]>

// One search after the other until there are enough; each row once.
async function firstOf(max: number, searches: readonly (() => Rows)[]): Promise<readonly Row[]> {
  const found = new Map<string, Row>()
  for (const search of searches) {
    if (found.size >= max) break
    for (const row of await search()) found.set(text(row.id), found.get(text(row.id)) ?? row)
  }
  return [...found.values()].slice(0, max)
}

function byId(table: Table, columns: string, id: string, sql: Sql): Rows {
  return sql.all(`SELECT ${columns} FROM ${table} WHERE id = $1`, [id])
}

function equal(table: Table, columns: string, column: string, value: string, max: number, sql: Sql): Rows {
  return sql.all(`SELECT ${columns} FROM ${table} WHERE ${column} = $1 ORDER BY id DESC LIMIT ${max}`, [value])
}

// Both sides through SQL's lower, since engines treat letters beyond ASCII differently.
function beginning(table: Table, columns: string, column: string, words: string, max: number, sql: Sql): Rows {
  return sql.all(
    `SELECT ${columns} FROM ${table} WHERE lower(${column}) >= lower($1) AND lower(${column}) < lower($1) || $2
     ORDER BY lower(${column}) LIMIT ${max}`,
    [words, LAST],
  )
}

function containingOne(
  table: Table,
  columns: string,
  compared: readonly string[],
  words: string,
  max: number,
  sql: Sql,
): Rows {
  const one = compared.map(column => `lower(${column}) LIKE lower($1) ESCAPE '!'`).join(' OR ')
  return sql.all(
    `SELECT ${columns} FROM (SELECT ${columns} FROM ${table} ORDER BY id DESC LIMIT ${EXAMINED_MAX}) newest
     WHERE ${one} ORDER BY id DESC LIMIT ${max}`,
    [containing(words)],
  )
}

function byLast4(last4: string, max: number, sql: Sql): Rows {
  if (last4.length !== 4) return Promise.resolve([])
  return sql.all(
    `SELECT ${KEY} FROM api_key WHERE id IN (SELECT key_id FROM secret WHERE last4 = $1) ORDER BY id DESC LIMIT ${max}`,
    [last4],
  )
}

// Of the current secret of each key.
async function labelsOf(rows: readonly Row[], sql: Sql): Promise<ReadonlyMap<string, string>> {
  if (rows.length === 0) return new Map()
  const ids: readonly Param[] = rows.map(({ id }) => text(id))
  const secrets = await sql.all(
    `SELECT key_id, prefix, last4 FROM secret
     WHERE grace_expires_at IS NULL AND key_id IN (${ids.map((_, i) => `$${i + 1}`).join(', ')})`,
    ids,
  )
  return new Map(secrets.map(row => [text(row.key_id), keyLabel({ prefix: text(row.prefix), last4: text(row.last4) })]))
}

function readAccount(row: Row): FoundAccount {
  return {
    id: text(row.id),
    name: text(row.name),
    status: text(row.status) as AccountStatus,
    contactEmail: textOrNull(row.contact_email),
    externalId: textOrNull(row.external_id),
  }
}

function readKey(row: Row, labels: ReadonlyMap<string, string>, now: number): FoundKey {
  const ends = {
    revokedAt: intOrNull(row.revoked_at),
    expiredAt: intOrNull(row.expired_at),
    expiresAt: intOrNull(row.expires_at),
  }
  return {
    id: text(row.id),
    name: text(row.name),
    label: labels.get(text(row.id)) ?? '',
    status: keyStatus(ends, now),
  }
}
