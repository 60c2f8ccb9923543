// The charts of the overview: requests, spend, tokens, errors and latency.
import { SimpleGrid, Stack } from '@mantine/core'
import { type ReactNode, useMemo } from 'react'
import type { Overview } from '../../api/overview.ts'
import { ChartPanel, type Figure } from '../../components/chart.tsx'
import { pointLabel } from '../../components/chart-axes.ts'
import { Legend } from '../../components/legend.tsx'
import { TimeChart } from '../../components/time-chart.tsx'
import { amount } from '../../format/amounts.ts'
import { axisAmount } from '../../format/decimals.ts'
import { axisDuration, axisPercent, count, duration, percent, share, shortCount } from '../../format/numbers.ts'
import { seriesOf } from './series.ts'

const REQUESTS: readonly Figure[] = [
  { name: 'served', label: 'Successful', color: 'indigo.5', write: p => count(Number(p.served)) },
  { name: 'errors', label: 'Errors', color: 'red.7', write: p => count(Number(p.errors)) },
]
const SPEND: readonly Figure[] = [
  { name: 'spend', label: 'Credits', color: 'teal.6', write: p => amount(String(p.cost)) },
]
const TOKENS: readonly Figure[] = [
  { name: 'prompt', label: 'Prompt', color: 'blue.5', write: p => count(Number(p.prompt)) },
  { name: 'completion', label: 'Completion', color: 'grape.5', write: p => count(Number(p.completion)) },
]
const RATE: readonly Figure[] = [
  { name: 'rate', label: 'Error rate', color: 'red.7', write: p => (p.rate === null ? '–' : percent(Number(p.rate))) },
]
const LATENCY: readonly Figure[] = [
  { name: 'p50', label: 'p50', color: 'indigo.5', write: p => writeMs(p.p50) },
  { name: 'p95', label: 'p95', color: 'orange.6', write: p => writeMs(p.p95) },
]

export type ChartsProps = { readonly of: Overview; readonly zone: string; readonly onZoom: ZoomTo }
export type ZoomTo = (first: string, last: string) => void

export function Charts({ of, zone, onZoom }: ChartsProps): ReactNode {
  const points = useMemo(() => seriesOf(of), [of])
  const { totals, step } = of
  const base = { points, timeOf: (at: string) => pointLabel(at, step, zone) }
  const chart = { points, step, zone, onZoom }

  return (
    <Stack gap="md">
      <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }} spacing="md">
        <ChartPanel
          {...base}
          title="Requests"
          figures={REQUESTS}
          total={<Legend of={REQUESTS} />}
          summary={`${count(totals.requests)} in total, ${count(totals.errors)} errors.`}
        >
          <TimeChart {...chart} kind="bars" figures={REQUESTS} isStacked axis={COUNTS} axisLabel={shortCount} />
        </ChartPanel>
        <ChartPanel
          {...base}
          title="Spend"
          figures={SPEND}
          total="Credits"
          summary={`${amount(totals.cost)} credits in total.`}
        >
          <TimeChart {...chart} kind="bars" figures={SPEND} axisLabel={axisAmount} axisWidth={72} />
        </ChartPanel>
        <ChartPanel
          {...base}
          title="Tokens"
          figures={TOKENS}
          total={<Legend of={TOKENS} />}
          summary={`${count(totals.prompt_tokens)} prompt tokens, ${count(totals.completion_tokens)} completion tokens.`}
        >
          <TimeChart {...chart} kind="area" figures={TOKENS} isStacked axis={COUNTS} axisLabel={shortCount} />
        </ChartPanel>
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <ChartPanel
          {...base}
          title="Error rate"
          figures={RATE}
          total="Share of chat requests that failed"
          summary={`${share(totals.errors, totals.requests)} in this range.`}
        >
          <TimeChart {...chart} kind="lines" figures={RATE} axis={RATES} axisLabel={axisPercent} />
        </ChartPanel>
        <ChartPanel
          {...base}
          title="Latency"
          figures={LATENCY}
          total={<Legend of={LATENCY} />}
          summary={`Median ${duration(totals.p50_ms)}, 95th percentile ${duration(totals.p95_ms)}.`}
        >
          <TimeChart {...chart} kind="lines" figures={LATENCY} axis={MILLISECONDS} axisLabel={axisDuration} />
        </ChartPanel>
      </SimpleGrid>
    </Stack>
  )
}

const COUNTS = { isWhole: true } as const
const MILLISECONDS = { isWhole: true, least: 10 } as const
// A few errors in many requests stay at the bottom.
const RATES = { least: 0.05 } as const

function writeMs(value: string | number | null | undefined): string {
  return duration(typeof value === 'number' ? value : null)
}
