// The time zone in which the dashboard shows times: the browser's or UTC, as the operator chose. Remembered in local storage.
import { useSyncExternalStore } from 'react'
import { store, stored } from '../api/storage.ts'
import { offsetName, UTC } from '../format/time.ts'

const STORAGE_KEY = 'turnpike-time-zone'

// Empty in browsers that hide it.
export const LOCAL_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone || UTC

let zone = stored(STORAGE_KEY) === UTC ? UTC : LOCAL_ZONE
const listeners = new Set<() => void>()

export function useZone(): string {
  return useSyncExternalStore(subscribe, () => zone)
}

export function setZone(next: string): void {
  zone = next
  for (const listener of listeners) listener()
  store(STORAGE_KEY, next === UTC ? UTC : 'local')
}

// UTC−5 (America/New_York)
export function zoneName(of: string, at = Date.now()): string {
  return of === UTC ? UTC : `${offsetName(at, of)} (${of.replaceAll('_', ' ')})`
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
