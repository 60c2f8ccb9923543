// One webhook: its settings, whether it fails, its deliveries, and the actions on it.
import { Alert, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useWebhook, type WebhookObject } from '../../api/webhooks.ts'
import { AccountName } from '../../components/account-name.tsx'
import { Identifier } from '../../components/copy-field.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { BackLink, PendingPage } from '../../components/detail-page.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { Ago, Timestamp } from '../../components/timestamp.tsx'
import { Deliveries } from './deliveries.tsx'
import { WebhookActions } from './webhook-actions.tsx'
import { hostOf, WebhookState } from './webhook-state.tsx'

export default function WebhookDetail({ id }: { readonly id: string }): ReactNode {
  const { data: webhook, error, refetch } = useWebhook(id)
  const back = <BackLink href="/webhooks">All webhooks</BackLink>
  if (webhook === undefined) {
    return <PendingPage title="Webhook" above={back} error={error} onRetry={() => void refetch()} />
  }
  return (
    <Page
      title={hostOf(webhook)}
      above={back}
      about={<WebhookState of={webhook} />}
      actions={<WebhookActions of={webhook} />}
    >
      <Problem of={webhook} />
      <Panel title="Details">
        <DescriptionList of={detailsOf(webhook)} />
      </Panel>
      <Deliveries of={webhook} />
    </Page>
  )
}

function Problem({ of: webhook }: { readonly of: WebhookObject }): ReactNode {
  const {
    enabled,
    disabled_at: disabledAt,
    disabled_reason: reason,
    failing_since: since,
    next_attempt_at: next,
  } = webhook
  if (!enabled) {
    return (
      <Warning title="This webhook is disabled">
        No events are sent, since <Timestamp at={disabledAt} />
        {reason === null ? '' : `: ${reason}`}. Enable it to receive events again.
      </Warning>
    )
  }
  if (since === null) return null
  return (
    <Warning title="Deliveries fail">
      Since <Ago at={since} />
      {next === null ? '' : ', next attempt at '}
      {next !== null && <Timestamp at={next} />}. After three days the webhook is disabled.
    </Warning>
  )
}

function Warning({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode {
  return (
    <Alert color="orange" icon={<IconAlertTriangle size={18} />} title={title}>
      <Text size="sm" component="div">
        {children}
      </Text>
    </Alert>
  )
}

function detailsOf(webhook: WebhookObject): readonly (readonly [string, ReactNode])[] {
  const { previous_secret_expires_at: overlap } = webhook
  return [
    [
      'URL',
      <span key="url" className="mono break">
        {webhook.url}
      </span>,
    ],
    [
      'Events',
      <span key="events" className="mono">
        {webhook.events.includes('*') ? 'all' : webhook.events.join(', ')}
      </span>,
    ],
    ['Account', webhook.account_id === null ? 'all' : <AccountName key="account" id={webhook.account_id} />],
    ['Format', webhook.format],
    ['Description', webhook.description === '' ? 'none' : webhook.description],
    ['Old secret signs until', overlap === null ? 'no old secret' : <Timestamp key="overlap" at={overlap} isShort />],
    ['Created', <Timestamp key="created" at={webhook.created_at} isShort />],
    ['ID', <Identifier key="id" id={webhook.id} label="ID" />],
  ]
}
