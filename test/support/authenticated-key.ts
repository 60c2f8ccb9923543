// An authenticated key as the store would return it, for tests of decisions that need no store.
import type { AuthenticatedKey, Key } from '../../src/domain/key.ts'

export function keyWith(more: Partial<Key> = {}): Key {
  return {
    id: 'key_1',
    accountId: 'acct_1',
    name: 'test',
    version: 1,
    scopes: ['models.read'],
    ipAllowlist: [],
    rpmLimit: 1_000_000,
    dailyLimit: null,
    creditLimit: null,
    maxConcurrent: 10_000,
    allowedModels: [],
    tags: {},
    createdAt: 0,
    expiresAt: null,
    expiredAt: null,
    revokedAt: null,
    lastUsedAt: null,
    ...more,
  }
}

export function bearerOf(key: Key): AuthenticatedKey {
  return {
    key,
    label: 'svc_live_…aaaa',
    secret: { last4: 'aaaa', graceExpiresAt: null, lastUsedAt: null },
    account: { id: 'acct_1', name: 'test', status: 'active' },
    day: 0,
    dayCount: 0,
  }
}
