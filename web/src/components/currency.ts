// Whether operators read amounts in credits or in US dollars, as they chose. Remembered in local storage. Dollars need an exchange
// rate in the gateway's settings.
import { showInDollars } from '../format/currency.ts'
import { remembered } from './remembered.ts'

type Currency = 'credits' | 'usd'

export const { use: useChosenCurrency, set: setCurrency } = remembered<Currency>(
  'turnpike-currency',
  text => (text === 'usd' ? 'usd' : 'credits'),
  currency => currency,
)

// For the component at the top, so that everything below it is rendered with the currency.
export function useCurrency(creditsPerUsd: string | null | undefined): void {
  const currency = useChosenCurrency()
  showInDollars(currency === 'usd' ? (creditsPerUsd ?? undefined) : undefined)
}
