// What the provider charged for a request, and the margin, in the bill that operators see.
import type { ReactNode } from 'react'
import type { UsageRow } from '../../api/usage.ts'
import { Sum } from '../../components/usage/bill.tsx'
import { isLess, minus } from '../../format/amounts.ts'

export function Margin({ of: { cost, upstream_cost: charged } }: { readonly of: UsageRow }): ReactNode {
  if (charged === null) return null
  return (
    <>
      <Sum name="Provider cost" value={charged} />
      <Sum name="Margin" value={minus(cost, charged)} isLoss={isLess(cost, charged)} />
    </>
  )
}
