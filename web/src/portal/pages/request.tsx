// One request of the account in full: why it ended, times, tokens and cost.
import { Alert, SimpleGrid } from '@mantine/core'
import { IconInfoCircle } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Identifier } from '../../components/copy-field.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { BackLink, PendingPage } from '../../components/detail-page.tsx'
import { KeyName } from '../../components/key-name.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { TagList } from '../../components/tags.tsx'
import { Bill } from '../../components/usage/bill.tsx'
import { outcomeFacts } from '../../components/usage/outcome-facts.tsx'
import { Timeline } from '../../components/usage/timeline.tsx'
import { useZone } from '../../components/zone.ts'
import { withTimesIn } from '../../format/time.ts'
import { type PortalUsage, usePortalRequest } from '../data.ts'

export default function Request({ id }: { readonly id: string }): ReactNode {
  const zone = useZone()
  const { data: row, error, refetch } = usePortalRequest(id)
  const back = <BackLink href="/usage">All requests</BackLink>
  if (row === undefined) {
    return <PendingPage title="Request" above={back} error={error} onRetry={() => void refetch()} />
  }
  return (
    <Page title="Request" above={back} about={<Identifier id={row.request_id} label="request ID" />}>
      {row.reason !== null && (
        <Alert color="orange" icon={<IconInfoCircle size={18} />} title={titleOf(row)} className="break">
          {withTimesIn(zone, row.reason)}
        </Alert>
      )}
      <Panel>
        <DescriptionList of={summaryOf(row)} />
      </Panel>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <Timeline of={row} />
        <Bill of={row} />
      </SimpleGrid>
    </Page>
  )
}

function titleOf({ outcome }: PortalUsage): string {
  if (outcome === 'refused') return 'The request was refused'
  return outcome === 'client_left' ? 'The client disconnected' : 'The request failed'
}

function summaryOf(row: PortalUsage): readonly (readonly [string, ReactNode])[] {
  return [
    ...outcomeFacts(row),
    ['Requested model', row.model_requested ?? '–'],
    ['Served model', row.model_served ?? '–'],
    ['Provider', row.provider ?? '–'],
    ['Key', <KeyName key="key" id={row.key_id} last4={row.secret_last4} />],
    ['Endpoint', `${row.endpoint}${row.stream ? ', stream' : ''}`],
    ['Finish reason', row.finish_reason ?? '–'],
    ['Tags', <TagList key="tags" of={row.tags} />],
    ['Client IP', row.client_ip],
    ['Client request ID', row.client_request_id ?? '–'],
  ]
}
