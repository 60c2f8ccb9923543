// Formats and shifts decimal strings digit by digit: money never becomes a float, not even for display.

export type Decimal = { readonly sign: '' | '-'; readonly whole: string; readonly fraction: string }

export function readDecimal(text: string): Decimal | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text.trim())
  if (match === null) return undefined
  const fraction = (match[3] ?? '').replace(/0+$/, '')
  return { sign: match[1] === '-' ? '-' : '', whole: (match[2] ?? '').replace(/^0+(?=\d)/, ''), fraction }
}

// "1234567.5" → "1,234,567.50" with at least two decimals.
export function groupDecimal(text: string, places = 2): string {
  const decimal = readDecimal(text)
  if (decimal === undefined) return text
  const padded = decimal.fraction.padEnd(places, '0')
  return `${decimal.sign === '-' ? '−' : ''}${groupDigits(decimal.whole)}${padded === '' ? '' : `.${padded}`}`
}

export function groupDigits(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ',')
}

// Multiplies by 10^by by moving the decimal point, to convert between prices per token and per million tokens.
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

// For comparing and for heights on a chart, the only places where a float is exact enough.
export function chartHeight(text: string): number {
  return Number(text)
}
