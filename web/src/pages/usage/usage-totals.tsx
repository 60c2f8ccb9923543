// The totals of the requests that match the filter.
import { SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { type Summary, type UsageFilter, useSummary } from '../../api/usage.ts'
import { Credits } from '../../components/credits.tsx'
import { plus } from '../../format/amounts.ts'
import { unit, unitLabel } from '../../format/currency.ts'
import { count, share } from '../../format/numbers.ts'
import { marginShare, unknownCost } from './margin-share.ts'

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
  const margins = days.flatMap(({ margin, upstream_cost: paid }) =>
    margin === null || paid === null ? [] : [{ margin, paid }],
  )
  const margin = total(margins.map(day => day.margin))
  const [input, output] = [sum(day => day.prompt_tokens), sum(day => day.completion_tokens)]
  return (
    <SimpleGrid component="section" aria-label="Totals" className="panel" cols={{ base: 2, sm: 5 }} px="md" py="sm">
      <Figure name="Requests">{count(requests)}</Figure>
      <Figure name="Errors" note={share(errors, requests)}>
        {count(errors)}
      </Figure>
      <Figure name="Tokens" note={`${count(input)} in, ${count(output)} out`}>
        {count(input + output)}
      </Figure>
      <Figure name={unitLabel()}>
        <Credits value={total(days.map(({ cost }) => cost))} />
      </Figure>
      <Figure name={`Margin (${unit()})`} note={marginNote(margin, total(margins.map(({ paid }) => paid)), days)}>
        {margins.length === 0 ? '–' : <Credits value={margin} />}
      </Figure>
    </SimpleGrid>
  )
}

function total(amounts: readonly string[]): string {
  return amounts.reduce(plus, '0')
}

function marginNote(margin: string, paid: string, days: readonly Summary[]): string {
  return [marginShare(margin, paid), unknownCost(days)].filter(Boolean).join(' · ')
}

type FigureProps = { readonly name: string; readonly note?: string; readonly children: ReactNode }

function Figure({ name, note, children }: FigureProps): ReactNode {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text fw={600} className="number" component="div">
        {children}
      </Text>
      {note !== undefined && (
        <Text size="xs" c="dimmed" className="number">
          {note}
        </Text>
      )}
    </div>
  )
}
