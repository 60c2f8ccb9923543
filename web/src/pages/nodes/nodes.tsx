// The list of nodes and whether each one is alive.
import { Badge, Group, Table, Text } from '@mantine/core'
import { IconServer2 } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useNodes } from '../../api/nodes.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { Ago, Timestamp } from '../../components/timestamp.tsx'
import { count } from '../../format/numbers.ts'

const COLUMNS = [
  { name: 'Node' },
  { name: 'Status', card: 'value' },
  { name: 'Running requests', isRight: true },
  { name: 'Version' },
  { name: 'Started', isRight: true },
  { name: 'Last seen', isRight: true },
] as const

export default function Nodes(): ReactNode {
  const { data, error, isSuccess, refetch } = useNodes()
  const nodes = data?.data ?? []
  return (
    <Page title="Nodes" about="Gateway processes that share one database. Each sends a heartbeat every few seconds.">
      {error !== null && <ErrorAlert error={error} onRetry={() => void refetch()} />}
      <Panel flush>
        {nodes.length > 0 && (
          <TableFrame label="Nodes" columns={COLUMNS}>
            {nodes.map(node => (
              <Table.Tr key={node.id}>
                <Table.Td>
                  <Group gap={6} wrap="nowrap">
                    <Text size="sm" fw={500} className="mono">
                      {node.name}
                    </Text>
                    {node.self && (
                      <Badge variant="light" size="sm" tt="none">
                        this node
                      </Badge>
                    )}
                  </Group>
                </Table.Td>
                <Table.Td>
                  <StateBadge state={node.state} />
                </Table.Td>
                <Table.Td className="right number">
                  {node.requests_in_flight === null ? '–' : count(node.requests_in_flight)}
                </Table.Td>
                <Table.Td className="mono">{node.version}</Table.Td>
                <Table.Td className="right">
                  <Timestamp at={node.started_at} />
                </Table.Td>
                <Table.Td className="right">
                  <Ago at={node.renewed_at} />
                </Table.Td>
              </Table.Tr>
            ))}
          </TableFrame>
        )}
        {isSuccess && nodes.length === 0 && (
          <EmptyState icon={IconServer2} title="No nodes yet">
            A node appears a few seconds after it starts.
          </EmptyState>
        )}
      </Panel>
      {nodes.length === 1 && (
        <Text size="sm" c="dimmed">
          This is the only node. To run more, use Postgres as the database (DATABASE_URL) and start more nodes.
        </Text>
      )}
    </Page>
  )
}
