// Queries and mutations for keys.
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { List, SortedList } from '../../../src/admin/input.ts'
import type { KeyChange, KeyInput, KeyObject, KeyWithSecret } from '../../../src/admin/keys.ts'
import { call, ifMatch, queryOf } from './call.ts'
import { LIVE_MS, SLOW_MS, type SortQuery } from './queries.ts'

export type { KeyChange, KeyInput, KeyObject, KeyWithSecret }

export type KeyFilter = { readonly q?: string; readonly status?: string; readonly account_id?: string }

const PAGE = 100
const DIRECTORY_MAX = 1000

export function useKeys(filter: KeyFilter, sorting: SortQuery = {}) {
  return useInfiniteQuery({
    queryKey: ['keys', 'list', filter, sorting],
    queryFn: ({ pageParam, signal }) =>
      call<SortedList<KeyObject>>('GET', `/keys${queryOf({ ...filter, ...sorting, limit: PAGE, after: pageParam })}`, {
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: page => (page.has_more ? (page.next_after ?? page.data.at(-1)?.id) : undefined),
    placeholderData: before => before,
    refetchInterval: SLOW_MS,
  })
}

export function useKey(id: string) {
  return useQuery({
    queryKey: ['keys', 'one', id],
    queryFn: ({ signal }) => call<KeyObject>('GET', `/keys/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: LIVE_MS,
  })
}

// For select lists and names: the newest 1,000; undefined until loaded.
export function useKeyDirectory(): ReadonlyMap<string, KeyObject> | undefined {
  const { data } = useQuery({
    queryKey: ['keys', 'directory'],
    queryFn: async ({ signal }) => {
      const { data } = await call<List<KeyObject>>('GET', `/keys${queryOf({ limit: DIRECTORY_MAX })}`, { signal })
      return new Map(data.map(key => [key.id, key]))
    },
    staleTime: 30_000,
  })
  return data
}

// For ids in other lists: a key that is not in the directory is fetched when it is displayed.
export function useKeyName(id: string): Pick<KeyObject, 'name' | 'label' | 'account_id'> | undefined {
  const directory = useKeyDirectory()
  const known = directory?.get(id)
  const single = useQuery({
    queryKey: ['keys', 'name', id],
    queryFn: ({ signal }) => call<KeyObject>('GET', `/keys/${encodeURIComponent(id)}`, { signal }),
    enabled: directory !== undefined && known === undefined,
    staleTime: 60_000,
    retry: false,
  })
  return known ?? single.data
}

export function useCreateKey() {
  return useKeyChange((input: KeyInput) => call<KeyWithSecret>('POST', '/keys', { body: input }))
}

export function useUpdateKey(of: KeyObject) {
  return useKeyChange((change: KeyChange) =>
    call<KeyObject>('PATCH', pathOf(of.id), { body: change, headers: ifMatch(of) }),
  )
}

export function useRotateKey(id: string) {
  return useKeyChange(() => call<KeyWithSecret>('POST', `${pathOf(id)}/rotate`, { body: {} }))
}

export function useEndGrace(id: string) {
  return useKeyChange((last4: string | undefined) =>
    call<KeyObject>('POST', `${pathOf(id)}/end-grace`, { body: last4 === undefined ? {} : { last4 } }),
  )
}

export function useRevokeKey(id: string) {
  return useKeyChange((abortStreams: boolean) =>
    call<KeyObject>('POST', `${pathOf(id)}/revoke`, { body: { abort_streams: abortStreams } }),
  )
}

function useKeyChange<Input, Output>(change: (input: Input) => Promise<Output>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSettled: () => client.invalidateQueries({ queryKey: ['keys'] }),
  })
}

function pathOf(id: string): string {
  return `/keys/${encodeURIComponent(id)}`
}
