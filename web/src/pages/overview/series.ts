// Converts the series of an overview to chart points without gaps.
import type { Overview } from '../../api/overview.ts'
import type { Point } from '../../components/chart.tsx'
import { chartHeight } from '../../format/decimals.ts'

const HOUR_MS = 3_600_000
const POINTS_MAX = 1000

export function seriesOf({ series, from, to, step }: Overview): readonly Point[] {
  const stepMs = step === 'hour' ? HOUR_MS : 24 * HOUR_MS
  const known = new Map(series.map(each => [Math.floor(Date.parse(each.at) / stepMs), each]))
  const first = Math.floor(Date.parse(from) / stepMs)
  const last = Math.min(Math.ceil(Date.parse(to) / stepMs), first + POINTS_MAX)
  return Array.from({ length: Math.max(0, last - first) }, (_, index) => {
    const at = new Date((first + index) * stepMs).toISOString()
    const sums = known.get(first + index)
    const requests = sums?.requests ?? 0
    const errors = sums?.errors ?? 0
    return {
      at,
      served: requests - errors,
      errors,
      rate: requests === 0 ? null : errors / requests,
      prompt: sums?.prompt_tokens ?? 0,
      completion: sums?.completion_tokens ?? 0,
      cost: sums?.cost ?? '0',
      spend: chartHeight(sums?.cost ?? '0'),
      p50: sums?.p50_ms ?? null,
      p95: sums?.p95_ms ?? null,
    }
  })
}

const HOUR = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const DAY_HOUR = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  hourCycle: 'h23',
})
// Days are UTC days, as on the server.
const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' })

export function timeWriter({ step, from, to }: Overview): (at: string) => string {
  const isLong = Date.parse(to) - Date.parse(from) > 25 * HOUR_MS
  const format = step === 'day' ? DAY : isLong ? DAY_HOUR : HOUR
  return at => format.format(new Date(at))
}
