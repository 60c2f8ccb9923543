// The query for the totals, series and rankings of a time range.
import { useQuery } from '@tanstack/react-query'
import type { OverviewObject } from '../../../src/admin/overview.ts'
import { call, queryOf } from './call.ts'
import { LIVE_MS } from './queries.ts'

export type Overview = OverviewObject
export type TimedSums = Overview['totals']
export type Sums = Omit<TimedSums, 'p50_ms' | 'p95_ms'>
export type Top = Sums & { readonly id: string; readonly name?: string; readonly label?: string }

export const RANGES = [
  { id: '24h', label: '24 hours', hours: 24, step: 'hour' },
  { id: '7d', label: '7 days', hours: 168, step: 'hour' },
  { id: '30d', label: '30 days', hours: 720, step: 'day' },
  { id: '90d', label: '90 days', hours: 2160, step: 'day' },
] as const
export type Range = (typeof RANGES)[number]

const HOUR_MS = 3_600_000

export function useOverview(range: Range) {
  return useQuery({
    queryKey: ['overview', range.id],
    queryFn: ({ signal }) => {
      const from = new Date(startOf(range, Date.now())).toISOString()
      return call<Overview>('GET', `/overview${queryOf({ from, step: range.step })}`, { signal })
    },
    placeholderData: before => before,
    refetchInterval: LIVE_MS,
  })
}

// Aligned to whole hours or UTC days, so that the first bar is complete; the last one is the current hour or day.
function startOf(range: Range, now: number): number {
  const stepMs = range.step === 'hour' ? HOUR_MS : 24 * HOUR_MS
  return Math.floor(now / stepMs) * stepMs - range.hours * HOUR_MS + stepMs
}
