// The query for the totals, series and rankings of a time range.
import { useQuery } from '@tanstack/react-query'
import type { OverviewObject } from '../../../src/admin/overview.ts'
import { call, queryOf } from './call.ts'
import { LIVE_MS } from './queries.ts'
import { rangeOf } from './ranges.ts'

export type Overview = OverviewObject
export type TimedSums = Overview['totals']
export type Sums = Omit<TimedSums, 'p50_ms' | 'p95_ms'>
export type Top = Sums & { readonly id: string; readonly name?: string; readonly label?: string }

// The range is computed again for every refresh, since most end now.
export function useOverview(params: URLSearchParams, zone: string) {
  return useQuery({
    queryKey: ['overview', params.get('range'), params.get('from'), params.get('to'), zone],
    queryFn: ({ signal }) => {
      const { from, to, step } = rangeOf(params, zone, Date.now())
      return call<Overview>('GET', `/overview${queryOf({ from, to, step })}`, { signal })
    },
    placeholderData: before => before,
    refetchInterval: LIVE_MS,
  })
}
