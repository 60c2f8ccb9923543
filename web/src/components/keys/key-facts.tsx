// What the pages of a key list about it, for operators and for customers.
import type { ReactNode } from 'react'
import type { KeyObject } from '../../../../src/admin/keys.ts'
import { count } from '../../format/numbers.ts'
import { Identifier } from '../copy-field.tsx'
import { Credits } from '../credits.tsx'
import { TagList } from '../tags.tsx'
import { Ago, Timestamp } from '../timestamp.tsx'

type Facts = readonly (readonly [string, ReactNode])[]

type Limited = Pick<
  KeyObject,
  'rpm_limit' | 'daily_limit' | 'max_concurrent' | 'credit_limit' | 'scopes' | 'allowed_models' | 'ip_allowlist'
>

export function limitsOf(key: Limited): Facts {
  return [
    ['Requests per minute', count(key.rpm_limit)],
    ['Requests per day (UTC)', key.daily_limit === null ? 'no limit' : count(key.daily_limit)],
    ['Concurrent requests', count(key.max_concurrent)],
    [
      'Credit limit (lifetime)',
      key.credit_limit === null ? 'no limit' : <Credits key="limit" value={key.credit_limit} />,
    ],
    ['Scopes', key.scopes.length === 0 ? 'none' : key.scopes.join(', ')],
    ['Models', key.allowed_models.length === 0 ? 'all models' : key.allowed_models.join(', ')],
    ['IP allowlist', key.ip_allowlist.length === 0 ? 'any address' : key.ip_allowlist.join(', ')],
  ]
}

type Described = Pick<KeyObject, 'id' | 'tags' | 'created_at' | 'last_used_at' | 'expires_at' | 'revoked_at'>

export function detailsOf(key: Described): Facts {
  return [
    ['ID', <Identifier key="id" id={key.id} label="ID" />],
    ['Tags', <TagList key="tags" of={key.tags} />],
    ['Created', <Timestamp key="created" at={key.created_at} />],
    ['Last used', <Ago key="used" at={key.last_used_at} />],
    ['Expires', key.expires_at === null ? 'never' : <Timestamp key="expires" at={key.expires_at} />],
    ...(key.revoked_at === null ? [] : [['Revoked', <Timestamp key="revoked" at={key.revoked_at} />] as const]),
  ]
}
