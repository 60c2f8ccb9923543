// The query for the totals, series and rankings of a time range.
import { useQuery } from '@tanstack/react-query'
import type { ReportMethods } from '../../../src/admin/reports.ts'
import { call, queryOf } from './call.ts'
import { LIVE_MS, SLOW_MS } from './queries.ts'
import { rangeOf } from './ranges.ts'

export type Overview = Awaited<ReturnType<ReportMethods['overview']>>
export type Attention = Overview['attention'][number]
export type TimedSums = Overview['totals']
export type Sums = Omit<TimedSums, 'p50_ms' | 'p95_ms'>
export type Top = Sums & { readonly id: string; readonly name?: string; readonly label?: string }

// The range is computed again for every refresh, since most end now.
export function useOverview(params: URLSearchParams, zone: string) {
  return useQuery({
    queryKey: ['overview', params.get('range'), params.get('from'), params.get('to'), zone],
    queryFn: ({ signal }) => {
      const { from, to, step } = rangeOf(params, zone, Date.now())
      return call<Overview>('GET', `/overview${queryOf({ from, to, step, time_zone: zone })}`, { signal })
    },
    placeholderData: before => before,
    // Long ranges change little, and take longer to read.
    refetchInterval: ({ state }) => (state.data?.step === 'day' ? SLOW_MS : LIVE_MS),
  })
}
