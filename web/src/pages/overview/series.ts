// Converts the series of an overview to chart points. The server sends every hour or day, also those without a request.
import type { Overview, Sums } from '../../api/overview.ts'
import type { Point } from '../../components/chart-point.ts'
import { amountHeight } from '../../format/amounts.ts'

export function seriesOf({ series }: Overview): readonly Point[] {
  return series.map(sums => ({
    at: sums.at,
    served: sums.requests - sums.errors,
    errors: sums.errors,
    ...sums.errors_by_cause,
    other: othersOf(sums),
    rate: sums.requests === 0 ? null : sums.errors / sums.requests,
    prompt: sums.prompt_tokens,
    completion: sums.completion_tokens,
    cost: sums.cost,
    spend: amountHeight(sums.cost),
    p50: sums.p50_ms,
    p95: sums.p95_ms,
  }))
}

// Errors of the gateway, and refusals whose cause is no longer known.
export function othersOf({ errors, errors_by_cause: { caller, limits, money, provider } }: Sums): number {
  return Math.max(0, errors - caller - limits - money - provider)
}

export function errorsOf(sums: Sums, cause: string): number {
  const known: Readonly<Record<string, number>> = sums.errors_by_cause
  return cause === 'other' ? othersOf(sums) : (known[cause] ?? 0)
}

// Where a point ends: where the next one begins.
export function endOf(at: string, { series, to }: Pick<Overview, 'series' | 'to'>): string {
  const index = series.findIndex(each => each.at === at)
  return series[index + 1]?.at ?? to
}
