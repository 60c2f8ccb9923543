// The house itself: its nodes, its settings, the operators and their sessions, and the trace of what they did.
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { EventObject } from '../../../src/admin/events.ts'
import type { List } from '../../../src/admin/input.ts'
import type { NodeObject } from '../../../src/admin/nodes.ts'
import type { OperatorObject, OperatorWithToken } from '../../../src/admin/operators.ts'
import type { SessionObject } from '../../../src/admin/sessions.ts'
import type { SettingsObject } from '../../../src/admin/settings.ts'
import { call, queryOf } from './call.ts'
import { LIVE_MS, SLOW_MS } from './queries.ts'
import type { Role } from './session.ts'

export type { OperatorObject, SettingsObject }

const EVENTS_PAGE = 100

export function useNodes() {
  return useQuery({
    queryKey: ['nodes'],
    queryFn: ({ signal }) => call<List<NodeObject>>('GET', '/nodes', { signal }),
    refetchInterval: LIVE_MS,
  })
}

export function useSettings() {
  return useQuery({
    queryKey: ['settings'],
    queryFn: ({ signal }) => call<SettingsObject>('GET', '/settings', { signal }),
    refetchInterval: SLOW_MS,
  })
}

export type EventFilter = { readonly actor?: string; readonly action?: string; readonly subject?: string }

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

export function useOperators() {
  return useQuery({
    queryKey: ['operators'],
    queryFn: ({ signal }) => call<List<OperatorObject>>('GET', '/operators', { signal }),
    refetchInterval: SLOW_MS,
  })
}

export function useCreateOperator() {
  return useOperatorChange((input: { readonly name: string; readonly role: Role }) =>
    call<OperatorWithToken>('POST', '/operators', { body: input }),
  )
}

export function useUpdateOperator() {
  return useOperatorChange(({ id, ...change }: { readonly id: string; readonly name?: string; readonly role?: Role }) =>
    call<OperatorObject>('PATCH', `/operators/${encodeURIComponent(id)}`, { body: change }),
  )
}

export function useRotateOperator() {
  return useOperatorChange((id: string) =>
    call<OperatorWithToken>('POST', `/operators/${encodeURIComponent(id)}/rotate`, { body: {} }),
  )
}

export function useRemoveOperator() {
  return useOperatorChange((id: string) => call('DELETE', `/operators/${encodeURIComponent(id)}`))
}

export function useSessions() {
  return useQuery({
    queryKey: ['sessions'],
    queryFn: ({ signal }) => call<List<SessionObject>>('GET', '/sessions', { signal }),
    refetchInterval: SLOW_MS,
  })
}

export function useEndSession() {
  return useOperatorChange((id: string) => call('DELETE', `/sessions/${encodeURIComponent(id)}`))
}

function useOperatorChange<Input, Output>(change: (input: Input) => Promise<Output>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSettled: () => {
      void client.invalidateQueries({ queryKey: ['sessions'] })
      return client.invalidateQueries({ queryKey: ['operators'] })
    },
  })
}
