// The deliveries of a webhook, newest first, each with its body, and a button that sends it again.
import { Button, Code, Modal, Select, Stack, Table, Text } from '@mantine/core'
import { IconSend } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { useMayChange } from '../../api/session-context.ts'
import { type DeliveryObject, useDeliveries, useResendDelivery, type WebhookObject } from '../../api/webhooks.ts'
import { Identifier } from '../../components/copy-field.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { notify, notifyError } from '../../components/notify.tsx'
import { Panel } from '../../components/panel.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { Timestamp } from '../../components/timestamp.tsx'
import { count, duration } from '../../format/numbers.ts'

const COLUMNS = [
  { name: 'Event' },
  { name: 'Status', card: 'value' },
  { name: 'Response', card: 'unnamed' },
  { name: 'Attempts', isRight: true },
  { name: 'Created', isRight: true },
  { name: 'Last attempt', isRight: true },
  { name: 'Actions', isHidden: true, isRight: true },
] as const

export function Deliveries({ of: webhook }: { readonly of: WebhookObject }): ReactNode {
  const [status, setStatus] = useState('')
  const [shown, setShown] = useState<DeliveryObject>()
  const deliveries = useDeliveries(webhook.id, status)
  const rows = deliveries.data?.pages.flatMap(page => page.data) ?? []
  return (
    <Panel
      flush
      title="Deliveries"
      about="Newest first. Kept for 30 days."
      actions={
        <Select
          aria-label="Status"
          placeholder="Any status"
          w={140}
          size="xs"
          clearable
          data={['pending', 'delivered', 'failed', 'canceled']}
          value={status === '' ? null : status}
          onChange={value => setStatus(value ?? '')}
        />
      }
    >
      {deliveries.error !== null && <ErrorAlert error={deliveries.error} onRetry={() => void deliveries.refetch()} />}
      {rows.length > 0 && (
        <TableFrame label="Deliveries" columns={COLUMNS}>
          {rows.map(delivery => (
            <Row key={delivery.id} of={delivery} isEnabled={webhook.enabled} onShow={() => setShown(delivery)} />
          ))}
        </TableFrame>
      )}
      {deliveries.isSuccess && rows.length === 0 && (
        <EmptyState icon={IconSend} title={status === '' ? 'No deliveries yet' : 'No matching deliveries'}>
          {status === '' ? 'Events that happen from now on appear here.' : 'Clear the filter to see all of them.'}
        </EmptyState>
      )}
      <MoreButton of={deliveries} />
      {shown !== undefined && <DeliveryDetail of={shown} onClose={() => setShown(undefined)} />}
    </Panel>
  )
}

type RowProps = { readonly of: DeliveryObject; readonly isEnabled: boolean; readonly onShow: () => void }

function Row({ of: delivery, isEnabled, onShow }: RowProps): ReactNode {
  const mayChange = useMayChange()
  const resend = useResendDelivery(delivery.webhook_id)
  const mayResend = mayChange && isEnabled && delivery.status !== 'pending' && delivery.event !== null
  return (
    <Table.Tr>
      <Table.Td>
        <Button size="compact-sm" variant="subtle" onClick={onShow}>
          <span className="mono">{delivery.type ?? 'deleted'}</span>
        </Button>
      </Table.Td>
      <Table.Td>
        <StateBadge state={delivery.status} />
      </Table.Td>
      <Table.Td>
        <Text size="sm" className="one-line" maw={280} title={delivery.error ?? undefined}>
          {delivery.error ?? (delivery.response_status === null ? '–' : `HTTP ${delivery.response_status}`)}
        </Text>
      </Table.Td>
      <Table.Td className="right number">{count(delivery.attempts)}</Table.Td>
      <Table.Td className="right">
        <Timestamp at={delivery.created_at} isShort />
      </Table.Td>
      <Table.Td className="right">
        <Timestamp at={delivery.last_attempt_at} isShort />
      </Table.Td>
      <Table.Td className="right">
        {mayResend && (
          <Button
            size="compact-sm"
            variant="default"
            loading={resend.isPending}
            aria-label={`Resend ${delivery.id}`}
            onClick={() =>
              resend.mutate(delivery.id, {
                onSuccess: () => notify('The event will be sent again.'),
                onError: notifyError,
              })
            }
          >
            Resend
          </Button>
        )}
      </Table.Td>
    </Table.Tr>
  )
}

function DeliveryDetail({
  of: delivery,
  onClose,
}: {
  readonly of: DeliveryObject
  readonly onClose: () => void
}): ReactNode {
  return (
    <Modal opened onClose={onClose} title="Delivery" size="lg">
      <Stack gap="sm">
        <DescriptionList
          of={[
            ['Status', <StateBadge key="status" state={delivery.status} />],
            ['Attempts', count(delivery.attempts)],
            ['Response', delivery.response_status === null ? 'none' : `HTTP ${delivery.response_status}`],
            ['Error', delivery.error ?? 'none'],
            ['Duration', duration(delivery.duration_ms)],
            ['Created', <Timestamp key="created" at={delivery.created_at} />],
            ['Last attempt', <Timestamp key="attempt" at={delivery.last_attempt_at} />],
            ['webhook-id', <Identifier key="event" id={delivery.event_id} label="webhook-id" />],
          ]}
        />
        <Code block tabIndex={0} className="break" style={{ whiteSpace: 'pre-wrap' }}>
          {delivery.event === null ? 'The event is no longer stored.' : JSON.stringify(delivery.event, null, 2)}
        </Code>
      </Stack>
    </Modal>
  )
}
