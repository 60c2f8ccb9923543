// Exponentially decaying sums: a value counts half after every half-life, so they describe the recent past without storing it.

export type Decaying = { sum: number; weight: number; atMs: number }

export function nothingYet(): Decaying {
  return { sum: 0, weight: 0, atMs: 0 }
}

export function add(decaying: Decaying, value: number, nowMs: number, halfLifeMs: number): void {
  const left = leftOf(decaying, nowMs, halfLifeMs)
  decaying.sum = decaying.sum * left + value
  decaying.weight = decaying.weight * left + 1
  decaying.atMs = nowMs
}

// The number of values that still count, with fractions.
export function weightAt(decaying: Decaying, nowMs: number, halfLifeMs: number): number {
  return decaying.weight * leftOf(decaying, nowMs, halfLifeMs)
}

export function sumAt(decaying: Decaying, nowMs: number, halfLifeMs: number): number {
  return decaying.sum * leftOf(decaying, nowMs, halfLifeMs)
}

// Undefined while nothing was added. Age alone does not change it: sum and weight decay alike.
export function meanOf({ sum, weight }: Decaying): number | undefined {
  return weight > 0 ? sum / weight : undefined
}

function leftOf({ atMs }: Decaying, nowMs: number, halfLifeMs: number): number {
  const passed = nowMs - atMs
  return passed <= 0 ? 1 : 2 ** (-passed / halfLifeMs)
}
