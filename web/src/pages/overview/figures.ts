// What the charts of the overview show besides requests and tokens: their figures, with colours and exact values.
import type { ErrorCause } from '../../../../src/domain/error-cause.ts'
import type { Figure } from '../../components/chart.tsx'
import type { Point } from '../../components/chart-point.ts'
import { exactAmount } from '../../format/amounts.ts'
import { count, duration, percent } from '../../format/numbers.ts'

export const SPEND: readonly Figure[] = [
  { name: 'spend', label: 'Revenue', color: 'teal.6', write: p => exactAmount(String(p.cost)) },
]
// A record, so that a new cause is a type error until it has a colour.
const CAUSE_FIGURES: Readonly<Record<ErrorCause | 'other', Pick<Figure, 'label' | 'color'>>> = {
  provider: { label: 'Provider', color: 'red.7' },
  money: { label: 'Credits', color: 'yellow.6' },
  limits: { label: 'Limits', color: 'orange.6' },
  caller: { label: 'Caller', color: 'gray.5' },
  other: { label: 'Gateway', color: 'grape.6' },
}
export const CAUSES = Object.entries(CAUSE_FIGURES).map(
  ([name, figure]): Figure => ({ name, ...figure, write: p => count(Number(p[name])) }),
)
export const RATE: readonly Figure[] = [
  { name: 'rate', label: 'Error rate', color: 'red.7', write: p => (p.rate === null ? '–' : percent(Number(p.rate))) },
]
export const LATENCY: readonly Figure[] = [
  { name: 'p50', label: 'p50', color: 'indigo.5', write: p => writeMs(p.p50) },
  { name: 'p95', label: 'p95', color: 'orange.6', write: p => writeMs(p.p95) },
]

function writeMs(value: Point[string] | undefined): string {
  return duration(typeof value === 'number' ? value : null)
}
