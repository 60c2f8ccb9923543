// Who bears a secret: the one look-up of authentication, by the hash of the whole secret and nothing shorter.
import type { Bearer, Scope } from '../../domain/key.ts'
import { big, int, intOrNull, type Sql, text } from './sql.ts'

export async function findBearer(hash: string, sql: Pick<Sql, 'get' | 'now'>): Promise<Bearer | undefined> {
  const row = await sql.get(
    `SELECT s.prefix, s.last4, s.grace_expires_at, s.last_used_at AS secret_used_at,
       k.id, k.account_id, k.name, k.version, k.scopes, k.ip_allowlist, k.rpm_limit, k.daily_limit, k.credit_limit,
       k.max_concurrent, k.created_at, k.expires_at,
       (SELECT MAX(last_used_at) FROM secret WHERE key_id = k.id) AS last_used_at,
       a.name AS account_name, a.status AS account_status, b.day, b.day_count
     FROM secret s JOIN api_key k ON k.id = s.key_id JOIN account a ON a.id = k.account_id
       JOIN key_balance b ON b.key_id = k.id
     WHERE s.hash = $1 AND s.ended_at IS NULL AND (s.grace_expires_at IS NULL OR s.grace_expires_at > $2)
       AND k.revoked_at IS NULL AND k.expired_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2)`,
    [hash, sql.now()],
  )
  if (row === undefined) return undefined
  return {
    key: {
      id: text(row.id),
      accountId: text(row.account_id),
      name: text(row.name),
      version: int(row.version),
      scopes: JSON.parse(text(row.scopes)) as Scope[],
      ipAllowlist: JSON.parse(text(row.ip_allowlist)) as string[],
      rpmLimit: int(row.rpm_limit),
      dailyLimit: intOrNull(row.daily_limit),
      creditLimit: row.credit_limit === null ? null : big(row.credit_limit),
      maxConcurrent: int(row.max_concurrent),
      createdAt: int(row.created_at),
      expiresAt: intOrNull(row.expires_at),
      expiredAt: null,
      revokedAt: null,
      lastUsedAt: intOrNull(row.last_used_at),
    },
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
