// A chart of the daily spend of a key or an account over the last 30 days.
import { BarChart } from '@mantine/charts'
import { Text } from '@mantine/core'
import { type ReactNode, useMemo } from 'react'
import { type UsageFilter, useSummary } from '../../api/usage.ts'
import { CHART, type Figure, type Point, pointTooltip } from '../../components/chart.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { axisAmount, chartHeight, groupDecimal } from '../../format/decimals.ts'
import { count } from '../../format/numbers.ts'

const DAY_MS = 86_400_000
const DAYS = 30

const FIGURES: readonly Figure[] = [
  { name: 'height', label: 'Credits', color: 'indigo.6', write: point => groupDecimal(String(point.cost)) },
  { name: 'requests', label: 'Requests', color: 'gray.5', write: point => count(Number(point.requests)) },
]

export function SpendByDay({ filter }: { readonly filter: UsageFilter }): ReactNode {
  const today = Math.floor(Date.now() / DAY_MS)
  const from = new Date((today - DAYS + 1) * DAY_MS).toISOString()
  const { data, error } = useSummary('day', { ...filter, from })
  const points = useMemo(() => fill(data?.data ?? [], today), [data, today])
  if (error !== null && data === undefined) return <ErrorAlert error={error} />
  const requests = points.reduce((sum, point) => sum + Number(point.requests), 0)
  if (data !== undefined && requests === 0) {
    return (
      <Text size="sm" c="dimmed" py="md">
        No chat requests in the last 30 days.
      </Text>
    )
  }
  return (
    <div role="img" aria-label={`Credits spent per day; ${count(requests)} requests in 30 days.`}>
      <BarChart
        {...CHART}
        h={160}
        data={points as Point[]}
        series={[{ name: 'height', label: 'Credits', color: 'indigo.6' }]}
        valueFormatter={axisAmount}
        yAxisProps={{ width: 76 }}
        xAxisProps={{ tickFormatter: dayOf, minTickGap: 24 }}
        tooltipProps={{ content: pointTooltip(FIGURES, dayOf) }}
        barProps={{ isAnimationActive: false, radius: [2, 2, 0, 0] }}
      />
    </div>
  )
}

type Day = { readonly group: string; readonly requests: number; readonly cost: string }

// The server returns no rows for days without requests.
function fill(days: readonly Day[], today: number): readonly Point[] {
  const known = new Map(days.map(day => [day.group.slice(0, 10), day]))
  return Array.from({ length: DAYS }, (_, index) => {
    const at = new Date((today - DAYS + 1 + index) * DAY_MS).toISOString().slice(0, 10)
    const { requests = 0, cost = '0' } = known.get(at) ?? {}
    return { at, requests, cost, height: chartHeight(cost) }
  })
}

const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' })

function dayOf(at: string): string {
  return DAY.format(new Date(at))
}
