// What was spent of a limit, with a bar; only the amount where there is no limit.
import { Progress, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { chartHeight } from '../format/decimals.ts'
import { Credits } from './credits.tsx'

type Props = { readonly spent: string; readonly limit: string | null; readonly places: number }

export function SpendOfLimit({ spent, limit, places }: Props): ReactNode {
  if (limit === null) return <Credits value={spent} places={places} />
  const whole = chartHeight(limit)
  const percent = whole === 0 ? 100 : Math.min(100, (100 * chartHeight(spent)) / whole)
  return (
    <div style={{ display: 'inline-block', minWidth: 110, verticalAlign: 'top' }}>
      <Text inherit component="div">
        <Credits value={spent} /> of <Credits value={limit} />
      </Text>
      <Progress
        value={percent}
        size={4}
        color={percent >= 100 ? 'red' : percent >= 80 ? 'orange' : 'indigo'}
        aria-label={`${Math.round(percent)} % of the credit limit`}
      />
    </div>
  )
}
