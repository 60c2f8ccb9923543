// Queries for the nodes that serve together.
import { useQuery } from '@tanstack/react-query'
import type { List } from '../../../src/admin/input.ts'
import type { NodeObject } from '../../../src/admin/nodes.ts'
import { call } from './call.ts'
import { LIVE_MS } from './queries.ts'

export function useNodes() {
  return useQuery({
    queryKey: ['nodes'],
    queryFn: ({ signal }) => call<List<NodeObject>>('GET', '/nodes', { signal }),
    refetchInterval: LIVE_MS,
  })
}
