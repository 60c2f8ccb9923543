// The sums of a range as chart points: every hour, or every day of the chosen time zone, also those without a request. Days are added up
// from hours, since a day has 23 or 25 of them when clocks change.
import type { Point } from '../components/chart-point.ts'
import { plus } from '../format/amounts.ts'
import { chartHeight } from '../format/decimals.ts'
import { startOfDay, UTC } from '../format/time.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
// The server sends at most 1,000 groups.
const HOURS_MAX = 960

export type Sums = {
  readonly requests: number
  readonly errors: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost: string
}
export type Group = Sums & { readonly group: string }

export type Grain = {
  // What the server groups by, and what a point is.
  readonly groupBy: 'hour' | 'day'
  readonly step: 'hour' | 'day'
  readonly zone: string
}

// Days of the zone where they can be added up from hours; otherwise days of UTC, which the server has.
export function grainOf(from: number, to: number, step: 'hour' | 'day', zone: string): Grain {
  const hours = (to - from) / HOUR_MS
  const isWhole = startOfDay(from, zone) % HOUR_MS === 0 && startOfDay(to, zone) % HOUR_MS === 0
  if (step === 'hour' && hours <= HOURS_MAX) return { groupBy: 'hour', step, zone }
  return hours <= HOURS_MAX && isWhole
    ? { groupBy: 'hour', step: 'day', zone }
    : { groupBy: 'day', step: 'day', zone: UTC }
}

const NO_SUMS: Sums = { requests: 0, errors: 0, prompt_tokens: 0, completion_tokens: 0, cost: '0' }

export function seriesOf(groups: readonly Group[], from: number, to: number, { step, zone }: Grain): readonly Point[] {
  const starts = startsOf(from, to, step, zone)
  const sums = new Map<number, Sums>()
  for (const group of groups) {
    const at = starts.findLast(start => start <= timeOf(group.group))
    if (at !== undefined) sums.set(at, add(sums.get(at) ?? NO_SUMS, group))
  }
  return starts.map(at => pointOf(at, sums.get(at) ?? NO_SUMS))
}

export function totalOf(groups: readonly Sums[]): Sums {
  return groups.reduce(add, NO_SUMS)
}

function startsOf(from: number, to: number, step: 'hour' | 'day', zone: string): readonly number[] {
  const starts: number[] = []
  if (step === 'hour') {
    for (let at = Math.floor(from / HOUR_MS) * HOUR_MS; at < to; at += HOUR_MS) starts.push(at)
    return starts
  }
  const first = startOfDay(from, zone)
  for (let day = 0; ; day++) {
    const at = startOfDay(first + DAY_MS / 2, zone, day)
    if (at >= to) return starts
    starts.push(at)
  }
}

// The server's names of hours and days: 2026-11-17T14:00:00Z, 2026-11-17.
function timeOf(group: string): number {
  return Date.parse(group)
}

function add(a: Sums, b: Sums): Sums {
  return {
    requests: a.requests + b.requests,
    errors: a.errors + b.errors,
    prompt_tokens: a.prompt_tokens + b.prompt_tokens,
    completion_tokens: a.completion_tokens + b.completion_tokens,
    cost: plus(a.cost, b.cost),
  }
}

function pointOf(at: number, sums: Sums): Point {
  return {
    at: new Date(at).toISOString(),
    served: sums.requests - sums.errors,
    errors: sums.errors,
    prompt: sums.prompt_tokens,
    completion: sums.completion_tokens,
    cost: sums.cost,
    spend: chartHeight(sums.cost),
  }
}
