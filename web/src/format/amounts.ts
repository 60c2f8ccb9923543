// Rounds amounts of credits for display, in the unit that is shown (currency.ts) and digit by digit: money never becomes a float,
// not even here.
import { currencySign, inUnit, unit } from './currency.ts'
import { chartHeight, type Decimal, groupDecimal, groupDigits, isZero, readDecimal } from './decimals.ts'

// Below one credit this many digits are significant; above, two decimals are.
const SIGNIFICANT = 3
const PLACES_MIN = 2
// In a column with whole credits, and in one with fractions only.
const PLACES_MAX = 4
const FRACTION_PLACES_MAX = 6
// Of exact amounts in dollars.
const DOLLAR_PLACES_MAX = 12

// "4.129505622" → "4.13", "0.000483476" → "0.000483", "0.5" → "0.50".
export function amount(text: string): string {
  const decimal = readDecimal(inUnit(text))
  if (decimal === undefined) return text
  if (isZero(text)) return `${currencySign()}0`
  const { whole, fraction } = rounded(decimal, significantPlaces(decimal))
  return written({ sign: decimal.sign, whole, fraction: fraction.replace(/0+$/, '').padEnd(PLACES_MIN, '0') })
}

// "4.13 credits", "$4.13"
export function amountWithUnit(text: string): string {
  return unit() === 'credits' ? `${amount(text)} credits` : amount(text)
}

// The amounts in a sentence of the server, such as "has 0.25 credits left".
export function withAmountsShown(text: string): string {
  return text.replaceAll(/\b(\d{1,10}(?:\.\d{1,9})?) credits\b/g, (_, credits) => amountWithUnit(credits))
}

// "= $2.50", below a field in which credits are entered while amounts are shown in dollars.
export function enteredAmount(text: string): string | undefined {
  return unit() !== 'credits' && isTopUp(text.trim()) ? `= ${amount(text.trim())}` : undefined
}

// All digits, with at least this many decimals. Dollars by a rate that does not divide have no end, so they are rounded.
export function exactAmount(text: string, places = 2): string {
  const digits = groupDecimal(unit() === 'credits' ? text : withoutTail(inUnit(text)), places)
  return digits.startsWith('−') ? `−${currencySign()}${digits.slice(1)}` : currencySign() + digits
}

// For axis labels, which have room for a few digits. The value is in the unit already.
export function axisAmount(value: number): string {
  if (value === 0) return '0'
  return currencySign() + (value < 1 ? SMALL : AXIS).format(value)
}

const SMALL = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 2 })
const AXIS = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

export function amountHeight(text: string): number {
  return chartHeight(inUnit(text))
}

// The decimals that all amounts of a column have: enough for the smallest one, within a bound.
export function columnPlaces(values: readonly string[]): number {
  const decimals = values.flatMap(value => (isZero(value) ? [] : (readDecimal(inUnit(value)) ?? [])))
  const most = decimals.some(({ whole }) => whole !== '0') ? PLACES_MAX : FRACTION_PLACES_MAX
  return Math.min(
    most,
    decimals.map(placesNeeded).reduce((a, b) => Math.max(a, b), PLACES_MIN),
  )
}

// "–" for zero; an amount too small for the column is shown as "<0.0001", never as zero.
export function columnAmount(text: string, places: number): string {
  const decimal = readDecimal(inUnit(text))
  if (decimal === undefined) return text
  if (isZero(text)) return '–'
  const { whole, fraction } = rounded(decimal, places)
  if (whole !== '0' || /[1-9]/.test(fraction)) return written({ sign: decimal.sign, whole, fraction })
  const least = `${currencySign()}0.${'1'.padStart(places, '0')}`
  return decimal.sign === '-' ? `>−${least}` : `<${least}`
}

// What can be added to a balance.
export function isTopUp(text: string): boolean {
  return /^\d{1,10}(\.\d{1,9})?$/.test(text) && !isZero(text)
}

export const TOP_UP_RULE = 'Enter an amount above zero with at most nine decimals, such as 10.00'

// Exact.
export function plus(a: string, b: string): string {
  return fromNano(toNano(a) + toNano(b))
}

export function minus(from: string, take: string): string {
  return fromNano(toNano(from) - toNano(take))
}

function fromNano(nano: bigint): string {
  const digits = String(nano < 0n ? -nano : nano).padStart(NANO_PLACES + 1, '0')
  return `${nano < 0n ? '-' : ''}${digits.slice(0, -NANO_PLACES)}.${digits.slice(-NANO_PLACES)}`
}

export function isLess(a: string, b: string): boolean {
  return toNano(a) < toNano(b)
}

const NANO_PLACES = 9

function toNano(text: string): bigint {
  const { sign, whole, fraction } = readDecimal(text) ?? { sign: '', whole: '0', fraction: '' }
  return BigInt(`${sign}${whole}${fraction.slice(0, NANO_PLACES).padEnd(NANO_PLACES, '0')}`)
}

function placesNeeded(decimal: Decimal): number {
  const { whole, fraction } = rounded(decimal, significantPlaces(decimal))
  return whole === '0' ? fraction.replace(/0+$/, '').length : PLACES_MIN
}

function significantPlaces({ whole, fraction }: Decimal): number {
  if (whole !== '0') return PLACES_MIN
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0
  return Math.max(PLACES_MIN, zeros + SIGNIFICANT)
}

// Half is rounded away from zero.
function rounded({ sign, whole, fraction }: Decimal, places: number): Decimal {
  const kept = BigInt(whole + fraction.slice(0, places).padEnd(places, '0'))
  const digits = String(kept + (Number(fraction[places] ?? 0) >= 5 ? 1n : 0n)).padStart(places + 1, '0')
  return { sign, whole: digits.slice(0, digits.length - places), fraction: digits.slice(digits.length - places) }
}

// An amount too small for these decimals keeps its significant digits.
function withoutTail(text: string): string {
  const decimal = readDecimal(text)
  if (decimal === undefined || decimal.fraction.length <= DOLLAR_PLACES_MAX) return text
  const { sign, whole, fraction } = rounded(decimal, Math.max(DOLLAR_PLACES_MAX, significantPlaces(decimal)))
  return `${sign}${whole}.${fraction}`
}

function written({ sign, whole, fraction }: Decimal): string {
  return `${sign === '-' ? '−' : ''}${currencySign()}${groupDigits(whole)}${fraction === '' ? '' : `.${fraction}`}`
}
