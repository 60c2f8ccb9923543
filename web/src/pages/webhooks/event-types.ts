// The events that a webhook can subscribe to, in groups, and the patterns that name them.
import { EVENT_TYPES } from '../../../../src/domain/events.ts'

type ListedType = (typeof EVENT_TYPES)[number]
type GroupName = ListedType extends `${infer Name}.${string}` ? Name : never
type Group = { readonly name: string; readonly label: string; readonly types: readonly ListedType[] }

// In the order in which they are shown.
const LABELS: Readonly<Record<GroupName, string>> = {
  balance: 'Balances',
  budget: 'Budgets',
  credits: 'Credits',
  key: 'Keys',
  provider: 'Providers',
  credential: 'Credentials',
  webhook: 'Webhooks',
}

export const EVENT_GROUPS: readonly Group[] = Object.entries(LABELS).map(([name, label]) => ({
  name,
  label,
  types: EVENT_TYPES.filter(type => type.startsWith(`${name}.`)),
}))

// The shortest patterns for a choice of types: a whole group includes types that are added to it later.
export function patternsOf(chosen: readonly string[]): readonly string[] {
  if (EVENT_TYPES.every(type => chosen.includes(type))) return ['*']
  return EVENT_GROUPS.flatMap(({ name, types }) => {
    const some = types.filter(type => chosen.includes(type))
    return types.length > 1 && some.length === types.length ? [`${name}.*`] : some
  })
}
