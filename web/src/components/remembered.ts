// A choice of the operator that every component follows and the browser remembers.
import { useSyncExternalStore } from 'react'
import { store, stored } from '../api/storage.ts'

export type Remembered<Choice> = { use(): Choice; set(next: Choice): void }

// `read` gives the choice for what was stored, if anything; `write` what is stored.
export function remembered<Choice>(
  name: string,
  read: (text: string | null) => Choice,
  write: (choice: Choice) => string,
): Remembered<Choice> {
  let chosen = read(stored(name))
  const listeners = new Set<() => void>()
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  return {
    use: () => useSyncExternalStore(subscribe, () => chosen),
    set(next) {
      chosen = next
      for (const listener of listeners) listener()
      store(name, write(next))
    },
  }
}
