// A summary of the current health of the providers, and of how many requests of the range needed more than one.
import { Anchor, Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { Overview } from '../../api/overview.ts'
import { type HealthObject, useHealthByProvider, useProviders } from '../../api/providers.ts'
import { useNodeView } from '../../components/node-view.ts'
import { Panel } from '../../components/panel.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { HealthBadge, meanFirstByte, RecentFailures } from '../../components/target-health.tsx'
import { count, share } from '../../format/numbers.ts'

const SHOWN_MAX = 20

const COLUMNS = [
  { name: 'Provider' },
  { name: 'Health', card: 'value' },
  { name: 'Last 10 minutes', isRight: true },
  { name: 'Time to first byte', isRight: true },
  { name: 'Running', isRight: true },
] as const

type Props = { readonly of: Pick<Overview['totals'], 'requests' | 'failovers'> }

export function ProviderHealth({ of: { requests, failovers } }: Props): ReactNode {
  const { data: providers = [] } = useProviders()
  const active = providers.filter(({ status }) => status === 'active').slice(0, SHOWN_MAX)
  const healthByProvider = useHealthByProvider(active.map(({ id }) => id))
  const view = useNodeView()
  return (
    <Panel
      flush
      title="Provider health"
      about={
        <>
          {requests > 0 && (
            <div>
              Failover rate {share(failovers, requests)}: {count(failovers)} of {count(requests)} requests needed more
              than one attempt.
            </div>
          )}
          {view}
        </>
      }
      actions={
        <Anchor component={Link} href="/providers" size="sm">
          All providers
        </Anchor>
      }
    >
      {active.length === 0 ? (
        <Text size="sm" c="dimmed" p="md">
          No active providers.
        </Text>
      ) : (
        <TableFrame label="Provider health" columns={COLUMNS}>
          {active.map(({ id }) => (
            <Row key={id} id={id} health={healthByProvider.get(id)} />
          ))}
        </TableFrame>
      )}
    </Panel>
  )
}

function Row({ id, health }: { readonly id: string; readonly health: HealthObject | undefined }): ReactNode {
  const targets = health?.targets ?? []
  const down = targets.filter(({ status }) => status === 'down')
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" className="one-line" maw={180} title={id}>
          {id}
        </Text>
      </Table.Td>
      <Table.Td>
        {health !== undefined && (
          <span title={down.length === 0 ? '' : `${down.length} of ${targets.length} targets down`}>
            <HealthBadge status={health.status} until={down[0]?.open_until ?? null} />
          </span>
        )}
      </Table.Td>
      <Table.Td className="right number">
        <RecentFailures of={targets} />
      </Table.Td>
      <Table.Td className="right number">{meanFirstByte(targets)}</Table.Td>
      <Table.Td className="right number">{count(targets.reduce((sum, target) => sum + target.in_flight, 0))}</Table.Td>
    </Table.Tr>
  )
}
