// Queries and mutations for operators and their dashboard sessions.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { List } from '../../../src/admin/input.ts'
import type { OperatorObject, OperatorWithToken } from '../../../src/admin/operators.ts'
import type { SessionObject } from '../../../src/admin/sessions.ts'
import { call } from './call.ts'
import { SLOW_MS } from './queries.ts'
import type { Role } from './session.ts'

export type { OperatorObject }

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
