// Events about money, keys and providers that webhooks deliver: their types and the data of each. Each is raised once per
// crossing, in the transaction of what it reports. Amounts are decimal credits, times ISO 8601 in UTC, as in the admin API.

type AccountPart = { readonly account_id: string; readonly account_name: string }
type KeyPart = {
  readonly key_id: string
  readonly key_name: string
  // The prefix and the last four characters of the current secret.
  readonly key_label: string
  readonly account_id: string
}
type BudgetPart = {
  readonly subject: { readonly object: 'key' | 'account'; readonly id: string; readonly name: string }
  readonly account_id: string
  readonly budget: { readonly amount: string; readonly window: string; readonly action: string }
  readonly spent: string
  // In percent of the amount.
  readonly threshold: number
  // Null: the window never ends.
  readonly resets_at: string | null
}

export type EventData = {
  readonly 'balance.low': AccountPart & { readonly available: string; readonly threshold: string }
  readonly 'balance.exhausted': AccountPart & { readonly available: string; readonly owed: string }
  readonly 'budget.threshold': BudgetPart
  readonly 'budget.exhausted': BudgetPart
  readonly 'key.created': KeyPart & { readonly actor: string; readonly expires_at: string | null }
  readonly 'key.rotated': KeyPart & { readonly actor: string; readonly grace_expires_at: string }
  // The last four characters of the secrets that are no longer valid.
  readonly 'key.grace_ended': KeyPart & { readonly ended: readonly string[] }
  readonly 'key.revoked': KeyPart & { readonly actor: string }
  readonly 'key.expiring': KeyPart & { readonly expires_at: string }
  readonly 'credits.added': AccountPart & {
    readonly entry_id: string
    readonly kind: 'topup' | 'adjustment'
    readonly amount: string
    readonly available: string
    readonly note: string | null
  }
  readonly 'provider.unavailable': { readonly provider_id: string; readonly targets: number }
  readonly 'provider.recovered': { readonly provider_id: string; readonly unavailable_since: string }
  readonly 'credential.rejected': { readonly provider_id: string; readonly credential: string }
  // The host only: the whole URL of an endpoint may be a secret.
  readonly 'webhook.disabled': {
    readonly webhook_id: string
    readonly host: string
    readonly reason: string
    readonly failing_since: string | null
  }
  // A sample that an operator has sent.
  readonly 'webhook.test': { readonly webhook_id: string; readonly message: string }
}

export type EventType = keyof EventData

// What a webhook can subscribe to.
export const EVENT_TYPES = [
  'balance.low',
  'balance.exhausted',
  'budget.threshold',
  'budget.exhausted',
  'key.created',
  'key.rotated',
  'key.grace_ended',
  'key.revoked',
  'key.expiring',
  'credits.added',
  'provider.unavailable',
  'provider.recovered',
  'credential.rejected',
  'webhook.disabled',
] as const satisfies readonly Exclude<EventType, 'webhook.test'>[]

// The types that a list of patterns names: a type, all of a group (`key.*`), or all (`*`).
export function typesOf(patterns: readonly string[]): readonly EventType[] {
  return EVENT_TYPES.filter(type => patterns.some(pattern => isOf(pattern, type)))
}

function isOf(pattern: string, type: EventType): boolean {
  return pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)))
}

export type OutboxEvent = {
  readonly [Type in EventType]: {
    readonly type: Type
    readonly accountId: string | null
    // Two events with the same value are one, for as long as the first is stored (40 days). Null: always an event.
    readonly once: string | null
    readonly data: EventData[Type]
  }
}[EventType]
