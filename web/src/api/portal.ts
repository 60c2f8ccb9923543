// Queries and mutations for the customer portal of an account: links to it, and its sessions.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { List } from '../../../src/admin/input.ts'
import type { PortalLinkObject, PortalSessionObject } from '../../../src/portal/sessions.ts'
import { call } from './call.ts'
import { SLOW_MS } from './queries.ts'

export function usePortalSessions(accountId: string) {
  return useQuery({
    queryKey: ['portal-sessions', accountId],
    queryFn: ({ signal }) => call<List<PortalSessionObject>>('GET', pathOf(accountId), { signal }),
    refetchInterval: SLOW_MS,
  })
}

export function useCreatePortalLink(accountId: string) {
  return useMutation({ mutationFn: () => call<PortalLinkObject>('POST', pathOf(accountId), { body: {} }) })
}

export function useEndPortalSession(accountId: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => call('DELETE', `${pathOf(accountId)}/${encodeURIComponent(id)}`),
    onSettled: () => client.invalidateQueries({ queryKey: ['portal-sessions', accountId] }),
  })
}

function pathOf(accountId: string): string {
  return `/accounts/${encodeURIComponent(accountId)}/portal-sessions`
}
