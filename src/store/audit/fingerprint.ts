// Sums of everything that is rolled up, each also weighted by its dimensions: a fingerprint that is independent of order.

import { SUM_COLUMNS } from '../sql/usage/hour-columns.ts'
import type { PassRow } from './tally.ts'

export type Totals = bigint[]

export function addSums(totals: Totals, row: PassRow, by: readonly string[]): void {
  const weight = weightOf(by.map(name => row[name]).join('\n'))
  const values = SUM_COLUMNS.map(name => BigInt(row[name] ?? 0))
  addTo(totals, [...values, ...values.map(value => value * weight), 0n, 0n])
}

export function addTo(totals: Totals, more: readonly bigint[]): void {
  more.forEach((value, i) => {
    totals[i] = (totals[i] ?? 0n) + value
  })
}

export function isSame(a: Totals, b: Totals): boolean {
  const length = Math.max(a.length, b.length)
  return Array.from({ length }, (_, i) => (a[i] ?? 0n) === (b[i] ?? 0n)).every(Boolean)
}

// FNV-1a, 32 bits: enough to detect sums under the wrong dimensions.
function weightOf(text: string): bigint {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return BigInt(hash >>> 0)
}
