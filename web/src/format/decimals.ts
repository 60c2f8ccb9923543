// Decimal strings as the wire has them, moved and grouped by their digits: money is never a float, not even to be shown.

export type Decimal = { readonly sign: '' | '-'; readonly whole: string; readonly fraction: string }

export function readDecimal(text: string): Decimal | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text.trim())
  if (match === null) return undefined
  const fraction = (match[3] ?? '').replace(/0+$/, '')
  return { sign: match[1] === '-' ? '-' : '', whole: (match[2] ?? '').replace(/^0+(?=\d)/, ''), fraction }
}

// "1234567.5" → "1,234,567.50" with two places at least.
export function groupDecimal(text: string, places = 2): string {
  const decimal = readDecimal(text)
  if (decimal === undefined) return text
  const padded = decimal.fraction.padEnd(places, '0')
  return `${decimal.sign === '-' ? '−' : ''}${groupDigits(decimal.whole)}${padded === '' ? '' : `.${padded}`}`
}

export function groupDigits(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ',')
}

// Times 10^by, by moving the point: prices per token become prices per million of them, and back.
export function shiftDecimal(text: string, by: number): string | undefined {
  const decimal = readDecimal(text)
  if (decimal === undefined) return undefined
  const digits = decimal.whole + decimal.fraction
  const point = decimal.whole.length + by
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0')
  const at = Math.max(point, 1)
  const whole = padded.slice(0, at).replace(/^0+(?=\d)/, '')
  const fraction = padded.slice(at).replace(/0+$/, '')
  return `${decimal.sign}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

export function isZero(text: string): boolean {
  return /^-?0*(\.0*)?$/.test(text)
}

// Beside an axis, where there is room for a few digits.
export function axisAmount(value: number): string {
  if (value === 0) return '0'
  return value < 1 ? String(Number(value.toPrecision(2))) : AXIS.format(value)
}

const AXIS = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

// Where on a chart it stands: the one place where a float is near enough.
export function chartHeight(text: string): number {
  return Number(text)
}
