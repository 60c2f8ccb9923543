// The overview's parameters and response.
import { formatCredits } from '../domain/credits.ts'
import type { ErrorCause } from '../domain/error-cause.ts'
import { DAY_MS } from '../domain/key.ts'
import { STEP_MS } from '../domain/usage.ts'
import { isoTime } from '../domain/wire-time.ts'
import { type ZoneOffsets, zoneOffsets } from '../domain/zone-offsets.ts'
import type { Moment, Overview, OverviewSpan, OverviewStep, Spending } from '../store/contract/operator.ts'
import { readRange, wrong } from './input.ts'

export type OverviewQuery = {
  readonly from?: string
  readonly to?: string
  readonly step?: OverviewStep
  readonly time_zone?: string
}

export type SpendingObject = {
  readonly requests: number
  readonly errors: number
  readonly errors_by_cause: Readonly<Record<ErrorCause, number>>
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost: string
  // Null if it is unknown for every request that was served.
  readonly upstream_cost: string | null
  readonly margin: string | null
  readonly requests_without_upstream_cost: number
  readonly failovers: number
}
type MomentObject = SpendingObject & { readonly p50_ms: number | null; readonly p95_ms: number | null }
type TopObject = SpendingObject & { readonly id: string }

export type OverviewObject = {
  readonly object: 'overview'
  readonly from: string
  readonly to: string
  readonly step: OverviewStep
  // Of the days of the series: the requested one, or UTC where its days do not begin with a full hour of UTC.
  readonly time_zone: string
  readonly totals: MomentObject
  readonly previous: MomentObject & { readonly from: string; readonly to: string }
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
// Minutes are read from rows.
const MINUTES_MAX = 180

// The last 24 hours by default.
export function readOverviewSpan(query: OverviewQuery, now: number): OverviewSpan & { readonly zone: string } {
  const range = readRange(query)
  const to = range.to ?? Math.max(now, range.from ?? 0)
  const from = range.from ?? to - DAY_MS
  const step = query.step ?? (to - from > HOURLY_MS_MAX ? 'day' : 'hour')
  const max = step === 'minute' ? MINUTES_MAX : STEPS_MAX
  if ((to - from) / STEP_MS[step] > max) throw wrong('from', `at most ${max} ${step}s before \`to\``)
  const offsets = step === 'day' ? readOffsets(query.time_zone, from, to) : undefined
  return { from, to, step, offsets, zone: offsets === undefined ? UTC : (query.time_zone ?? UTC) }
}

const UTC = 'UTC'

function readOffsets(zone: string | undefined, from: number, to: number): ZoneOffsets | undefined {
  if (zone === undefined || zone === UTC) return undefined
  try {
    return zoneOffsets(zone, from, to)
  } catch {
    throw wrong('time_zone', 'the name of an IANA time zone, such as Europe/Berlin')
  }
}

export function overviewObject(zone: string, overview: Overview): OverviewObject {
  const { from, to, step, totals, previous } = overview
  return {
    object: 'overview',
    from: isoTime(from),
    to: isoTime(to),
    step,
    time_zone: zone,
    totals: momentObject(totals),
    previous: { from: isoTime(previous.from), to: isoTime(previous.to), ...momentObject(previous) },
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
    errors_by_cause: sums.errorsByCause,
    prompt_tokens: sums.promptTokens,
    completion_tokens: sums.completionTokens,
    cost: formatCredits(cost),
    upstream_cost: isKnown ? formatCredits(upstreamCost) : null,
    // Of the requests whose upstream cost is known: the others would count as pure profit.
    margin: isKnown ? formatCredits(cost - unknownPart - upstreamCost) : null,
    requests_without_upstream_cost: unknown,
    failovers: sums.failovers,
  }
}
