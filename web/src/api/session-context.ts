// The operator at this page, for what is inside of a session.
import { createContext, useContext } from 'react'
import type { Session } from './session.ts'

export const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('used outside of a session')
  return session
}

// A viewer sees everything and changes nothing.
export function useMayChange(): boolean {
  return useSession().operator.role === 'admin'
}
