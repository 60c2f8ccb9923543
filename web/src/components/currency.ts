// Whether operators read amounts in credits or in US dollars, as they chose. Remembered in local storage. Dollars need an exchange
// rate in the gateway's settings.
import { useSyncExternalStore } from 'react'
import { showInDollars } from '../format/currency.ts'

const STORAGE_KEY = 'turnpike-currency'

type Currency = 'credits' | 'usd'

let chosen: Currency = localStorage.getItem(STORAGE_KEY) === 'usd' ? 'usd' : 'credits'
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
  localStorage.setItem(STORAGE_KEY, next)
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
