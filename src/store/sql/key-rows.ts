// Reads keys with their secrets from SQL: one statement for the keys, one for the secrets of all of them.
import {
  type AuthenticatedKey,
  dayOf,
  type Key,
  type KeyUse,
  type KeyWithSecrets,
  keyLabel,
  type Scope,
  type Secret,
} from '../../domain/key.ts'
import type { Tags } from '../../domain/tags.ts'
import { parseBudgets } from '../billing/budgets.ts'
import type { KeyFilter, KeySort, SortedPage } from '../contract/operator.ts'
import { monthSpending, readStates } from './budgets.ts'
import { type Conditions, containing } from './conditions.ts'
import { type Search, type SortedBy, searchNewest, searchSorted } from './search.ts'
import { big, bigOrNull, int, intOrNull, numbered, type Row, type Sql, type Tx, text } from './sql.ts'
import { addStopped } from './stopped-keys.ts'

const KEY_COLUMNS = `k.id, k.account_id, k.name, k.version, k.scopes, k.ip_allowlist, k.rpm_limit, k.daily_limit, k.credit_limit,
  k.max_concurrent, k.created_at, k.expires_at, k.expired_at, k.revoked_at, k.allowed_models, k.tags,
  (SELECT MAX(s.last_used_at) FROM secret s WHERE s.key_id = k.id) AS last_used_at`

// What only reports need.
const REPORTED_COLUMNS = `${KEY_COLUMNS}, k.budgets`
const USE_COLUMNS = 'b.spent, b.held, b.day, b.day_count, b.month, b.month_base'

export async function readKeyById(tx: Tx, id: string): Promise<KeyWithSecrets | undefined> {
  const row = await tx.get(`SELECT ${REPORTED_COLUMNS} FROM api_key k WHERE k.id = $1`, [id])
  return row === undefined ? undefined : (await withSecrets(tx, [row]))[0]
}

// Of the lists of one page of keys. A customer decides how long those of a key are, and a page of a thousand such keys would keep
// the process busy for seconds.
const PAGE_CHARS_MAX = 500_000
const LISTS_LENGTH = 'length(k.ip_allowlist) + length(k.allowed_models) + length(k.tags) + length(k.budgets)'

type Place = Pick<Search, 'table' | 'id'>

const BY_TIME: Place = { table: 'api_key k', id: 'k.id' }

// Every key has secrets and a balance. They come first, so that their values are read once, in the order of the keys.
const SORTED: Readonly<Record<KeySort, SortedBy & Place>> = {
  name: { ...BY_TIME, by: 'lower(k.name)', type: 'text' },
  last_used: {
    table: `(SELECT key_id, MAX(COALESCE(last_used_at, 0)) AS used_at FROM secret GROUP BY key_id) u
      LEFT JOIN api_key k ON k.id = u.key_id`,
    id: 'u.key_id',
    by: 'u.used_at',
    type: 'number',
  },
  spent: {
    table: 'key_balance_now b LEFT JOIN api_key k ON k.id = b.key_id',
    id: 'b.key_id',
    by: 'b.spent',
    type: 'number',
  },
}

// A page of keys with long lists is shorter than its limit.
export async function listKeys(tx: Tx, filter: KeyFilter): Promise<SortedPage<KeyWithSecrets>> {
  const { sorting, limit } = filter
  const { table, id } = sorting === undefined ? BY_TIME : SORTED[sorting.by]
  const search: Search = {
    columns: `k.id, ${LISTS_LENGTH} AS chars`,
    table,
    id,
    after: filter.after,
    indexed: asked => addIndexed(asked, filter),
    compared: asked => compare(asked, filter, tx),
  }
  const sorted = sorting && (await searchSorted(search, { ...sorting, ...SORTED[sorting.by] }, limit + 1, tx))
  const found = sorted?.rows ?? (await searchNewest(search, limit + 1, tx))
  let chars = 0
  const fits = (row: Row, index: number) => {
    chars += int(row.chars)
    return index === 0 || chars <= PAGE_CHARS_MAX
  }
  const ids = found
    .slice(0, filter.limit)
    .filter(fits)
    .map(row => text(row.id))
  const rows =
    ids.length === 0
      ? []
      : await tx.all(`SELECT ${REPORTED_COLUMNS} FROM api_key k WHERE k.id IN (${numbered(ids)})`, ids)
  const place = new Map(ids.map((id, index) => [id, index]))
  const inOrder = rows.toSorted((a, b) => (place.get(text(a.id)) ?? 0) - (place.get(text(b.id)) ?? 0))
  const hasMore = found.length > ids.length
  const next = sorted && { next: hasMore ? sorted.placeAfter(found[ids.length - 1]) : null }
  return { data: await withSecrets(tx, inOrder), hasMore, ...next }
}

function addIndexed(asked: Conditions, { accountId, name, last4 }: KeyFilter): void {
  asked.add('k.account_id = ?', accountId)
  asked.add('k.id IN (SELECT id FROM api_key WHERE lower(name) = lower(?))', name)
  asked.add('k.id IN (SELECT key_id FROM secret WHERE last4 = ?)', last4)
}

const LAST_CHARS = 4

function compare(asked: Conditions, { status, name, q }: KeyFilter, tx: Tx): void {
  const now = tx.now()
  asked.add('k.name = ?', name)
  if (status === 'revoked') asked.add('k.revoked_at IS NOT NULL')
  if (status === 'expired') {
    asked.add('k.revoked_at IS NULL AND (k.expired_at IS NOT NULL OR k.expires_at <= ?)', now)
  }
  if (status === 'active' || status === 'stopped') {
    asked.add('k.revoked_at IS NULL AND k.expired_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?)', now)
  }
  if (status === 'stopped') addStopped(asked, tx)
  if (q === undefined) return
  // Both sides through SQL's lower, since engines treat letters beyond ASCII differently in LIKE and lower.
  const words = containing(q)
  const places = ["lower(k.name) LIKE lower(?) ESCAPE '!'", "lower(k.id) LIKE lower(?) ESCAPE '!'"]
  // Of a secret only its last four are known, and looking for them takes longer than all else.
  if (q.length <= LAST_CHARS)
    places.push(`EXISTS (SELECT 1 FROM secret s WHERE s.key_id = k.id AND lower(s.last4) LIKE lower(?) ESCAPE '!')`)
  asked.add(`(${places.join(' OR ')})`, ...places.map(() => words))
}

// From the columns of api_key, and `last_used_at` of its secrets.
function readKey(row: Row): Key {
  return {
    id: text(row.id),
    accountId: text(row.account_id),
    name: text(row.name),
    version: int(row.version),
    scopes: JSON.parse(text(row.scopes)) as Scope[],
    ipAllowlist: JSON.parse(text(row.ip_allowlist)) as string[],
    rpmLimit: int(row.rpm_limit),
    dailyLimit: intOrNull(row.daily_limit),
    creditLimit: bigOrNull(row.credit_limit),
    maxConcurrent: int(row.max_concurrent),
    createdAt: int(row.created_at),
    expiresAt: intOrNull(row.expires_at),
    expiredAt: intOrNull(row.expired_at),
    revokedAt: intOrNull(row.revoked_at),
    lastUsedAt: intOrNull(row.last_used_at),
    allowedModels: JSON.parse(text(row.allowed_models)) as string[],
    tags: JSON.parse(text(row.tags)) as Tags,
  }
}

async function withSecrets(tx: Tx, rows: readonly Row[]): Promise<readonly KeyWithSecrets[]> {
  if (rows.length === 0) return []
  const numbers = rows.map((_, i) => `$${i + 2}`).join(', ')
  const secrets = await tx.all(
    `SELECT key_id, prefix, last4, grace_expires_at, last_used_at FROM secret
     WHERE (grace_expires_at IS NULL OR (ended_at IS NULL AND grace_expires_at > $1)) AND key_id IN (${numbers})
     ORDER BY created_at DESC, hash`,
    [tx.now(), ...rows.map(row => text(row.id))],
  )
  const byKey = Map.groupBy(secrets, secret => text(secret.key_id))
  const uses = await readUses(tx, rows, await readBalances(tx, rows))

  return rows.map(row => {
    const own = byKey.get(text(row.id)) ?? []
    // The current secret is the one without an end of grace, also when a revoke has ended it.
    const current = own.find(secret => secret.grace_expires_at === null)
    return {
      ...readKey(row),
      budgets: parseBudgets(text(row.budgets)),
      use: uses.get(text(row.id)) ?? UNUSED,
      prefix: text(current?.prefix),
      last4: text(current?.last4),
      previous: own.filter(secret => secret.grace_expires_at !== null).map(readSecret),
    }
  })
}

// Not joined to the keys: SQLite would compute the balances of all of them first.
async function readBalances(tx: Tx, rows: readonly Row[]): Promise<readonly Row[]> {
  const ids = rows.map(row => text(row.id))
  const of = `b.key_id IN (${numbered(ids)})`
  return tx.all(`SELECT b.key_id AS id, ${USE_COLUMNS} FROM key_balance_now b WHERE ${of}`, ids)
}

async function readUses(tx: Tx, rows: readonly Row[], balances: readonly Row[]): Promise<ReadonlyMap<string, KeyUse>> {
  const byId = new Map(rows.map(row => [text(row.id), row]))
  const states = await readStates(
    tx,
    balances.map(({ id, spent, held }) => {
      const row = byId.get(text(id))
      const budgets = parseBudgets(text(row?.budgets))
      return { id: text(id), name: text(row?.name), budgets, spent: big(spent), held: big(held) }
    }),
  )
  return new Map(balances.map(row => [text(row.id), readUse(row, tx.now(), states.get(text(row.id)) ?? [])]))
}

const UNUSED: KeyUse = { spent: 0n, held: 0n, spentThisMonth: 0n, requestsToday: 0, budgetStates: [] }

function readUse(row: Row, now: number, budgetStates: KeyUse['budgetStates']): KeyUse {
  const [spent, held] = [big(row.spent), big(row.held)]
  return {
    spent,
    held,
    spentThisMonth: monthSpending(row, now),
    requestsToday: int(row.day) >= dayOf(now) ? int(row.day_count) : 0,
    budgetStates,
  }
}

function readSecret(row: Row): Secret {
  return {
    last4: text(row.last4),
    graceExpiresAt: intOrNull(row.grace_expires_at),
    lastUsedAt: intOrNull(row.last_used_at),
  }
}

// Finds the key of a secret: the one lookup of authentication, by the hash of the whole secret and nothing shorter.
export async function findAuthenticatedKey(
  hash: string,
  sql: Pick<Sql, 'get' | 'now'>,
): Promise<AuthenticatedKey | undefined> {
  const row = await sql.get(keysBy('s.hash = $1'), [hash, sql.now()])
  return row === undefined ? undefined : readAuthenticatedKey(row)
}

// In the order of the hashes. For Postgres, where a statement costs far more than the rows that it finds.
export async function findAuthenticatedKeys(
  hashes: readonly string[],
  sql: Pick<Sql, 'all' | 'now'>,
): Promise<readonly (AuthenticatedKey | undefined)[]> {
  const rows = await sql.all(keysBy('s.hash = ANY ($1::text[])'), [`{${hashes.join(',')}}`, sql.now()])
  const found = new Map(rows.map(row => [text(row.hash), row]))
  return hashes.map(hash => {
    const row = found.get(hash)
    return row === undefined ? undefined : readAuthenticatedKey(row)
  })
}

function keysBy(condition: string): string {
  return `SELECT ${KEY_COLUMNS}, s.hash, s.prefix, s.last4, s.grace_expires_at, s.last_used_at AS secret_used_at,
       a.name AS account_name, a.status AS account_status, b.day, b.day_count
     FROM secret s JOIN api_key k ON k.id = s.key_id JOIN account a ON a.id = k.account_id
       JOIN key_balance b ON b.key_id = k.id
     WHERE ${condition} AND s.ended_at IS NULL AND (s.grace_expires_at IS NULL OR s.grace_expires_at > $2)
       AND k.revoked_at IS NULL AND k.expired_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2)`
}

function readAuthenticatedKey(row: Row): AuthenticatedKey {
  return {
    key: readKey(row),
    label: keyLabel({ prefix: text(row.prefix), last4: text(row.last4) }),
    secret: {
      last4: text(row.last4),
      graceExpiresAt: intOrNull(row.grace_expires_at),
      lastUsedAt: intOrNull(row.secret_used_at),
    },
    account: {
      id: text(row.account_id),
      name: text(row.account_name),
      status: row.account_status === 'suspended' ? 'suspended' : 'active',
    },
    day: int(row.day),
    dayCount: int(row.day_count),
  }
}
