// What part of the revenue the margin is, and for how many requests it is unknown.
import type { SummaryObject } from '../../../../src/admin/reports.ts'
import { plus } from '../../format/amounts.ts'
import { chartHeight, isZero } from '../../format/decimals.ts'
import { count, percent } from '../../format/numbers.ts'

// Of what those requests were sold for whose provider cost is known.
export function marginShare(margin: string, upstreamCost: string): string {
  const sold = plus(margin, upstreamCost)
  if (isZero(sold)) return ''
  const part = chartHeight(margin) / chartHeight(sold)
  return `${part < 0 ? '−' : ''}${percent(Math.abs(part))}`
}

// The requests that are not part of the margin.
export function unknownCost(groups: readonly Pick<SummaryObject, 'requests_without_upstream_cost'>[]): string {
  const requests = groups.reduce((all, group) => all + group.requests_without_upstream_cost, 0)
  return requests === 0 ? '' : `cost unknown for ${count(requests)} ${requests === 1 ? 'request' : 'requests'}`
}
