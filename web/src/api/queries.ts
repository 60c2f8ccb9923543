// The query cache: polling stops while the tab is hidden, and an expired session is detected in any response.
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError } from './call.ts'
import { connection, onConnection } from './connection.ts'

export const LIVE_MS = 3000
export const SLOW_MS = 10_000

// The order of a list, if it is not by time.
export type SortQuery = { readonly sort?: string; readonly order?: string }

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: detectSessionEnd }),
  mutationCache: new MutationCache({ onError: detectSessionEnd }),
  defaultOptions: {
    queries: {
      // The server is often on a private network, so the browser's online state means nothing.
      networkMode: 'always',
      staleTime: 1000,
      retry: (failures, error) => failures < 2 && !(error instanceof ApiError && isFinal(error.status)),
      retryDelay: 700,
    },
    mutations: { networkMode: 'always', retry: false },
  },
})

// Data read before the connection was lost may be stale.
onConnection(() => {
  if (connection() === 'restored') void queries.invalidateQueries()
})

// Set by the session, which this file does not know: the portal has another one.
let onRefused: (error: ApiError) => void = () => undefined

export function onSessionRefused(listener: (error: ApiError) => void): void {
  onRefused = listener
}

function detectSessionEnd(error: Error): void {
  if (error instanceof ApiError && (error.status === 401 || error.code === 'account_suspended')) onRefused(error)
}

function isFinal(status: number): boolean {
  return status >= 400 && status < 500
}
