// Finds the key of a secret: the one lookup of authentication, by the hash of the whole secret and nothing shorter.
import type { AuthenticatedKey } from '../../domain/key.ts'
import { KEY_COLUMNS, readKey } from './key-rows.ts'
import { int, intOrNull, type Row, type Sql, text } from './sql.ts'

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
    label: `${text(row.prefix)}…${text(row.last4)}`,
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
