// Prices in the model form: entered per million tokens and shifted exactly to the per-token prices of the catalog.
import { readDecimal, shiftDecimal } from '../../format/decimals.ts'

export const RATES = {
  prompt: 'Prompt',
  completion: 'Completion',
  input_cache_read: 'Cache read',
  input_cache_write: 'Cache write',
  input_cache_write_1h: 'Cache write, 1 h',
  image: 'Image input',
  audio: 'Audio input',
} as const
export type Rate = keyof typeof RATES

// Prices of prompts with more tokens.
export type TierFields = { above_prompt_tokens: number | string; rates: Record<Rate, string> }

export function perToken(rates: Partial<Record<Rate, string>>): Readonly<Record<string, string>> {
  const shifted = Object.entries(rates).map(([name, price]) => [name, shiftDecimal(price, -6) ?? ''])
  return given(Object.fromEntries(shifted))
}

export function given(prices: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entered = Object.entries(prices).map(([name, price]) => [name, price.trim()])
  return Object.fromEntries(entered.filter(([, price]) => price !== ''))
}

export const NO_RATES: Record<Rate, string> = {
  prompt: '',
  completion: '',
  input_cache_read: '',
  input_cache_write: '',
  input_cache_write_1h: '',
  image: '',
  audio: '',
}

export function perMillion(rates: Partial<Record<Rate, string>>): Record<Rate, string> {
  const shifted = { ...NO_RATES }
  for (const name of Object.keys(RATES) as Rate[]) shifted[name] = shiftDecimal(rates[name] ?? '', 6) ?? ''
  return shifted
}

export function priceError(text: string, isNeeded: boolean): string | null {
  if (text.trim() === '') return isNeeded ? 'Enter a price, or 0 if free' : null
  return readDecimal(text)?.sign === '' ? null : 'Enter a price such as 2.5'
}
