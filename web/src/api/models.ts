// Queries and mutations for the models of the catalog, and the import of list prices.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ImportObject, ImportOrder } from '../../../src/admin/catalog-import.ts'
import type { RepriceObject, RepriceOrder } from '../../../src/admin/catalog-reprice.ts'
import type { ModelObject } from '../../../src/admin/catalog-wire.ts'
import { type CallOptions, call, ifMatch, type Method } from './call.ts'
import { SLOW_MS } from './queries.ts'
import { readAll } from './read-all.ts'

export type { ImportObject, ImportOrder, ModelObject, RepriceObject }
export type Document = Readonly<Record<string, unknown>>

export function useModels() {
  return useQuery({
    queryKey: ['models', 'all'],
    queryFn: ({ signal }) => readAll<ModelObject>('/models', model => model.id, signal),
    refetchInterval: SLOW_MS,
  })
}

const NONE: readonly ModelObject[] = []

export function useModelDirectory(): readonly ModelObject[] {
  return (
    useQuery({
      queryKey: ['models', 'all'],
      queryFn: ({ signal }) => readAll<ModelObject>('/models', model => model.id, signal),
      staleTime: 30_000,
    }).data ?? NONE
  )
}

export function useCreateModel() {
  return useModelChange((document: Document) => call<ModelObject>('POST', '/models', { body: document }))
}

export type ModelChange = { readonly of: ModelObject; readonly change: Document }

export function useUpdateModel() {
  return useModelChange(({ of, change }: ModelChange) => callModel<ModelObject>('PATCH', of, { body: change }))
}

export function useDeleteModel() {
  return useModelChange((of: ModelObject) => callModel('DELETE', of, {}))
}

// Called twice: as a dry run that shows the changes, then to save them.
export function useImport() {
  return useModelChange((order: ImportOrder) => call<ImportObject>('POST', '/models/import', { body: order }))
}

export function useReprice() {
  return useModelChange((order: RepriceOrder) => call<RepriceObject>('POST', '/models/reprice', { body: order }))
}

function callModel<T>(method: Method, of: ModelObject, options: CallOptions): Promise<T> {
  return call<T>(method, `/models/${encodeURIComponent(of.id)}`, {
    ...options,
    headers: ifMatch(of),
  })
}

function useModelChange<Input, Output>(change: (input: Input) => Promise<Output>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSettled: () => client.invalidateQueries({ queryKey: ['models'] }),
  })
}
