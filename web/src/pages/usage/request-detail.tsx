// One request: summary, timeline, cost, attempts and routing decisions.
import { Loader, SimpleGrid } from '@mantine/core'
import type { ReactNode } from 'react'
import { ApiError } from '../../api/call.ts'
import { type UsageRow, useRequest } from '../../api/usage.ts'
import { AccountName } from '../../components/account-name.tsx'
import { Identifier } from '../../components/copy-field.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { BackLink } from '../../components/detail-page.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { KeyName } from '../../components/key-name.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { TagList } from '../../components/tags.tsx'
import { Bill } from '../../components/usage/bill.tsx'
import { outcomeFacts } from '../../components/usage/outcome-facts.tsx'
import { Timeline } from '../../components/usage/timeline.tsx'
import { Attempts } from './attempts.tsx'
import { Margin } from './margin.tsx'
import { Reason, SoldAtLoss } from './reason.tsx'
import { Routing } from './routing.tsx'

export default function RequestDetail({ id }: { readonly id: string }): ReactNode {
  const { data: row, error, refetch } = useRequest(id)
  const back = <BackLink href="/usage">All requests</BackLink>
  if (row === undefined) {
    const isUnknown = error instanceof ApiError && error.status === 404
    return (
      <Page title="Request" about={<Identifier id={id} label="request ID" />} above={back}>
        {error === null ? (
          <Loader size="sm" aria-label="Loading" />
        ) : (
          <ErrorAlert
            error={error}
            title={isUnknown ? 'Request not found' : 'The request could not be loaded'}
            {...(isUnknown ? { hint: UNKNOWN } : { onRetry: () => void refetch() })}
          />
        )}
      </Page>
    )
  }
  return (
    <Page title="Request" above={back} about={<Identifier id={row.request_id} label="request ID" />}>
      <Reason of={row} />
      <SoldAtLoss of={row} />
      <Panel>
        <DescriptionList of={summaryOf(row)} />
      </Panel>
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
        <Timeline of={row} />
        <Bill of={row}>{row.upstream_cost !== null && <Margin of={row} />}</Bill>
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
        <Attempts of={row} />
        <Routing of={row} />
      </SimpleGrid>
    </Page>
  )
}

const UNKNOWN = 'Requests without a valid key are not recorded, and rows are deleted after the retention period.'

function summaryOf(row: UsageRow): readonly (readonly [string, ReactNode])[] {
  return [
    ...outcomeFacts(row),
    ['Requested model', row.model_requested ?? '–'],
    ['Served model', row.model_served ?? '–'],
    ['Provider', row.provider ?? '–'],
    ['Key', <KeyName key="key" id={row.key_id} last4={row.secret_last4} />],
    ['Account', <AccountName key="account" id={row.account_id} />],
    ['Endpoint', `${row.endpoint}${row.stream ? ', stream' : ''}`],
    ['Finish reason', row.finish_reason ?? '–'],
    ['Record', row.requests > 1 ? `${row.state}, for ${row.requests} requests` : row.state],
    ['Tags', <TagList key="tags" of={row.tags} />],
    ['Client IP', row.client_ip],
    ['Client request ID', row.client_request_id ?? '–'],
    ['Upstream ID', row.upstream_id ?? '–'],
  ]
}
