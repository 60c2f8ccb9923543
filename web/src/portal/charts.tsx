// The charts of the portal over one range: spend, requests and tokens; on phones in a carousel.
import { SimpleGrid } from '@mantine/core'
import { type ReactNode, useMemo } from 'react'
import { Carousel, useIsPhone } from '../components/carousel.tsx'
import { ChartPanel, type Figure } from '../components/chart.tsx'
import { pointLabel } from '../components/chart-axes.ts'
import { Legend } from '../components/legend.tsx'
import { TimeChart } from '../components/time-chart.tsx'
import { REQUESTS, TOKENS } from '../components/usage/figures.ts'
import { zoneName } from '../components/zone.ts'
import { amount, axisAmount } from '../format/amounts.ts'
import { count, shortCount } from '../format/numbers.ts'
import { type Grain, type Group, seriesOf, totalOf } from './series.ts'

const SPEND: readonly Figure[] = [
  { name: 'spend', label: 'Credits', color: 'teal.6', write: p => amount(String(p.cost)) },
]
const COUNTS = { isWhole: true } as const

export type ChartsProps = {
  readonly groups: readonly Group[]
  readonly from: number
  readonly to: number
  readonly grain: Grain
  readonly hasTokens?: boolean
}

export function Charts({ groups, from, to, grain, hasTokens = false }: ChartsProps): ReactNode {
  const points = useMemo(() => seriesOf(groups, from, to, grain), [groups, from, to, grain])
  const isPhone = useIsPhone()
  const { step, zone } = grain
  const totals = totalOf(groups)
  const base = { points, timeOf: (at: string) => pointLabel(at, step, zone) }
  const chart = { points, step, zone }
  const inZone = step === 'day' ? `days of ${zoneName(zone)}` : `times in ${zoneName(zone)}`
  const charts = [
    <ChartPanel
      {...base}
      key="Spend"
      title="Spend"
      figures={SPEND}
      total={`Credits, ${inZone}`}
      summary={`${amount(totals.cost)} credits in total.`}
    >
      <TimeChart {...chart} kind="bars" figures={SPEND} axisLabel={axisAmount} axisWidth={66} />
    </ChartPanel>,
    <ChartPanel
      {...base}
      key="Requests"
      title="Requests"
      figures={REQUESTS}
      total={<Legend of={REQUESTS} />}
      summary={`${count(totals.requests)} in total, ${count(totals.errors)} errors.`}
    >
      <TimeChart {...chart} kind="bars" figures={REQUESTS} isStacked axis={COUNTS} axisLabel={shortCount} />
    </ChartPanel>,
    ...(hasTokens
      ? [
          <ChartPanel
            {...base}
            key="Tokens"
            title="Tokens"
            figures={TOKENS}
            total={<Legend of={TOKENS} />}
            summary={`${count(totals.prompt_tokens)} prompt tokens, ${count(totals.completion_tokens)} completion tokens.`}
          >
            <TimeChart {...chart} kind="area" figures={TOKENS} isStacked axis={COUNTS} axisLabel={shortCount} />
          </ChartPanel>,
        ]
      : []),
  ]
  if (isPhone)
    return (
      <Carousel label="Charts" noun="chart" titles={charts.map(({ key }) => key ?? '')}>
        {charts}
      </Carousel>
    )
  return (
    <SimpleGrid cols={hasTokens ? { base: 1, sm: 2, xl: 3 } : { base: 1, sm: 2 }} spacing="md">
      {charts}
    </SimpleGrid>
  )
}
