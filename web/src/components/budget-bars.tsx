// What a key or account has spent: this month, in its life, and of each budget as a bar.
import { Group, Progress, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { BudgetObject } from '../../../src/domain/budget.ts'
import { Credits } from './credits.tsx'
import { DescriptionList } from './description-list.tsx'
import { Timestamp } from './timestamp.tsx'

// Customers do not see at which shares operators are alerted.
type Budget = Omit<BudgetObject, 'thresholds'>

type Spending = {
  readonly spent: string
  readonly spent_this_month: string
  readonly budgets: readonly Budget[]
}

const WINDOW_LABELS: Readonly<Record<BudgetObject['window'], string>> = {
  hour: 'This hour',
  day: 'Today',
  week: 'This week',
  month: 'This month',
  total: 'In total',
}

export function BudgetBars({ of }: { readonly of: Spending }): ReactNode {
  return (
    <Stack gap="md">
      <DescriptionList
        of={[
          ['Spent this month (UTC)', <Credits key="month" value={of.spent_this_month} />],
          ['Spent in total', <Credits key="total" value={of.spent} />],
        ]}
      />
      {of.budgets.map(budget => (
        <Bar key={`${budget.window} ${budget.action} ${budget.amount}`} of={budget} />
      ))}
      {of.budgets.length === 0 && (
        <Text size="sm" c="dimmed">
          No budgets.
        </Text>
      )}
    </Stack>
  )
}

function Bar({ of: { amount, window, action, spent, held, resets_at } }: { readonly of: Budget }): ReactNode {
  const percent = shareOf(spent, amount)
  const held_percent = Math.min(shareOf(held, amount), 100 - Math.min(percent, 100))
  const label = `${WINDOW_LABELS[window]}: ${Math.round(percent)} % spent`
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs">
        <Text size="sm">
          {WINDOW_LABELS[window]}
          {action === 'alert' && (
            <Text span c="dimmed" size="sm">
              {' '}
              (alert only)
            </Text>
          )}
        </Text>
        <Text size="sm" component="div">
          <Credits value={spent} /> of <Credits value={amount} />
        </Text>
      </Group>
      <Progress.Root size="md">
        <Progress.Section value={Math.min(percent, 100)} color={colourOf(percent)} aria-label={label} />
        <Progress.Section value={held_percent} color="gray" aria-label={`${label}, held by running requests`} />
      </Progress.Root>
      {resets_at !== null && (
        <Text size="xs" c="dimmed" component="div">
          Resets <Timestamp at={resets_at} />
        </Text>
      )}
    </Stack>
  )
}

// For the bar only; the digits are exact.
function shareOf(part: string, whole: string): number {
  const of = Number(whole)
  return of === 0 ? 0 : (Number(part) / of) * 100
}

function colourOf(percent: number): string {
  if (percent >= 100) return 'red'
  return percent >= 80 ? 'orange' : 'blue'
}
