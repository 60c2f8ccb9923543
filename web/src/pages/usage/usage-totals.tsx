// The totals of the requests that match the filter.
import { SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { type Summary, type UsageFilter, useSummary } from '../../api/usage.ts'
import { Credits } from '../../components/credits.tsx'
import { plus } from '../../format/amounts.ts'
import { count, share } from '../../format/numbers.ts'

export function UsageTotals({ filter }: { readonly filter: UsageFilter }): ReactNode {
  // Of days there are at most a thousand, whatever the number of accounts and models.
  const { data, error } = useSummary('day', filter)
  // Of an error code, in a range with too many requests.
  if (error !== null && filter.error_code !== undefined)
    return (
      <Text size="sm" c="dimmed">
        This range has too many requests for totals by error code. Choose a shorter one, or a cause of failure.
      </Text>
    )
  if (data === undefined) return null
  const days = data.data
  const sum = (of: (day: Summary) => number) => days.reduce((all, day) => all + of(day), 0)
  const requests = sum(day => day.requests)
  const errors = sum(day => day.errors)
  const [input, output] = [sum(day => day.prompt_tokens), sum(day => day.completion_tokens)]
  return (
    <SimpleGrid component="section" aria-label="Totals" className="panel" cols={{ base: 2, sm: 4 }} px="md" py="sm">
      <Figure name="Requests">{count(requests)}</Figure>
      <Figure name="Tokens" note={`${count(input)} in, ${count(output)} out`}>
        {count(input + output)}
      </Figure>
      <Figure name="Credits">
        <Credits value={days.reduce((all, { cost }) => plus(all, cost), '0')} />
      </Figure>
      <Figure name="Errors" note={share(errors, requests)}>
        {count(errors)}
      </Figure>
    </SimpleGrid>
  )
}

type FigureProps = { readonly name: string; readonly note?: string; readonly children: ReactNode }

function Figure({ name, note, children }: FigureProps): ReactNode {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text fw={600} className="number" component="div">
        {children}{' '}
        {note !== undefined && (
          <Text span size="xs" c="dimmed" fw={400}>
            {note}
          </Text>
        )}
      </Text>
    </div>
  )
}
