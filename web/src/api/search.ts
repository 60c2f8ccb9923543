// The query of the search over accounts, keys, models and requests.
import { useQuery } from '@tanstack/react-query'
import type { List } from '../../../src/admin/input.ts'
import type { SearchResult } from '../../../src/admin/search.ts'
import { call, queryOf } from './call.ts'

export type { SearchResult }

export function useSearchResults(text: string) {
  const q = text.trim()
  return useQuery({
    queryKey: ['search', q],
    queryFn: ({ signal }) => call<List<SearchResult>>('GET', `/search${queryOf({ q })}`, { signal }),
    enabled: q !== '',
    placeholderData: before => (q === '' ? undefined : before),
    staleTime: 10_000,
  })
}
