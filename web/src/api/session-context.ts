// React contexts with the session of the signed-in operator, and whether the page may change anything.
import { createContext, useContext } from 'react'
import type { Session } from './session.ts'

export const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('useSession used outside of SessionContext')
  return session
}

// Whether the page offers changes: a viewer has read-only access, and so has a customer without the permission.
export const MayChange = createContext(false)

export function useMayChange(): boolean {
  return useContext(MayChange)
}
