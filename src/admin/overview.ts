// The overview's parameters and response.
import { formatCredits } from '../domain/credits.ts'
import { DAY_MS } from '../domain/key.ts'
import { HOUR_MS } from '../domain/usage.ts'
import { isoTime } from '../domain/wire-time.ts'
import type { Moment, Overview, OverviewSpan, Spending } from '../store/contract/operator.ts'
import { readRange, wrong } from './input.ts'

export type OverviewQuery = { readonly from?: string; readonly to?: string; readonly step?: 'hour' | 'day' }

export type SpendingObject = {
  readonly requests: number
  readonly errors: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost: string
  // Null if it is unknown for every request that was served.
  readonly upstream_cost: string | null
  readonly margin: string | null
  readonly requests_without_upstream_cost: number
}
type MomentObject = SpendingObject & { readonly p50_ms: number | null; readonly p95_ms: number | null }
type TopObject = SpendingObject & { readonly id: string }

export type OverviewObject = {
  readonly object: 'overview'
  readonly from: string
  readonly to: string
  readonly step: 'hour' | 'day'
  readonly totals: MomentObject
  readonly series: readonly (MomentObject & { readonly at: string })[]
  readonly top: {
    readonly models: readonly TopObject[]
    readonly keys: readonly (TopObject & { readonly name: string; readonly label: string })[]
    readonly providers: readonly TopObject[]
    readonly accounts: readonly (TopObject & { readonly name: string })[]
  }
  readonly low_balances: readonly {
    readonly id: string
    readonly name: string
    readonly available: string
    readonly owed: string
  }[]
}

const STEPS_MAX = 1000
// A longer span is shown by day unless requested otherwise.
const HOURLY_MS_MAX = 7 * DAY_MS

// The last 24 hours by default.
export function readOverviewSpan(query: OverviewQuery, now: number): OverviewSpan {
  const range = readRange(query)
  const to = range.to ?? Math.max(now, range.from ?? 0)
  const from = range.from ?? to - DAY_MS
  const step = query.step ?? (to - from > HOURLY_MS_MAX ? 'day' : 'hour')
  const steps = (to - from) / (step === 'hour' ? HOUR_MS : DAY_MS)
  if (steps > STEPS_MAX) throw wrong('from', `at most ${STEPS_MAX} ${step}s before \`to\``)
  return { from, to, step }
}

export function overviewObject({ step }: OverviewSpan, overview: Overview): OverviewObject {
  return {
    object: 'overview',
    from: isoTime(overview.from),
    to: isoTime(overview.to),
    step,
    totals: momentObject(overview.totals),
    series: overview.series.map(moment => ({ at: isoTime(moment.at), ...momentObject(moment) })),
    top: {
      models: overview.models.map(topObject),
      keys: overview.keys.map(key => ({ ...topObject(key), name: key.name, label: key.label })),
      providers: overview.providers.map(topObject),
      accounts: overview.accounts.map(account => ({ ...topObject(account), name: account.name })),
    },
    low_balances: overview.lowBalances.map(({ id, name, available, owed }) => ({
      id,
      name,
      available: formatCredits(available),
      owed: formatCredits(owed),
    })),
  }
}

function topObject(spending: Spending): TopObject {
  return { id: spending.group, ...spendingObject(spending) }
}

function momentObject(moment: Moment): MomentObject {
  return { ...spendingObject(moment), p50_ms: moment.p50Ms, p95_ms: moment.p95Ms }
}

export function spendingObject(sums: Omit<Spending, 'group'>): SpendingObject {
  const { cost, upstreamCost, requestsWithoutUpstreamCost: unknown, costWithoutUpstreamCost: unknownPart } = sums
  const isKnown = unknown === 0 || upstreamCost !== 0n || cost !== unknownPart
  return {
    requests: sums.requests,
    errors: sums.errors,
    prompt_tokens: sums.promptTokens,
    completion_tokens: sums.completionTokens,
    cost: formatCredits(cost),
    upstream_cost: isKnown ? formatCredits(upstreamCost) : null,
    // Of the requests whose upstream cost is known: the others would count as pure profit.
    margin: isKnown ? formatCredits(cost - unknownPart - upstreamCost) : null,
    requests_without_upstream_cost: unknown,
  }
}
