// Queries for usage rows, one request, and sums.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { List, SortedList } from '../../../src/admin/input.ts'
import type { SummaryObject } from '../../../src/admin/reports.ts'
import type { OperatorUsageObject } from '../../../src/domain/usage-wire.ts'
import { call, queryOf } from './call.ts'
import { LIVE_MS, SLOW_MS } from './queries.ts'

export type UsageRow = OperatorUsageObject

export const USAGE_FILTERS = [
  'from',
  'to',
  'key_id',
  'account_id',
  'model',
  'provider',
  'endpoint',
  'outcome',
  'cause',
  'tag',
] as const
export type UsageFilter = Partial<Record<(typeof USAGE_FILTERS)[number], string>> & {
  readonly error_code?: readonly string[]
}
export type UsageSort = 'time' | 'cost'

const PAGE = 200

// Polls only while the first page is loaded, so that rows do not move under somebody who has scrolled down.
export function useUsage(filter: UsageFilter, sort: UsageSort, enabled: boolean) {
  const order = sort === 'time' ? {} : { sort }
  return useInfiniteQuery({
    enabled,
    queryKey: ['usage', 'list', filter, sort],
    queryFn: ({ pageParam, signal }) =>
      call<SortedList<UsageRow>>('GET', `/usage${queryOf({ ...filter, ...order, limit: PAGE, after: pageParam })}`, {
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: page => (page.has_more ? (page.next_after ?? page.data.at(-1)?.request_id) : undefined),
    placeholderData: before => before,
    refetchInterval: ({ state }) =>
      (state.data?.pages.length ?? 1) === 1 ? (sort === 'time' ? LIVE_MS : SLOW_MS) : false,
  })
}

export function useLastFailures(accountId: string, max: number) {
  const filter = { account_id: accountId, outcome: 'failed', limit: max }
  return useQuery({
    queryKey: ['usage', 'failures', accountId],
    queryFn: ({ signal }) => call<List<UsageRow>>('GET', `/usage${queryOf(filter)}`, { signal }),
    refetchInterval: SLOW_MS,
  })
}

// Polls an open row until it is settled.
export function useRequest(id: string) {
  return useQuery({
    queryKey: ['usage', 'one', id],
    queryFn: ({ signal }) => call<UsageRow>('GET', `/usage/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: ({ state }) => (state.data?.state === 'open' ? 1000 : false),
  })
}

export type Summary = SummaryObject
export type SummaryGroup = 'day' | 'hour' | 'model' | 'provider' | 'key' | 'account' | `tag:${string}`

export function useSummary(groupBy: SummaryGroup, filter: UsageFilter) {
  return useQuery({
    queryKey: ['usage', 'summary', groupBy, filter],
    queryFn: ({ signal }) =>
      call<List<SummaryObject>>('GET', `/usage/summary${queryOf({ ...filter, group_by: groupBy })}`, { signal }),
    placeholderData: before => before,
    refetchInterval: SLOW_MS,
  })
}
