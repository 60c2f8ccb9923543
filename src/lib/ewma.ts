// Exponentially decaying sums: a value counts half after every half-life, so they describe the recent past without storing it.

export type Ewma = { sum: number; weight: number; atMs: number }

export function nothingYet(): Ewma {
  return { sum: 0, weight: 0, atMs: 0 }
}

export function add(ewma: Ewma, value: number, nowMs: number, halfLifeMs: number): void {
  const left = leftOf(ewma, nowMs, halfLifeMs)
  ewma.sum = ewma.sum * left + value
  ewma.weight = ewma.weight * left + 1
  ewma.atMs = nowMs
}

// The number of values that still count, with fractions.
export function weightAt(ewma: Ewma, nowMs: number, halfLifeMs: number): number {
  return ewma.weight * leftOf(ewma, nowMs, halfLifeMs)
}

export function sumAt(ewma: Ewma, nowMs: number, halfLifeMs: number): number {
  return ewma.sum * leftOf(ewma, nowMs, halfLifeMs)
}

// Undefined while nothing was added. Age alone does not change it: sum and weight decay alike.
export function meanOf({ sum, weight }: Ewma): number | undefined {
  return weight > 0 ? sum / weight : undefined
}

function leftOf({ atMs }: Ewma, nowMs: number, halfLifeMs: number): number {
  const passed = nowMs - atMs
  return passed <= 0 ? 1 : 2 ** (-passed / halfLifeMs)
}
