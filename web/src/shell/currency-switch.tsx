// Switches all amounts of the dashboard between credits and US dollars, where the gateway has an exchange rate.
import { Button, Tooltip } from '@mantine/core'
import type { ReactNode } from 'react'
import { useSettings } from '../api/settings.ts'
import { setCurrency, useChosenCurrency } from '../components/currency.ts'

const NAMES = { credits: 'credits', usd: 'US dollars' } as const

export function CurrencySwitch(): ReactNode {
  const currency = useCurrencySwitch()
  if (currency === undefined) return null
  return (
    <Tooltip label={currency.hint}>
      <Button
        variant="subtle"
        color="gray"
        size="compact-sm"
        visibleFrom="sm"
        aria-label={currency.hint}
        onClick={currency.change}
      >
        {currency.short}
      </Button>
    </Tooltip>
  )
}

// In the menu, where phones have it. Undefined without a rate.
export function useCurrencySwitch() {
  const { data: settings } = useSettings()
  const chosen = useChosenCurrency()
  if (typeof settings?.credits_per_usd !== 'string') return undefined
  const other = chosen === 'usd' ? 'credits' : 'usd'
  const label = `Amounts in ${NAMES[chosen]}`
  return {
    label,
    hint: `${label}. Switch to ${NAMES[other]}`,
    short: chosen === 'usd' ? 'US$' : 'Credits',
    change: () => setCurrency(other),
  }
}
