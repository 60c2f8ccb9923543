// The time ranges of the overview: fixed ones that end now, and any other by its two ends.
import { startOfDay, startOfMonth } from '../format/time.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

export type Step = 'minute' | 'hour' | 'day'
// Without an end it ends now.
export type Range = { readonly id: string; readonly from: string; readonly to?: string; readonly step: Step }

export const RANGES = [
  { id: '1h', label: '1 hour' },
  { id: 'today', label: 'Today' },
  { id: '24h', label: '24 hours' },
  { id: '7d', label: '7 days' },
  { id: 'month', label: 'This month' },
  { id: '30d', label: '30 days' },
  { id: '90d', label: '90 days' },
] as const
type RangeId = (typeof RANGES)[number]['id']

const DEFAULT: RangeId = '24h'

// The range that a URL names. Days begin at midnight in that zone.
export function rangeOf(params: URLSearchParams, zone: string, now: number): Range {
  const [from, to] = [Date.parse(params.get('from') ?? ''), Date.parse(params.get('to') ?? '')]
  if (from < to) {
    return { id: 'custom', from: new Date(from).toISOString(), to: new Date(to).toISOString(), step: stepOf(to - from) }
  }
  const id = RANGES.find(each => each.id === params.get('range'))?.id ?? DEFAULT
  const { at, step } = startOf(id, zone, now)
  return { id, from: new Date(at).toISOString(), step }
}

function stepOf(ms: number): Step {
  if (ms <= 3 * HOUR_MS) return 'minute'
  return ms <= 8 * DAY_MS ? 'hour' : 'day'
}

// At the beginning of an hour or day, so that the first bar is complete; the last one is the current hour or day.
function startOf(id: RangeId, zone: string, now: number): { readonly at: number; readonly step: Step } {
  const hour = Math.floor(now / HOUR_MS) * HOUR_MS
  if (id === '1h') return { at: Math.floor(now / MINUTE_MS) * MINUTE_MS - 59 * MINUTE_MS, step: 'minute' }
  if (id === 'today') return { at: startOfDay(now, zone), step: 'hour' }
  if (id === '24h') return { at: hour - 23 * HOUR_MS, step: 'hour' }
  if (id === '7d') return { at: startOfDay(now, zone, -6), step: 'hour' }
  if (id === 'month') return { at: startOfMonth(now, zone), step: 'day' }
  return { at: startOfDay(now, zone, id === '30d' ? -29 : -89), step: 'day' }
}
