// A summary of the current health of the providers.
import { Anchor, Group, Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { type HealthObject, useHealthByProvider, useProviders } from '../../api/providers.ts'
import { useNodeView } from '../../components/node-view.ts'
import { Panel } from '../../components/panel.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { count, duration, percent } from '../../format/numbers.ts'

const SHOWN_MAX = 20

const COLUMNS = [
  { name: 'Provider' },
  { name: 'Health', card: 'value' },
  { name: 'Success rate', isRight: true },
  { name: 'Time to first byte', isRight: true },
  { name: 'Running', isRight: true },
] as const

export function ProviderHealth(): ReactNode {
  const { data: providers = [] } = useProviders()
  const active = providers.filter(({ status }) => status === 'active').slice(0, SHOWN_MAX)
  const healthByProvider = useHealthByProvider(active.map(({ id }) => id))
  const view = useNodeView()
  return (
    <Panel
      flush
      title="Provider health"
      {...(view === undefined ? {} : { about: view })}
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
  const open = targets.filter(({ state }) => state !== 'closed').length
  const rates = targets.flatMap(({ success_rate }) => (success_rate === null ? [] : [success_rate]))
  const firsts = targets.flatMap(({ first_byte_ms }) => (first_byte_ms === null ? [] : [first_byte_ms]))
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" className="one-line" maw={180} title={id}>
          {id}
        </Text>
      </Table.Td>
      <Table.Td>
        <Group gap={4} wrap="nowrap">
          {open === 0 ? (
            <StateBadge state="ok" word={targets.length === 0 ? 'no data yet' : 'healthy'} />
          ) : (
            <StateBadge state="open" word={`${open} of ${targets.length} targets down`} />
          )}
        </Group>
      </Table.Td>
      <Table.Td className="right number">{rates.length === 0 ? '–' : percent(Math.min(...rates))}</Table.Td>
      <Table.Td className="right number">{firsts.length === 0 ? '–' : duration(Math.min(...firsts))}</Table.Td>
      <Table.Td className="right number">{count(targets.reduce((sum, target) => sum + target.in_flight, 0))}</Table.Td>
    </Table.Tr>
  )
}
