// The session of the customer. Scripts cannot read its cookie; where the customer came from is remembered for this tab, so that the
// way back is known when the session has ended.
import { createContext, useContext, useSyncExternalStore } from 'react'
import type { PortalPermission } from '../../../src/domain/portal.ts'
import { ApiError, call, onCsrfFailure, setCsrfToken } from '../api/call.ts'
import { onSessionRefused } from '../api/queries.ts'
import { store, stored } from '../api/storage.ts'

export type PortalSession = {
  readonly account: { readonly id: string; readonly name: string }
  readonly permissions: readonly PortalPermission[]
  readonly return_url: string | null
  readonly base_url: string
  readonly example_model: string | null
  readonly csrf_token: string
}

export type SessionState =
  | { readonly is: 'loading' }
  | { readonly is: 'open'; readonly session: PortalSession }
  | { readonly is: 'closed'; readonly because: Because; readonly returnUrl: string | null }

type Because = 'ended' | 'suspended' | 'signed_out'

const STORAGE_KEY = 'turnpike-portal-return'

let state: SessionState = { is: 'loading' }
const listeners = new Set<() => void>()

export const PortalSessionContext = createContext<PortalSession | undefined>(undefined)

export function usePortalSession(): PortalSession {
  const session = useContext(PortalSessionContext)
  if (session === undefined) throw new Error('usePortalSession used outside of PortalSessionContext')
  return session
}

export function useMay(permission: PortalPermission): boolean {
  return usePortalSession().permissions.includes(permission)
}

export function useSessionState(): SessionState {
  return useSyncExternalStore(subscribe, () => state)
}

export async function resume(): Promise<void> {
  try {
    const session = await call<PortalSession>('GET', '/session')
    setCsrfToken(session.csrf_token)
    store(STORAGE_KEY, session.return_url, 'sessionStorage')
    change({ is: 'open', session })
  } catch (error) {
    if (!(error instanceof ApiError) || !refuse(error)) throw error
  }
}

export async function signOut(): Promise<void> {
  await call('DELETE', '/session').catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
  })
  close('signed_out', null)
}

// Whether the error ended the session.
function refuse(error: ApiError): boolean {
  const because = error.status === 401 ? 'ended' : error.code === 'account_suspended' ? 'suspended' : undefined
  if (because !== undefined) close(because, error.returnUrl)
  return because !== undefined
}

function close(because: Because, returnUrl: string | null): void {
  setCsrfToken('')
  change({ is: 'closed', because, returnUrl: returnUrl ?? stored(STORAGE_KEY, 'sessionStorage') })
}

function change(next: SessionState): void {
  state = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

onSessionRefused(refuse)
onCsrfFailure(async () => {
  await resume()
  return state.is === 'open'
})
