// The requests of a range: when, which model, how it ended and why, and what it cost.
import { Anchor, Table, Text } from '@mantine/core'
import { IconListDetails } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Credits } from '../components/credits.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorAlert } from '../components/error-alert.tsx'
import { KeyName } from '../components/key-name.tsx'
import { MoreButton } from '../components/more-button.tsx'
import { Panel } from '../components/panel.tsx'
import { useRowLink } from '../components/row-link.ts'
import { StateBadge } from '../components/state-badge.tsx'
import { TableFrame } from '../components/table-frame.tsx'
import { Timestamp } from '../components/timestamp.tsx'
import { OUTCOMES } from '../components/usage/outcomes.ts'
import { durationMs } from '../components/usage/request-duration.ts'
import { useZone } from '../components/zone.ts'
import { columnPlaces } from '../format/amounts.ts'
import { count, duration } from '../format/numbers.ts'
import { withTimesIn } from '../format/time.ts'
import { type PortalUsage, type UsageFilter, usePortalUsage } from './data.ts'

const COLUMNS = [
  { name: 'Time', card: 'unnamed', width: 150 },
  { name: 'Model', card: 'title', width: '18%' },
  { name: 'Key', card: 'none', width: '14%' },
  { name: 'Outcome', card: 'unnamed' },
  { name: 'Tokens in / out', isRight: true, width: 120 },
  { name: 'Duration', isRight: true, width: 90 },
  { name: 'Cost', isRight: true, card: 'value', width: 100 },
] as const

export function RequestList({ filter }: { readonly filter: UsageFilter }): ReactNode {
  const usage = usePortalUsage(filter)
  const rows = usage.data?.pages.flatMap(page => page.data) ?? []
  const places = columnPlaces(rows.map(({ cost }) => cost))
  return (
    <Panel flush title="Requests">
      {usage.error !== null && <ErrorAlert error={usage.error} onRetry={() => void usage.refetch()} />}
      {rows.length > 0 && (
        <TableFrame label="Requests" columns={COLUMNS} isFixed>
          {rows.map(row => (
            <Row key={row.request_id} of={row} places={places} />
          ))}
        </TableFrame>
      )}
      {usage.isSuccess && rows.length === 0 && (
        <EmptyState icon={IconListDetails} title="No requests in this range">
          Choose a longer range, or{' '}
          <Anchor component={Link} href="/start" inherit>
            send your first request
          </Anchor>
          .
        </EmptyState>
      )}
      <MoreButton of={usage} />
    </Panel>
  )
}

function Row({ of: row, places }: { readonly of: PortalUsage; readonly places: number }): ReactNode {
  const rowLink = useRowLink()
  const zone = useZone()
  const href = `/usage/${row.request_id}`
  return (
    <Table.Tr {...rowLink(href)}>
      <Table.Td>
        <Anchor component={Link} href={href} size="sm">
          <Timestamp at={row.created_at} isShort />
        </Anchor>
      </Table.Td>
      <Table.Td>
        <span className="break">{row.model_served ?? row.model_requested ?? '–'}</span>
      </Table.Td>
      <Table.Td>
        <KeyName id={row.key_id} last4={row.secret_last4} hasLabel={false} />
      </Table.Td>
      <Table.Td>
        <StateBadge state={row.outcome ?? row.state} word={row.outcome === null ? 'running' : OUTCOMES[row.outcome]} />
        {row.reason !== null && (
          <Text size="xs" c="dimmed" mt={2} className="break" component="div" style={{ whiteSpace: 'normal' }}>
            {withTimesIn(zone, row.reason)}
          </Text>
        )}
      </Table.Td>
      <Table.Td className="right number">
        {row.prompt_tokens + row.completion_tokens === 0
          ? '–'
          : `${count(row.prompt_tokens)} / ${count(row.completion_tokens)}`}
      </Table.Td>
      <Table.Td className="right number">{duration(durationMs(row))}</Table.Td>
      <Table.Td className="right">
        <Credits value={row.cost} places={places} />
      </Table.Td>
    </Table.Tr>
  )
}
