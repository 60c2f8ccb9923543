// The query for the audit log.
import { useInfiniteQuery } from '@tanstack/react-query'
import type { EventObject } from '../../../src/admin/events.ts'
import type { List } from '../../../src/admin/input.ts'
import { call, queryOf } from './call.ts'
import { LIVE_MS } from './queries.ts'

const EVENTS_PAGE = 100

export const EVENT_FILTERS = ['actor', 'action', 'subject', 'from', 'to'] as const
export type EventFilter = Partial<Record<(typeof EVENT_FILTERS)[number], string>>

export function useEvents(filter: EventFilter) {
  return useInfiniteQuery({
    queryKey: ['events', filter],
    queryFn: ({ pageParam, signal }) =>
      call<List<EventObject>>('GET', `/events${queryOf({ ...filter, limit: EVENTS_PAGE, after: pageParam })}`, {
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: page => (page.has_more ? page.data.at(-1)?.id : undefined),
    placeholderData: before => before,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) === 1 ? LIVE_MS : false),
  })
}
