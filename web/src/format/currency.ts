// The unit in which amounts are shown. The gateway counts in credits; with an exchange rate they can be read as US dollars. The
// page is rendered again when this changes (components/currency.ts), so whatever formats an amount may ask for it.
import { readDecimal } from './decimals.ts'

// Credits per dollar in millionths, as the server counts them; undefined while amounts are shown in credits.
let rate: bigint | undefined

export function showInDollars(creditsPerUsd: string | undefined): void {
  rate = creditsPerUsd === undefined ? undefined : toUnits(creditsPerUsd, RATE_PLACES) || undefined
}

// For what is computed in the shown unit and kept: it changes with the unit and with the rate.
export function shownRate(): bigint | undefined {
  return rate
}

export function unit(): 'credits' | 'US dollars' {
  return rate === undefined ? 'credits' : 'US dollars'
}

// At the head of a column.
export function unitLabel(): 'Credits' | 'US dollars' {
  return rate === undefined ? 'Credits' : 'US dollars'
}

export function currencySign(): '' | '$' {
  return rate === undefined ? '' : '$'
}

// An amount of credits in the shown unit, by digits. Most rates divide it exactly; the others are rounded after 15 decimals.
export function inUnit(credits: string): string {
  if (rate === undefined || readDecimal(credits) === undefined) return credits
  const scaled = toUnits(credits, PLACES) * 10n ** BigInt(RATE_PLACES)
  const size = scaled < 0n ? -scaled : scaled
  const digits = String((size + rate / 2n) / rate).padStart(PLACES + 1, '0')
  return `${scaled < 0n ? '-' : ''}${digits.slice(0, -PLACES)}.${digits.slice(-PLACES)}`
}

const RATE_PLACES = 6
const PLACES = 15

function toUnits(text: string, places: number): bigint {
  const { sign, whole, fraction } = readDecimal(text) ?? { sign: '', whole: '0', fraction: '' }
  return BigInt(`${sign}${whole}${fraction.slice(0, places).padEnd(places, '0')}`)
}
