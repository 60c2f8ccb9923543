// The start page of the portal: balance, budgets, what stops requests, and the last 30 days.
import { Alert, Anchor, List, SimpleGrid, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { BudgetBars } from '../../components/budget-bars.tsx'
import { Credits } from '../../components/credits.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { PendingPage } from '../../components/detail-page.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { KeyLink } from '../../components/keys/key-link.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { useZone } from '../../components/zone.ts'
import { isZero } from '../../format/decimals.ts'
import { startOfDay } from '../../format/time.ts'
import { Loading } from '../../shell/resuming.tsx'
import { Charts } from '../charts.tsx'
import { type PortalAccount, useAccount, usePortalKeys, usePortalSummary } from '../data.ts'
import { grainOf } from '../series.ts'
import { useMay, usePortalSession } from '../session.ts'

export default function Overview(): ReactNode {
  const { account: known } = usePortalSession()
  const mayUse = useMay('usage')
  const { data: account, error, refetch } = useAccount()
  if (account === undefined) {
    return <PendingPage title={known.name} above={null} error={error} onRetry={() => void refetch()} />
  }
  return (
    <Page title={account.name} about="Your balance and what you have used.">
      <Stopped of={account} />
      <StoppedKeys />
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
        <Balance of={account} />
        <Panel title="Spending" about="In credits">
          <BudgetBars of={account} />
        </Panel>
      </SimpleGrid>
      {mayUse && <LastDays />}
    </Page>
  )
}

function Balance({ of: { balance } }: { readonly of: PortalAccount }): ReactNode {
  return (
    <Panel title="Balance" about="In credits">
      <Text fz={34} fw={650} lh={1.2} mb="xs" component="div">
        <Credits value={balance.available} />
      </Text>
      <DescriptionList
        of={[
          ['Held by running requests', <Credits key="held" value={balance.held} />],
          ...(isZero(balance.owed) ? [] : [['Overdrawn by', <Credits key="owed" value={balance.owed} />] as const]),
        ]}
      />
    </Panel>
  )
}

const STOPPED: Readonly<Record<string, string>> = {
  out_of_credits: 'There are no credits left. Requests are rejected until credits are added.',
  budget_reached: 'A budget of the account is used up. Requests are rejected until it resets or is raised.',
}

function Stopped({ of: { state } }: { readonly of: PortalAccount }): ReactNode {
  const words = STOPPED[state]
  if (words === undefined) return null
  return (
    <Alert color="red" icon={<IconAlertTriangle size={18} />} title="Requests are rejected" role="status">
      {words}
    </Alert>
  )
}

// A key is stopped by its own limits too, although the account has credits.
function StoppedKeys(): ReactNode {
  const { data } = usePortalKeys({ status: 'stopped' })
  const stopped = data?.pages[0]?.data ?? []
  if (stopped.length === 0) return null
  return (
    <Alert
      color="orange"
      icon={<IconAlertTriangle size={18} />}
      title="Requests of these keys are rejected"
      role="status"
    >
      <List size="sm" spacing={2} listStyleType="none">
        {stopped.slice(0, SHOWN_MAX).map(key => (
          <List.Item key={key.id}>
            <KeyLink of={key} />: {KEY_STOPPED[key.state] ?? key.state}
          </List.Item>
        ))}
      </List>
      {stopped.length > SHOWN_MAX && (
        <Anchor component={Link} href="/keys?status=stopped" size="sm">
          All of them
        </Anchor>
      )}
    </Alert>
  )
}

const SHOWN_MAX = 5
const KEY_STOPPED: Readonly<Record<string, string>> = {
  budget_reached: 'a budget is used up',
  limit_reached: 'a limit is used up',
}

const DAYS = 30

function LastDays(): ReactNode {
  const zone = useZone()
  const now = Date.now()
  const from = startOfDay(now, zone, 1 - DAYS)
  // The end of today, so that it changes once a day.
  const to = startOfDay(now, zone, 1)
  const grain = grainOf(from, to, 'day', zone)
  const { data, error, refetch } = usePortalSummary(grain.groupBy, { from: new Date(from).toISOString() })
  return (
    <>
      <Text component="h2" fw={600} size="md" m={0}>
        Last {DAYS} days{' '}
        <Anchor component={Link} href="/usage?range=30d" size="sm" ml="xs">
          All requests
        </Anchor>
      </Text>
      {error !== null && <ErrorAlert error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Loading />}
      {data !== undefined && <Charts groups={data.data} from={from} to={to} grain={grain} />}
    </>
  )
}
