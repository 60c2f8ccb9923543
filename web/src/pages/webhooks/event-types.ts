// The events that a webhook can subscribe to, in groups, and the patterns that name them.
import type { EventType } from '../../../../src/domain/events.ts'

type Group = { readonly name: string; readonly label: string; readonly types: readonly EventType[] }

export const EVENT_GROUPS: readonly Group[] = [
  { name: 'balance', label: 'Balances', types: ['balance.low', 'balance.exhausted'] },
  { name: 'budget', label: 'Budgets', types: ['budget.threshold', 'budget.exhausted'] },
  { name: 'credits', label: 'Credits', types: ['credits.added'] },
  {
    name: 'key',
    label: 'Keys',
    types: ['key.created', 'key.rotated', 'key.grace_ended', 'key.revoked', 'key.expiring'],
  },
  { name: 'provider', label: 'Providers', types: ['provider.unavailable', 'provider.recovered'] },
  { name: 'credential', label: 'Credentials', types: ['credential.rejected'] },
  { name: 'webhook', label: 'Webhooks', types: ['webhook.disabled'] },
]

const ALL = EVENT_GROUPS.flatMap(({ types }) => types)

// The types that patterns name.
export function typesOf(patterns: readonly string[]): readonly string[] {
  return ALL.filter(type =>
    patterns.some(pattern => pattern === '*' || pattern === type || pattern === `${type.split('.')[0]}.*`),
  )
}

// The shortest patterns for a choice of types: a whole group includes types that are added to it later.
export function patternsOf(chosen: readonly string[]): readonly string[] {
  if (ALL.every(type => chosen.includes(type))) return ['*']
  return EVENT_GROUPS.flatMap(({ name, types }) => {
    const some = types.filter(type => chosen.includes(type))
    return types.length > 1 && some.length === types.length ? [`${name}.*`] : some
  })
}
