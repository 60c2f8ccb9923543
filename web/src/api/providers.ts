// Queries and mutations for providers, their credentials and their health.
import { useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import type { TargetTestObject } from '../../../src/admin/catalog-targets.ts'
import type { HealthObject, ProviderObject } from '../../../src/admin/catalog-wire.ts'
import { call, ifMatch } from './call.ts'
import type { Document } from './models.ts'
import { LIVE_MS, SLOW_MS } from './queries.ts'
import { readAll } from './read-all.ts'

export type { HealthObject, ProviderObject }
export type TargetHealth = HealthObject['targets'][number]
export type TargetTest = TargetTestObject

export function useProviders() {
  return useQuery({
    queryKey: ['providers', 'all'],
    queryFn: ({ signal }) => readAll<ProviderObject>('/providers', provider => provider.id, signal),
    refetchInterval: SLOW_MS,
  })
}

export type HealthByProvider = ReadonlyMap<string, HealthObject>

// By provider id; providers without health data are left out.
export function useHealthByProvider(ids: readonly string[]): HealthByProvider {
  return useQueries({
    queries: ids.map(id => ({
      queryKey: ['health', id],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        call<HealthObject>('GET', `/providers/${encodeURIComponent(id)}/health`, { signal }),
      refetchInterval: LIVE_MS,
    })),
    combine: results =>
      new Map(results.flatMap(({ data }) => (data === undefined ? [] : [[data.provider, data] as const]))),
  })
}

export function useCreateProvider() {
  return useProviderChange((document: Document) => call<ProviderObject>('POST', '/providers', { body: document }))
}

export type ProviderChange = { readonly of: ProviderObject; readonly change: Document }

export function useUpdateProvider() {
  return useProviderChange(({ of, change }: ProviderChange) =>
    call<ProviderObject>('PATCH', pathOf(of), { body: change, headers: ifMatch(of) }),
  )
}

export function useDeleteProvider() {
  return useProviderChange((of: ProviderObject) => call('DELETE', pathOf(of), { headers: ifMatch(of) }))
}

export function useAddCredential(of: ProviderObject) {
  return useProviderChange((secret: string) =>
    call<ProviderObject>('POST', `${pathOf(of)}/credentials`, { body: { api_key: secret }, headers: ifMatch(of) }),
  )
}

export function useRemoveCredential(of: ProviderObject) {
  return useProviderChange((id: string) => call('DELETE', `${pathOf(of)}/credentials/${encodeURIComponent(id)}`))
}

export function useSetTarget(id: string) {
  return useProviderChange((change: { readonly model: string; readonly disabled: boolean }) =>
    call<HealthObject>('PATCH', `/providers/${encodeURIComponent(id)}/targets`, { body: change }),
  )
}

export function useTestTarget(id: string) {
  return useProviderChange((model: string) =>
    call<TargetTest>('POST', `/providers/${encodeURIComponent(id)}/test`, { body: { model } }),
  )
}

function useProviderChange<Input, Output>(change: (input: Input) => Promise<Output>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSettled: () => {
      void client.invalidateQueries({ queryKey: ['health'] })
      return client.invalidateQueries({ queryKey: ['providers'] })
    },
  })
}

function pathOf({ id }: ProviderObject): string {
  return `/providers/${encodeURIComponent(id)}`
}
