// React context with the session of the signed-in operator.
import { createContext, useContext } from 'react'
import type { Session } from './session.ts'

export const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('useSession used outside of SessionContext')
  return session
}

// A viewer has read-only access.
export function useMayChange(): boolean {
  return useSession().operator.role === 'admin'
}
