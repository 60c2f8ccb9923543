// The charts of the overview: in a grid, on phones in a carousel.
import { SimpleGrid } from '@mantine/core'
import { type ReactNode, useMemo } from 'react'
import type { Overview } from '../../api/overview.ts'
import { Carousel, useIsPhone } from '../../components/carousel.tsx'
import { ChartPanel, type Figure } from '../../components/chart.tsx'
import { pointLabel, type ValueAxisOptions } from '../../components/chart-axes.ts'
import { Legend } from '../../components/legend.tsx'
import { TimeChart, type TimeChartProps } from '../../components/time-chart.tsx'
import { REQUESTS, TOKENS } from '../../components/usage/figures.ts'
import { amountWithUnit, axisAmount } from '../../format/amounts.ts'
import { shownRate, unitLabel } from '../../format/currency.ts'
import { axisDuration, axisPercent, count, duration, share, shortCount } from '../../format/numbers.ts'
import { CauseLinks } from './cause-links.tsx'
import { CAUSES, LATENCY, RATE, SPEND } from './figures.ts'
import { errorsOf, othersOf, seriesOf } from './series.ts'

export type ChartsProps = {
  readonly of: Overview
  readonly zone: string
  // The list of the requests of this range.
  readonly usage: string
  readonly onZoom: (first: string, last: string) => void
}

export function Charts({ of, zone, usage, onZoom }: ChartsProps): ReactNode {
  const rate = shownRate()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heights are in the shown unit.
  const points = useMemo(() => seriesOf(of), [of, rate])
  const isPhone = useIsPhone()
  const { step } = of
  const charts = chartsOf(of, usage)
  const shown = charts.map(({ title, total, summary, ...chart }) => (
    <ChartPanel
      key={title}
      title={title}
      total={total}
      summary={summary}
      points={points}
      figures={chart.figures}
      timeOf={at => pointLabel(at, step, zone)}
    >
      <TimeChart {...chart} points={points} step={step} zone={zone} onZoom={onZoom} />
    </ChartPanel>
  ))
  if (isPhone)
    return (
      <Carousel label="Charts" noun="chart" titles={charts.map(({ title }) => title)}>
        {shown}
      </Carousel>
    )
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, xl: 3 }} spacing="md">
      {shown}
    </SimpleGrid>
  )
}

type Chart = Pick<TimeChartProps, 'kind' | 'isStacked' | 'axisLabel' | 'axisWidth'> & {
  readonly title: string
  readonly total: ReactNode
  readonly summary: string
  readonly figures: readonly Figure[]
  readonly axis?: ValueAxisOptions
}

const COUNTS = { isWhole: true } as const
const MILLISECONDS = { isWhole: true, least: 10 } as const
// A few errors in many requests stay at the bottom.
const RATES = { least: 0.05 } as const

function chartsOf({ totals }: Overview, usage: string): readonly Chart[] {
  const causes = othersOf(totals) === 0 ? CAUSES.filter(({ name }) => name !== 'other') : CAUSES
  return [
    {
      kind: 'bars',
      title: 'Requests',
      figures: REQUESTS,
      isStacked: true,
      axis: COUNTS,
      axisLabel: shortCount,
      total: <Legend of={REQUESTS} />,
      summary: `${count(totals.requests)} in total, ${count(totals.errors)} errors.`,
    },
    {
      kind: 'bars',
      title: 'Revenue',
      figures: SPEND,
      axisLabel: value => axisAmount(value),
      axisWidth: 72,
      total: unitLabel(),
      summary: `${amountWithUnit(totals.cost)} in total.`,
    },
    {
      kind: 'bars',
      title: 'Errors by cause',
      figures: causes,
      isStacked: true,
      axis: COUNTS,
      axisLabel: shortCount,
      total: <CauseLinks of={totals} figures={causes} usage={usage} />,
      summary: causes.map(({ name, label }) => `${label}: ${count(errorsOf(totals, name))}`).join(', '),
    },
    {
      kind: 'lines',
      title: 'Error rate',
      figures: RATE,
      axis: RATES,
      axisLabel: axisPercent,
      total: 'Share of requests that failed',
      summary: `${share(totals.errors, totals.requests)} in this range.`,
    },
    {
      kind: 'lines',
      title: 'Latency',
      figures: LATENCY,
      axis: MILLISECONDS,
      axisLabel: axisDuration,
      total: <Legend of={LATENCY} />,
      summary: `Median ${duration(totals.p50_ms)}, 95th percentile ${duration(totals.p95_ms)}.`,
    },
    {
      kind: 'area',
      title: 'Tokens',
      figures: TOKENS,
      isStacked: true,
      axis: COUNTS,
      axisLabel: shortCount,
      total: <Legend of={TOKENS} />,
      summary: `${count(totals.prompt_tokens)} prompt tokens, ${count(totals.completion_tokens)} completion tokens.`,
    },
  ]
}
