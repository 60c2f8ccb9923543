// Queries of the portal: the account, keys, usage rows and sums. Changes of keys are those of the dashboard, at the portal's API.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { List } from '../../../src/admin/input.ts'
import type { PortalAccount, PortalKey, PortalSummary, PortalUsage } from '../../../src/portal/objects.ts'
import { call, queryOf } from '../api/call.ts'
import { LIVE_MS, SLOW_MS } from '../api/queries.ts'

export type { PortalAccount, PortalKey, PortalSummary, PortalUsage }

export type UsageFilter = {
  readonly from?: string
  readonly to?: string
  readonly key_id?: string
  readonly model?: string
  readonly outcome?: string
}

const KEYS = 100
const ROWS = 50

export function useAccount() {
  return useQuery({
    queryKey: ['account'],
    queryFn: ({ signal }) => call<PortalAccount>('GET', '/account', { signal }),
    refetchInterval: SLOW_MS,
  })
}

export function usePortalKeys(filter: { readonly status?: string }) {
  return useInfiniteQuery({
    queryKey: ['keys', 'list', filter],
    queryFn: ({ pageParam, signal }) =>
      call<List<PortalKey>>('GET', `/keys${queryOf({ ...filter, limit: KEYS, after: pageParam })}`, { signal }),
    initialPageParam: '',
    getNextPageParam: page => (page.has_more ? page.data.at(-1)?.id : undefined),
    placeholderData: before => before,
    refetchInterval: SLOW_MS,
  })
}

export function usePortalKey(id: string) {
  return useQuery({
    queryKey: ['keys', 'one', id],
    queryFn: ({ signal }) => call<PortalKey>('GET', `/keys/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: LIVE_MS,
  })
}

// Polls only while the first page is loaded, so that rows do not move under somebody who has scrolled down.
export function usePortalUsage(filter: UsageFilter) {
  return useInfiniteQuery({
    queryKey: ['usage', 'list', filter],
    queryFn: ({ pageParam, signal }) =>
      call<List<PortalUsage>>('GET', `/usage${queryOf({ ...filter, limit: ROWS, after: pageParam })}`, { signal }),
    initialPageParam: '',
    getNextPageParam: page => (page.has_more ? page.data.at(-1)?.request_id : undefined),
    placeholderData: before => before,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) === 1 ? SLOW_MS : false),
  })
}

export function usePortalRequest(id: string) {
  return useQuery({
    queryKey: ['usage', 'one', id],
    queryFn: ({ signal }) => call<PortalUsage>('GET', `/usage/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: ({ state }) => (state.data?.state === 'open' ? LIVE_MS : false),
  })
}

export function usePortalSummary(groupBy: 'day' | 'hour' | 'model' | 'key', filter: UsageFilter) {
  return useQuery({
    queryKey: ['usage', 'summary', groupBy, filter],
    queryFn: ({ signal }) =>
      call<List<PortalSummary>>('GET', `/usage/summary${queryOf({ ...filter, group_by: groupBy })}`, { signal }),
    placeholderData: before => before,
    refetchInterval: SLOW_MS,
  })
}
