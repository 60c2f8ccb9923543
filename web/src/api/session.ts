// Who is signed in. The cookie itself is out of reach of scripts; kept here is what the server says about it, and in the
// browser's storage only that there was a session, so that a first visit asks the server nothing.
import { useSyncExternalStore } from 'react'
import type { OwnSession } from '../../../src/admin/sessions.ts'
import { ApiError, call, onCsrfFailure, setCsrfToken } from './call.ts'

export type Session = OwnSession
export type Role = Session['operator']['role']

export type SessionState =
  | { readonly is: 'unknown' }
  | { readonly is: 'none'; readonly because: 'first' | 'ended' | 'left' }
  | { readonly is: 'open'; readonly session: Session }

const MARK = 'turnpike-session'

let state: SessionState = localStorage.getItem(MARK) === null ? { is: 'none', because: 'first' } : { is: 'unknown' }
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
  closed('left')
}

// After a reload: the cookie may still be good.
export async function resume(): Promise<void> {
  try {
    opened(await call<Session>('GET', '/session'))
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) closed('ended')
    else throw error
  }
}

export function sessionEnded(): void {
  if (state.is === 'open') closed('ended')
}

function opened(session: Session): void {
  localStorage.setItem(MARK, '1')
  setCsrfToken(session.csrf_token)
  change({ is: 'open', session })
}

function closed(because: 'ended' | 'left'): void {
  localStorage.removeItem(MARK)
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

onCsrfFailure(async () => {
  await resume()
  return state.is === 'open'
})
