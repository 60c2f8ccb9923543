// What the page knows of the server, kept fresh: one cache, polling that rests while the tab is hidden, and the end of a
// session noticed wherever it shows.
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError } from './call.ts'
import { connection, onConnection } from './connection.ts'
import { sessionEnded } from './session.ts'

export const LIVE_MS = 3000
export const SLOW_MS = 10_000

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: noticeEnd }),
  mutationCache: new MutationCache({ onError: noticeEnd }),
  defaultOptions: {
    queries: {
      // Ours is a server on a private network as often as not: what the browser thinks of the internet says nothing.
      networkMode: 'always',
      staleTime: 1000,
      retry: (failures, error) => failures < 2 && !(error instanceof ApiError && isFinal(error.status)),
      retryDelay: 700,
    },
    mutations: { networkMode: 'always', retry: false },
  },
})

// Everything that was read before the server was away may be old.
onConnection(() => {
  if (connection() === 'restored') void queries.invalidateQueries()
})

function noticeEnd(error: Error): void {
  if (error instanceof ApiError && error.status === 401) sessionEnded()
}

function isFinal(status: number): boolean {
  return status >= 400 && status < 500
}
