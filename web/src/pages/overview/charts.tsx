// The charts of the overview: requests, spend, tokens, errors and latency.
import { AreaChart, BarChart, LineChart } from '@mantine/charts'
import { SimpleGrid, Stack } from '@mantine/core'
import { type ReactNode, useMemo } from 'react'
import type { Overview } from '../../api/overview.ts'
import { CHART, ChartPanel, type Figure, pointTooltip } from '../../components/chart.tsx'
import { axisAmount, groupDecimal } from '../../format/decimals.ts'
import { axisPercent, count, duration, percent, share, shortCount } from '../../format/numbers.ts'
import { seriesOf, timeWriter } from './series.ts'

const REQUESTS: readonly Figure[] = [
  { name: 'served', label: 'Successful', color: 'indigo.5', write: p => count(Number(p.served)) },
  { name: 'errors', label: 'Errors', color: 'red.7', write: p => count(Number(p.errors)) },
]
const SPEND: readonly Figure[] = [
  { name: 'spend', label: 'Credits', color: 'teal.6', write: p => groupDecimal(String(p.cost)) },
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

// Without a dot, a point without neighbours would be invisible.
const DOT = { r: 2, strokeWidth: 1 } as const

export function Charts({ of }: { readonly of: Overview }): ReactNode {
  const points = useMemo(() => seriesOf(of), [of])
  const timeOf = timeWriter(of)
  const { totals } = of
  const shared = (figures: readonly Figure[]) => ({
    ...CHART,
    data: [...points] as Record<string, unknown>[],
    series: figures.map(({ name, label, color }) => ({ name, label, color })),
    xAxisProps: { tickFormatter: timeOf, minTickGap: 28 },
    tooltipProps: { content: pointTooltip(figures, timeOf) },
  })
  const still = { isAnimationActive: false } as const
  const base = { points, timeOf }

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
          <BarChart
            {...shared(REQUESTS)}
            type="stacked"
            valueFormatter={shortCount}
            barProps={still}
            yAxisProps={{ allowDecimals: false, width: 44 }}
          />
        </ChartPanel>
        <ChartPanel
          {...base}
          title="Spend"
          figures={SPEND}
          total="Credits"
          summary={`${groupDecimal(totals.cost)} credits in total.`}
        >
          <BarChart {...shared(SPEND)} valueFormatter={axisAmount} barProps={still} yAxisProps={{ width: 72 }} />
        </ChartPanel>
        <ChartPanel
          {...base}
          title="Tokens"
          figures={TOKENS}
          total={<Legend of={TOKENS} />}
          summary={`${count(totals.prompt_tokens)} prompt tokens, ${count(totals.completion_tokens)} completion tokens.`}
        >
          <AreaChart
            {...shared(TOKENS)}
            type="stacked"
            curveType="linear"
            withDots={false}
            valueFormatter={shortCount}
            areaProps={still}
            yAxisProps={{ width: 48 }}
          />
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
          <LineChart
            {...shared(RATE)}
            curveType="linear"
            dotProps={DOT}
            connectNulls={false}
            valueFormatter={axisPercent}
            lineProps={still}
            yAxisProps={{ width: 60, domain: [0, 'auto'] }}
          />
        </ChartPanel>
        <ChartPanel
          {...base}
          title="Latency"
          figures={LATENCY}
          total={<Legend of={LATENCY} />}
          summary={`Median ${duration(totals.p50_ms)}, 95th percentile ${duration(totals.p95_ms)}.`}
        >
          <LineChart
            {...shared(LATENCY)}
            curveType="linear"
            dotProps={DOT}
            connectNulls={false}
            valueFormatter={value => duration(value)}
            lineProps={still}
            yAxisProps={{ width: 60 }}
          />
        </ChartPanel>
      </SimpleGrid>
    </Stack>
  )
}

function Legend({ of }: { readonly of: readonly Figure[] }): ReactNode {
  return of.map(({ name, label, color }) => (
    <span key={name} style={{ marginRight: 12 }}>
      <span
        aria-hidden
        style={{
          display: 'inline-block',
          width: 8,
          height: 8,
          borderRadius: 8,
          marginRight: 5,
          background: `var(--mantine-color-${color.replace('.', '-')})`,
        }}
      />
      {label}
    </span>
  ))
}

function writeMs(value: string | number | null | undefined): string {
  return duration(typeof value === 'number' ? value : null)
}
