// The upstream attempts of a request, in order.
import { Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { UsageRow } from '../../api/usage.ts'
import { Panel } from '../../components/panel.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { attemptOutcome } from '../../components/usage/outcomes.ts'
import { duration } from '../../format/numbers.ts'
import { attemptErrors } from './reason.tsx'

const COLUMNS = [
  { name: '#', card: 'none' },
  { name: 'Provider', card: 'title' },
  { name: 'Upstream model', card: 'unnamed' },
  { name: 'Outcome', card: 'unnamed' },
  { name: 'HTTP', isRight: true },
  { name: 'Duration', isRight: true, card: 'value' },
] as const

export function Attempts({ of: row }: { readonly of: UsageRow }): ReactNode {
  const errors = attemptErrors(row)
  return (
    <Panel title="Attempts" flush>
      {row.attempts.length === 0 ? (
        <Text size="sm" c="dimmed" px="md" pb="md">
          {row.provider === null ? 'No provider was called.' : 'No attempts were stored.'}
        </Text>
      ) : (
        <TableFrame label="Attempts" columns={COLUMNS}>
          {row.attempts.map((attempt, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two attempts at one provider differ only in their position.
            <Table.Tr key={index}>
              <Table.Td className="number">{index + 1}</Table.Td>
              <Table.Td>{attempt.provider}</Table.Td>
              <Table.Td className="break">{attempt.model}</Table.Td>
              <Table.Td>
                <StateBadge
                  state={attempt.outcome === 'answered' ? 'answered' : 'upstream_failed'}
                  word={attemptOutcome(attempt.outcome)}
                />
                {errors[index] !== undefined && (
                  <Text size="xs" c="dimmed" mt={4} className="break">
                    {errors[index]}
                  </Text>
                )}
              </Table.Td>
              <Table.Td className="right number">{attempt.status ?? '–'}</Table.Td>
              <Table.Td className="right number">{duration(attempt.ms)}</Table.Td>
            </Table.Tr>
          ))}
        </TableFrame>
      )}
    </Panel>
  )
}
