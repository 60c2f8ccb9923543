// The time ranges of the usage page. Those that end now stay open, so that new requests appear; days begin in the operator's zone.
import { startOfDay, startOfMonth } from '../../format/time.ts'

export const USAGE_RANGES = {
  all: 'All time',
  '1h': 'Last hour',
  today: 'Today',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  month: 'This month',
  'last-month': 'Last month',
  custom: 'Custom',
} as const
export type UsageRange = keyof typeof USAGE_RANGES

const HOUR_MS = 3_600_000

// From the URL: two times win over a name.
export function usageRange(params: URLSearchParams): UsageRange {
  if (params.has('from') || params.has('to')) return 'custom'
  const name = params.get('range') ?? ''
  return Object.hasOwn(USAGE_RANGES, name) ? (name as UsageRange) : 'all'
}

export function boundsOf(
  range: UsageRange,
  zone: string,
  now: number,
): { readonly from?: string; readonly to?: string } {
  const from = (at: number) => ({ from: new Date(at).toISOString() })
  switch (range) {
    case '1h':
      return from(now - HOUR_MS)
    case '24h':
      return from(now - 24 * HOUR_MS)
    case '7d':
      return from(now - 168 * HOUR_MS)
    case 'today':
      return from(startOfDay(now, zone))
    case 'month':
      return from(startOfMonth(now, zone))
    case 'last-month':
      return { ...from(startOfMonth(now, zone, -1)), to: new Date(startOfMonth(now, zone)).toISOString() }
    default:
      return {}
  }
}
