// The list of webhooks: endpoints that receive events.
import { Button, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPlus, IconWebhook } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useMayChange } from '../../api/session-context.ts'
import { useWebhooks, type WebhookObject } from '../../api/webhooks.ts'
import { AccountName } from '../../components/account-name.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { useRowLink } from '../../components/row-link.ts'
import { TableFrame } from '../../components/table-frame.tsx'
import { Timestamp } from '../../components/timestamp.tsx'
import { CreateWebhook } from './create-webhook.tsx'
import { hostOf, WebhookState } from './webhook-state.tsx'

const COLUMNS = [
  { name: 'Host' },
  { name: 'Status', card: 'value' },
  { name: 'Events' },
  { name: 'Account' },
  { name: 'Description', card: 'unnamed' },
  { name: 'Created', isRight: true, card: 'none' },
] as const

export default function Webhooks(): ReactNode {
  const mayChange = useMayChange()
  const [isCreating, dialog] = useDisclosure(false)
  const { data, error, isSuccess, refetch } = useWebhooks()
  const rows = data?.data ?? []
  const create = mayChange && (
    <Button leftSection={<IconPlus size={16} />} onClick={dialog.open}>
      Create webhook
    </Button>
  )
  return (
    <Page
      title="Webhooks"
      about="Events about balances, budgets, keys and providers, sent to other systems."
      actions={create}
    >
      {error !== null && <ErrorAlert error={error} onRetry={() => void refetch()} />}
      <Panel flush>
        {rows.length > 0 && (
          <TableFrame label="Webhooks" columns={COLUMNS}>
            {rows.map(webhook => (
              <Row key={webhook.id} of={webhook} />
            ))}
          </TableFrame>
        )}
        {isSuccess && rows.length === 0 && (
          <EmptyState icon={IconWebhook} title="No webhooks yet" action={create}>
            Be told when a balance runs low, a key is revoked or a provider is unavailable, also in Slack.
          </EmptyState>
        )}
      </Panel>
      {isCreating && <CreateWebhook onClose={dialog.close} />}
    </Page>
  )
}

function Row({ of: webhook }: { readonly of: WebhookObject }): ReactNode {
  const rowLink = useRowLink()
  const path = `/webhooks/${webhook.id}`
  const host = hostOf(webhook)
  return (
    <Table.Tr {...rowLink(path)}>
      <Table.Td>
        <Text component={Link} href={path} size="sm" fw={500} c="inherit" className="one-line" maw={280} title={host}>
          {host}
        </Text>
      </Table.Td>
      <Table.Td>
        <WebhookState of={webhook} />
      </Table.Td>
      <Table.Td>
        <span className="one-line mono" style={{ maxWidth: 260 }} title={webhook.events.join(', ')}>
          {webhook.events.includes('*') ? 'all' : webhook.events.join(', ')}
        </span>
      </Table.Td>
      <Table.Td>{webhook.account_id === null ? 'all' : <AccountName id={webhook.account_id} />}</Table.Td>
      <Table.Td>
        <span className="one-line" style={{ maxWidth: 260 }} title={webhook.description}>
          {webhook.description}
        </span>
      </Table.Td>
      <Table.Td className="right">
        <Timestamp at={webhook.created_at} />
      </Table.Td>
    </Table.Tr>
  )
}
