// The list of providers: base URL, credentials, and the health of each target.
import { Button, Group, Stack, Table, Text } from '@mantine/core'
import { IconEye, IconPencil, IconPlugConnected, IconPlus } from '@tabler/icons-react'
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
import { HealthBadge, RecentFailures } from '../../components/target-health.tsx'
import { count, duration } from '../../format/numbers.ts'
import { credentialLabel } from './credential-label.ts'
import { ProviderDialog } from './provider-dialog.tsx'
import { TargetActions } from './target-actions.tsx'

const COLUMNS = [
  { name: 'Upstream model' },
  { name: 'Health', card: 'value' },
  { name: 'Last 10 minutes', isRight: true },
  { name: 'Time to first byte', isRight: true },
  { name: 'Running', isRight: true },
  { name: 'Actions', isHidden: true },
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
          {provider.status === 'active' && health !== undefined ? (
            <HealthBadge status={health.status} />
          ) : (
            <StateBadge state={provider.status} />
          )}
          <OwnerBadge isFiles={provider.provisioned} />
          <Button
            size="compact-sm"
            variant="default"
            leftSection={mayEdit ? <IconPencil size={14} /> : <IconEye size={14} />}
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
          {provider.credentials.map(credential => (
            <StateBadge
              key={credential.id}
              state={credential.state}
              word={`${credentialLabel(credential)} ${STATE_LABELS[credential.state] ?? credential.state}`}
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
                  <span title={target.disabled_by === null ? '' : `Disabled by ${target.disabled_by}`}>
                    <HealthBadge status={target.status} until={target.open_until} />
                  </span>
                </Table.Td>
                <Table.Td className="right number">
                  <RecentFailures of={[target]} />
                </Table.Td>
                <Table.Td className="right number">{duration(target.recent_first_byte_ms)}</Table.Td>
                <Table.Td className="right number">{count(target.in_flight)}</Table.Td>
                <Table.Td>
                  <TargetActions of={provider} target={target} />
                </Table.Td>
              </Table.Tr>
            ))}
          </TableFrame>
        )}
      </Stack>
    </Panel>
  )
}
