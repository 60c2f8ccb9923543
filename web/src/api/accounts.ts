// Queries and mutations for accounts, their credits and their ledger.
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type {
  AccountChange,
  AccountInput,
  AccountObject,
  CreditsInput,
  LedgerObject,
} from '../../../src/admin/accounts.ts'
import type { List, SortedList } from '../../../src/admin/input.ts'
import { apiUrl, call, ifMatch, queryOf } from './call.ts'
import { LIVE_MS, SLOW_MS, type SortQuery } from './queries.ts'

export type { AccountObject, LedgerObject }

const PAGE = 100
const DIRECTORY_MAX = 1000

export function useAccounts(q: string, sorting: SortQuery = {}) {
  return useInfiniteQuery({
    queryKey: ['accounts', 'list', q, sorting],
    queryFn: ({ pageParam, signal }) =>
      call<SortedList<AccountObject>>('GET', `/accounts${queryOf({ q, ...sorting, limit: PAGE, after: pageParam })}`, {
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: page => (page.has_more ? (page.next_after ?? page.data.at(-1)?.id) : undefined),
    placeholderData: before => before,
    refetchInterval: SLOW_MS,
  })
}

export function useAccount(id: string) {
  return useQuery({
    queryKey: ['accounts', 'one', id],
    queryFn: ({ signal }) => call<AccountObject>('GET', pathOf(id), { signal }),
    refetchInterval: LIVE_MS,
  })
}

// For select lists and names: the newest 1,000.
export function useAccountDirectory(): readonly AccountObject[] {
  const { data } = useQuery({
    queryKey: ['accounts', 'directory'],
    queryFn: ({ signal }) =>
      call<List<AccountObject>>('GET', `/accounts${queryOf({ limit: DIRECTORY_MAX })}`, { signal }),
    staleTime: 30_000,
  })
  return data?.data ?? NONE
}

const NONE: readonly AccountObject[] = []

export function useAccountName(id: string): string {
  const accounts = useAccountDirectory()
  return accounts.find(account => account.id === id)?.name ?? id
}

export type LedgerFilter = { readonly kind?: string; readonly from?: string; readonly to?: string }

export function useLedger(id: string, filter: LedgerFilter) {
  return useInfiniteQuery({
    queryKey: ['accounts', 'ledger', id, filter],
    queryFn: ({ pageParam, signal }) =>
      call<List<LedgerObject>>('GET', `${pathOf(id)}/ledger${queryOf({ ...filter, limit: PAGE, after: pageParam })}`, {
        signal,
      }),
    placeholderData: before => before,
    initialPageParam: '',
    getNextPageParam: page => (page.has_more ? page.data.at(-1)?.id : undefined),
    refetchInterval: ({ state }) => (state.data?.pages.length === 1 ? LIVE_MS : false),
  })
}

export function ledgerCsv(id: string, filter: LedgerFilter): string {
  return apiUrl(`${pathOf(id)}/ledger${queryOf({ ...filter, format: 'csv' })}`)
}

// And its first credits.
export function useCreateAccount(idempotencyKey: string) {
  return {
    create: useAccountChange((input: AccountInput) => call<AccountObject>('POST', '/accounts', { body: input })),
    credit: useAccountChange(({ id, ...credits }: CreditsInput & { readonly id: string }) =>
      addCredits(id, credits, idempotencyKey),
    ),
  }
}

export function useUpdateAccount(of: AccountObject) {
  return useAccountChange((change: AccountChange) =>
    call<AccountObject>('PATCH', pathOf(of.id), { body: change, headers: ifMatch(of) }),
  )
}

// A repeated idempotency key returns the same entry, so a double click adds credits once.
export function useAddCredits(id: string, idempotencyKey: string) {
  return useAccountChange((credits: CreditsInput) => addCredits(id, credits, idempotencyKey))
}

function addCredits(id: string, credits: CreditsInput, idempotencyKey: string): Promise<LedgerObject> {
  return call('POST', `${pathOf(id)}/credits`, { body: credits, headers: { 'idempotency-key': idempotencyKey } })
}

function useAccountChange<Input, Output>(change: (input: Input) => Promise<Output>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSettled: () => client.invalidateQueries({ queryKey: ['accounts'] }),
  })
}

function pathOf(id: string): string {
  return `/accounts/${encodeURIComponent(id)}`
}
