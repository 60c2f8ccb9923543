// The audit log: who changed what, when and from where.
import { Anchor, Group, Table, Text } from '@mantine/core'
import { IconHistory } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useEvents } from '../../api/events.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { SearchInput } from '../../components/search-input.tsx'
import { useParams } from '../../components/search-params.ts'
import { TableFrame } from '../../components/table-frame.tsx'
import { Timestamp } from '../../components/timestamp.tsx'

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
  const filter = {
    action: params.get('action') ?? '',
    actor: params.get('actor') ?? '',
    subject: params.get('subject') ?? '',
  }
  const isFiltered = Object.values(filter).some(value => value !== '')
  const events = useEvents(filter)
  const rows = events.data?.pages.flatMap(page => page.data) ?? []
  return (
    <Page title="Events" about="Audit log of all changes made by operators, newest first.">
      <Group gap="xs">
        <SearchInput
          value={filter.action}
          onSearch={action => setParams({ action })}
          label="Action, such as key.revoke"
        />
        <SearchInput value={filter.actor} onSearch={actor => setParams({ actor })} label="Operator" width={160} />
        <SearchInput value={filter.subject} onSearch={subject => setParams({ subject })} label="Object ID" />
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
                <Table.Td w={420} maw={420}>
                  <Text size="xs" c="dimmed" lineClamp={2} className="break" title={event.detail ?? undefined}>
                    <bdi>{summaryOf(event.detail)}</bdi>
                  </Text>
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

const PAGES: Readonly<Record<string, string>> = { key_: '/keys', acct_: '/accounts', wh_: '/webhooks' }

function Subject({ id }: { readonly id: string }): ReactNode {
  const page = Object.entries(PAGES).find(([prefix]) => id.startsWith(prefix))?.[1]
  const path = page === undefined ? undefined : `${page}/${id}`
  const look = { className: 'one-line mono', maw: 190, title: id, size: 'sm' }
  if (path === undefined) return <Text {...look}>{id}</Text>
  return (
    <Anchor component={Link} href={path} {...look}>
      {id}
    </Anchor>
  )
}

// Formats the JSON details as `name: ci, rpm limit: 300`; the tooltip has all of them.
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
