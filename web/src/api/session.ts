// The session of the signed-in operator. Scripts cannot read the cookie; local storage only remembers that there was a session,
// so that a first visit sends no request.
import { useSyncExternalStore } from 'react'
import type { OwnSession } from '../../../src/admin/sessions.ts'
import { ApiError, call, onCsrfFailure, setCsrfToken } from './call.ts'
import { onSessionRefused } from './queries.ts'
import { store, stored } from './storage.ts'

export type Session = OwnSession
export type Role = Session['operator']['role']

export type SessionState =
  | { readonly is: 'unknown' }
  | { readonly is: 'none'; readonly because: 'first' | 'ended' | 'signed_out' }
  | { readonly is: 'open'; readonly session: Session }

const STORAGE_KEY = 'turnpike-session'

let state: SessionState = stored(STORAGE_KEY) === null ? { is: 'none', because: 'first' } : { is: 'unknown' }
const listeners = new Set<() => void>()

export function useSessionState(): SessionState {
  return useSyncExternalStore(subscribe, () => state)
}

export async function signIn(token: string): Promise<void> {
  opened(await call<Session>('POST', '/session', { body: { token } }))
}

export async function signOut(): Promise<void> {
  await call('DELETE', '/session').catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
  })
  closed('signed_out')
}

// After a reload the cookie may still be valid.
export async function resume(): Promise<void> {
  try {
    opened(await call<Session>('GET', '/session'))
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) closed('ended')
    else throw error
  }
}

function opened(session: Session): void {
  store(STORAGE_KEY, '1')
  setCsrfToken(session.csrf_token)
  change({ is: 'open', session })
}

function closed(because: 'ended' | 'signed_out'): void {
  store(STORAGE_KEY, null)
  setCsrfToken('')
  change({ is: 'none', because })
}

function change(next: SessionState): void {
  state = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

onSessionRefused(({ status }) => {
  if (status === 401 && state.is === 'open') closed('ended')
})

onCsrfFailure(async () => {
  await resume()
  return state.is === 'open'
})
