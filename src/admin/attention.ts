// What an operator should look at, most urgent first: providers that are down, rejected credentials, more errors than before,
// exhausted limits, low balances and webhooks that fail.
import type { BudgetWindow } from '../domain/budget.ts'
import { formatCredits } from '../domain/credits.ts'
import type { NearLimit } from '../domain/money-gauges.ts'
import type { TargetsView } from '../domain/routing.ts'
import type { Webhook } from '../domain/webhook.ts'
import type { Moment, Overview } from '../store/contract/operator.ts'

export const ATTENTION_KINDS = [
  'provider_down',
  'target_down',
  'credential_rejected',
  'error_spike',
  'key_limit',
  'account_limit',
  'low_balance',
  'webhook_disabled',
  'webhook_failing',
] as const

export type AttentionObject = {
  readonly kind: (typeof ATTENTION_KINDS)[number]
  readonly severity: 'error' | 'warning'
  // Of the provider, key, account or webhook; null for errors in general.
  readonly id: string | null
  readonly name: string
  readonly message: string
}

export type AttentionFacts = {
  readonly overview: Pick<Overview, 'totals' | 'previous' | 'lowBalances'>
  readonly targets: TargetsView
  readonly nearLimits: readonly NearLimit[]
  readonly webhooks: readonly Webhook[]
  readonly now: number
}

const SHOWN_MAX = 50

export function attentionOf(facts: AttentionFacts): readonly AttentionObject[] {
  const { overview, targets, nearLimits, webhooks, now } = facts
  return [
    ...downOf(targets, now),
    ...rejectedOf(targets),
    ...spikeOf(overview),
    ...nearLimits.map(limitItem),
    ...overview.lowBalances.map(balanceItem),
    ...webhooks.flatMap(webhookItem),
  ].slice(0, SHOWN_MAX)
}

function downOf({ targets }: TargetsView, now: number): readonly AttentionObject[] {
  const items: AttentionObject[] = []
  for (const [provider, all] of Map.groupBy(targets, target => target.provider)) {
    const down = all.filter(({ state }) => state !== 'closed')
    if (down.length === 0) continue
    const retry = Math.min(...down.map(({ openUntil }) => openUntil ?? now))
    const seconds = Math.max(0, Math.ceil((retry - now) / 1000))
    const retrying = seconds === 0 ? 'retrying now' : `retrying in ${seconds} s`
    const isAll = down.length === all.length
    const names = down.slice(0, 3).map(({ model }) => model)
    items.push({
      kind: isAll ? 'provider_down' : 'target_down',
      severity: 'error',
      id: provider,
      name: provider,
      message: isAll
        ? `is down: ${retrying}.`
        : `has ${down.length} of ${all.length} targets down (${names.join(', ')}${down.length > 3 ? ', …' : ''}): ${retrying}.`,
    })
  }
  return items.sort((a, b) => (a.kind === b.kind ? 0 : a.kind === 'provider_down' ? -1 : 1))
}

function rejectedOf({ credentials }: TargetsView): readonly AttentionObject[] {
  const rejected = Map.groupBy(
    credentials.filter(({ state }) => state === 'dead'),
    ({ provider }) => provider,
  )
  return [...rejected].map(([provider, { length }]) => ({
    kind: 'credential_rejected',
    severity: 'error',
    id: provider,
    name: provider,
    message:
      length === 1
        ? 'rejects a credential. Replace it, or fix it at the provider.'
        : `rejects ${length} credentials. Replace them, or fix them at the provider.`,
  }))
}

const SPIKE_ERRORS_MIN = 10
const SPIKE_RATE_MIN = 0.05
const SPIKE_GROWTH_MIN = 2

// Errors of providers and of the gateway. Invalid requests and refusals by limits are not an outage.
function spikeOf({ totals, previous }: AttentionFacts['overview']): readonly AttentionObject[] {
  const [now, before] = [outageRate(totals), outageRate(previous)]
  const isSpike =
    now.errors >= SPIKE_ERRORS_MIN && now.rate >= SPIKE_RATE_MIN && now.rate >= SPIKE_GROWTH_MIN * before.rate
  if (!isSpike) return []
  const was = previous.requests === 0 ? '' : `, ${percent(before.rate)} in the period before`
  const message = `${percent(now.rate)} of requests failed at providers${was} (${now.errors} of ${totals.requests}).`
  return [{ kind: 'error_spike', severity: 'error', id: null, name: 'Errors', message }]
}

function outageRate({ requests, errors, errorsByCause: { caller, limits, money } }: Moment) {
  const ours = errors - caller - limits - money
  return { errors: ours, rate: requests === 0 ? 0 : ours / requests }
}

function percent(rate: number): string {
  return `${Math.round(rate * 1000) / 10} %`
}

const BUDGET_NAMES: Readonly<Record<BudgetWindow, string>> = {
  hour: 'hourly',
  day: 'daily',
  week: 'weekly',
  month: 'monthly',
  total: 'total',
}

function limitItem({ object, id, name, window, amount, spent }: NearLimit): AttentionObject {
  const permille = (spent * 1000n) / amount
  const what = window === null ? 'credit limit' : `${BUDGET_NAMES[window]} budget`
  const isFull = spent >= amount
  return {
    kind: object === 'key' ? 'key_limit' : 'account_limit',
    severity: isFull ? 'error' : 'warning',
    id,
    name,
    message: `has used ${isFull ? 'all' : `${permille / 10n}.${permille % 10n} %`} of its ${what} of ${formatCredits(amount)} credits.`,
  }
}

function balanceItem({ id, name, available, owed }: Overview['lowBalances'][number]): AttentionObject {
  const isOwing = owed > 0n
  return {
    kind: 'low_balance',
    severity: isOwing || available === 0n ? 'error' : 'warning',
    id,
    name,
    message: isOwing
      ? `is overdrawn by ${formatCredits(owed)} credits; requests are blocked.`
      : `has ${formatCredits(available)} credits left.`,
  }
}

// One that an operator disabled is as it should be.
function webhookItem(webhook: Webhook): readonly AttentionObject[] {
  const { id, url, description, enabled, disabledReason, failingSince } = webhook
  const name = description === '' ? new URL(url).host : description
  if (!enabled && disabledReason !== null) {
    return [{ kind: 'webhook_disabled', severity: 'warning', id, name, message: `was disabled: ${disabledReason}` }]
  }
  if (!enabled || failingSince === null) return []
  return [
    { kind: 'webhook_failing', severity: 'warning', id, name, message: 'does not accept events; they are retried.' },
  ]
}
