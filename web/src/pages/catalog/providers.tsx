// The list of providers: base URL, credentials, and the health of each target.
import { Button, Group, Stack, Table, Text } from '@mantine/core'
import { IconPencil, IconPlugConnected, IconPlus } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { type HealthObject, type ProviderObject, useHealthByProvider, useProviders } from '../../api/providers.ts'
import { useMayChange } from '../../api/session-context.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { useNodeView } from '../../components/node-view.ts'
import { OwnerBadge } from '../../components/owner-badge.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { STATE_LABELS, StateBadge } from '../../components/state-badge.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { useNow } from '../../components/timestamp.tsx'
import { count, countdown, duration, percent } from '../../format/numbers.ts'
import { ProviderDialog } from './provider-dialog.tsx'
import { TARGET_STATES } from './targets.tsx'

const COLUMNS = [
  { name: 'Upstream model' },
  { name: 'Health', card: 'value' },
  { name: 'Success rate', isRight: true },
  { name: 'Time to first byte', isRight: true },
  { name: 'Running', isRight: true },
  { name: 'Requests', isRight: true },
  { name: 'Failures', isRight: true },
] as const

export default function Providers(): ReactNode {
  const mayChange = useMayChange()
  const [open, setOpen] = useState<string>()
  const { data = [], error, isSuccess, refetch } = useProviders()
  const healthByProvider = useHealthByProvider(data.map(({ id }) => id))
  const shown = data.find(({ id }) => id === open)
  const view = useNodeView()
  return (
    <Page
      title="Providers"
      about={`The upstream APIs that requests are routed to, and their current health. ${view ?? ''}`}
      actions={
        mayChange && (
          <Button leftSection={<IconPlus size={16} />} onClick={() => setOpen('')}>
            Add provider
          </Button>
        )
      }
    >
      {error !== null && <ErrorAlert error={error} onRetry={() => void refetch()} />}
      {data.map(provider => (
        <ProviderPanel
          key={provider.id}
          of={provider}
          health={healthByProvider.get(provider.id)}
          onOpen={() => setOpen(provider.id)}
        />
      ))}
      {isSuccess && data.length === 0 && (
        <Panel>
          <EmptyState icon={IconPlugConnected} title="No providers yet">
            Add a provider with its API key, then import its list prices on the Models page.
          </EmptyState>
        </Panel>
      )}
      {open === '' && <ProviderDialog onClose={() => setOpen(undefined)} />}
      {shown !== undefined && <ProviderDialog of={shown} onClose={() => setOpen(undefined)} />}
    </Page>
  )
}

type ProviderPanelProps = {
  readonly of: ProviderObject
  readonly health: HealthObject | undefined
  readonly onOpen: () => void
}

function ProviderPanel({ of: provider, health, onOpen }: ProviderPanelProps): ReactNode {
  const mayEdit = useMayChange() && !provider.provisioned
  const targets = health?.targets ?? []
  return (
    <Panel
      flush
      title={provider.id}
      about={
        <span className="break">
          {provider.kind}
          {provider.base_url === '' ? '' : ` · ${provider.base_url}`}
        </span>
      }
      actions={
        <Group gap={6} wrap="nowrap">
          <StateBadge state={provider.status} />
          <OwnerBadge isFiles={provider.provisioned} />
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconPencil size={14} />}
            onClick={onOpen}
            aria-label={`${mayEdit ? 'Edit' : 'Details of'} ${provider.id}`}
          >
            {mayEdit ? 'Edit' : 'Details'}
          </Button>
        </Group>
      }
    >
      <Stack gap={0}>
        <Group gap="xs" px="md" pb="xs">
          <Text size="xs" c="dimmed">
            Credentials:
          </Text>
          {provider.credentials.length === 0 && <Text size="xs">none</Text>}
          {provider.credentials.map(({ id, last4, state }) => (
            <StateBadge
              key={id}
              state={state}
              word={`${last4 === '' ? id : `…${last4}`} ${STATE_LABELS[state] ?? state}`}
            />
          ))}
        </Group>
        {targets.length === 0 ? (
          <Text size="sm" c="dimmed" px="md" pb="md">
            No active model uses this provider.
          </Text>
        ) : (
          <TableFrame label={`Health of ${provider.id}`} columns={COLUMNS}>
            {targets.map(target => (
              <Table.Tr key={target.model}>
                <Table.Td className="break">{target.model}</Table.Td>
                <Table.Td>
                  <StateBadge state={target.state} word={TARGET_STATES[target.state]} />
                  <Pause until={target.open_until} />
                </Table.Td>
                <Table.Td className="right number">
                  {target.success_rate === null ? '–' : percent(target.success_rate)}
                </Table.Td>
                <Table.Td className="right number">{duration(target.first_byte_ms)}</Table.Td>
                <Table.Td className="right number">{count(target.in_flight)}</Table.Td>
                <Table.Td className="right number">{count(target.requests)}</Table.Td>
                <Table.Td className="right number">{count(target.failures)}</Table.Td>
              </Table.Tr>
            ))}
          </TableFrame>
        )}
      </Stack>
    </Panel>
  )
}

// The time until the circuit breaker allows a probe.
function Pause({ until }: { readonly until: string | null }): ReactNode {
  const now = useNow()
  const left = until === null ? 0 : Date.parse(until) - now
  if (left <= 0) return null
  return (
    <Text span size="xs" c="dimmed" ml={6} className="number">
      retry in {countdown(left)}
    </Text>
  )
}
