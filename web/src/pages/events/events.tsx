// The audit log: who changed what, when and from where.
import { Anchor, Group, Table, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconHistory } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { EVENT_FILTERS, type EventFilter, useEvents } from '../../api/events.ts'
import { AccountName } from '../../components/account-name.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { KeyName } from '../../components/key-name.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { SearchInput } from '../../components/search-input.tsx'
import { useParams } from '../../components/search-params.ts'
import { TableFrame } from '../../components/table-frame.tsx'
import { Timestamp } from '../../components/timestamp.tsx'
import { useZone, zoneName } from '../../components/zone.ts'
import { fromInput, toInput } from '../../format/time.ts'

const COLUMNS = [
  { name: 'Time', card: 'value' },
  { name: 'Operator' },
  { name: 'Action', card: 'title' },
  { name: 'Object', card: 'unnamed' },
  { name: 'IP address', card: 'none' },
  { name: 'Details', card: 'unnamed' },
] as const

export default function Events(): ReactNode {
  const [params, setParams] = useParams()
  const filter: EventFilter = Object.fromEntries(EVENT_FILTERS.map(name => [name, params.get(name) ?? '']))
  const isFiltered = Object.values(filter).some(value => value !== '')
  const events = useEvents(filter)
  const rows = events.data?.pages.flatMap(page => page.data) ?? []
  return (
    <Page title="Events" about="Audit log of all changes made by operators, newest first.">
      <Group gap="xs">
        <SearchInput
          value={filter.action ?? ''}
          onSearch={action => setParams({ action })}
          label="Action, such as key.revoke"
        />
        <SearchInput value={filter.actor ?? ''} onSearch={actor => setParams({ actor })} label="Operator" width={160} />
        <SearchInput value={filter.subject ?? ''} onSearch={subject => setParams({ subject })} label="Object ID" />
        <Day label="From" value={filter.from ?? ''} onSet={from => setParams({ from })} />
        <Day label="To" value={filter.to ?? ''} onSet={to => setParams({ to })} />
      </Group>
      {events.error !== null && <ErrorAlert error={events.error} onRetry={() => void events.refetch()} />}
      <Panel flush>
        {rows.length > 0 && (
          <TableFrame label="Events" columns={COLUMNS}>
            {rows.map(event => (
              <Table.Tr key={event.id}>
                <Table.Td>
                  <Timestamp at={event.at} />
                </Table.Td>
                <Table.Td>
                  <span
                    className="one-line"
                    style={{ maxWidth: 160 }}
                    title={event.actor_id === null ? event.actor : `${event.actor} (${event.actor_id})`}
                  >
                    {event.actor}
                  </span>
                </Table.Td>
                <Table.Td className="mono">{event.action}</Table.Td>
                <Table.Td>
                  <Subject id={event.subject} />
                </Table.Td>
                <Table.Td className="mono">{event.address}</Table.Td>
                <Table.Td w={400} maw={400}>
                  <Detail of={event.detail} />
                </Table.Td>
              </Table.Tr>
            ))}
          </TableFrame>
        )}
        {events.isSuccess && rows.length === 0 && (
          <EmptyState icon={IconHistory} title={isFiltered ? 'No matching events' : 'No events yet'}>
            {isFiltered
              ? 'Enter a full action such as key.create, a prefix such as key, or a full object ID.'
              : 'Every change, such as creating a key or adding credits, is recorded here.'}
          </EmptyState>
        )}
        <MoreButton of={events} />
      </Panel>
    </Page>
  )
}

// Keys and accounts by their names.
function Subject({ id }: { readonly id: string }): ReactNode {
  if (id.startsWith('key_')) return <KeyName id={id} hasLabel={false} />
  if (id.startsWith('acct_')) return <AccountName id={id} />
  const look = { className: 'one-line mono', maw: 190, title: id, size: 'sm' }
  if (!id.startsWith('wh_')) return <Text {...look}>{id}</Text>
  return (
    <Anchor component={Link} href={`/webhooks/${id}`} {...look}>
      {id}
    </Anchor>
  )
}

type DayProps = { readonly label: string; readonly value: string; readonly onSet: (at: string) => void }

function Day({ label, value, onSet }: DayProps): ReactNode {
  const zone = useZone()
  return (
    <TextInput
      type="datetime-local"
      w={{ base: '100%', xs: 208 }}
      aria-label={`${label}, ${zoneName(zone)}`}
      title={`${label}, ${zoneName(zone)}`}
      leftSection={<span style={{ fontSize: 11 }}>{label}</span>}
      leftSectionWidth={44}
      value={toInput(value, zone)}
      onChange={({ currentTarget }) => onSet(fromInput(currentTarget.value, zone))}
    />
  )
}

const LINE_CHARS = 120

// Two lines, or all fields on demand.
function Detail({ of: detail }: { readonly of: string | null }): ReactNode {
  const [isOpen, view] = useDisclosure(false)
  const summary = summaryOf(detail)
  return (
    <>
      {isOpen ? (
        <Text size="xs" c="dimmed" className="break mono" style={{ whiteSpace: 'pre-wrap' }}>
          <bdi>{prettyOf(detail)}</bdi>
        </Text>
      ) : (
        <Text size="xs" c="dimmed" lineClamp={2} className="break">
          <bdi>{summary}</bdi>
        </Text>
      )}
      {summary.length > LINE_CHARS && (
        <Anchor component="button" type="button" size="xs" aria-expanded={isOpen} onClick={view.toggle}>
          {isOpen ? 'Less' : 'More'}
        </Anchor>
      )}
    </>
  )
}

function prettyOf(detail: string | null): string {
  try {
    return JSON.stringify(JSON.parse(detail ?? 'null'), null, 2)
  } catch {
    return detail ?? ''
  }
}

// Formats the JSON details as `name: ci, rpm limit: 300`.
function summaryOf(detail: string | null): string {
  if (detail === null) return ''
  try {
    const fields = Object.entries(JSON.parse(detail) as Record<string, unknown>)
    return fields
      .map(([name, value]) => `${spaced(name)}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join(', ')
  } catch {
    return detail
  }
}

function spaced(name: string): string {
  return name.replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`).replaceAll('_', ' ')
}
