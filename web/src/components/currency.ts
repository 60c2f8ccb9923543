// Whether operators read amounts in credits or in US dollars, as they chose. Remembered in local storage. Dollars need an exchange
// rate in the gateway's settings.
import { useSyncExternalStore } from 'react'
import { store, stored } from '../api/storage.ts'
import { showInDollars } from '../format/currency.ts'

const STORAGE_KEY = 'turnpike-currency'

type Currency = 'credits' | 'usd'

let chosen: Currency = stored(STORAGE_KEY) === 'usd' ? 'usd' : 'credits'
const listeners = new Set<() => void>()

// For the component at the top, so that everything below it is rendered with the currency.
export function useCurrency(creditsPerUsd: string | null | undefined): void {
  const currency = useChosenCurrency()
  showInDollars(currency === 'usd' ? (creditsPerUsd ?? undefined) : undefined)
}

export function useChosenCurrency(): Currency {
  return useSyncExternalStore(subscribe, () => chosen)
}

export function setCurrency(next: Currency): void {
  chosen = next
  for (const listener of listeners) listener()
  store(STORAGE_KEY, next)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
