// A chart of the daily spend of a key or an account over the last 30 days, by UTC day.
import { Text } from '@mantine/core'
import { type ReactNode, useMemo } from 'react'
import { type UsageFilter, useSummary } from '../../api/usage.ts'
import type { Figure } from '../../components/chart.tsx'
import type { Point } from '../../components/chart-point.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { TimeChart } from '../../components/time-chart.tsx'
import { useZone } from '../../components/zone.ts'
import { amount, amountHeight, axisAmount } from '../../format/amounts.ts'
import { shownRate, unitLabel } from '../../format/currency.ts'
import { count } from '../../format/numbers.ts'
import { UTC } from '../../format/time.ts'

const DAY_MS = 86_400_000
const DAYS = 30

const spend = (): Figure => ({
  name: 'height',
  label: unitLabel(),
  color: 'indigo.6',
  write: point => amount(String(point.cost)),
})
const REQUESTS: Figure = {
  name: 'requests',
  label: 'Requests',
  color: 'gray.5',
  write: point => count(Number(point.requests)),
}

export function SpendByDay({ filter }: { readonly filter: UsageFilter }): ReactNode {
  const zone = useZone()
  const today = Math.floor(Date.now() / DAY_MS)
  const from = new Date((today - DAYS + 1) * DAY_MS).toISOString()
  const { data, error } = useSummary('day', { ...filter, from })
  const rate = shownRate()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heights are in the shown unit.
  const points = useMemo(() => fill(data?.data ?? [], today), [data, today, rate])
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
    <div role="img" aria-label={`${unitLabel()} spent per day; ${count(requests)} requests in 30 days.`}>
      <TimeChart
        kind="bars"
        h={160}
        points={points}
        figures={[spend()]}
        more={[REQUESTS]}
        step="day"
        zone={UTC}
        axisLabel={value => axisAmount(value)}
        axisWidth={76}
      />
      {zone !== UTC && (
        <Text size="xs" c="dimmed" ta="right">
          UTC days
        </Text>
      )}
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
    return { at, requests, cost, height: amountHeight(cost) }
  })
}
