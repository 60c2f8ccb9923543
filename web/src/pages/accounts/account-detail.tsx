// One account: balance, recent spend, ledger, and the actions on it.
import { Anchor, Button, Group, SimpleGrid } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconAdjustments, IconPencil, IconPlus } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { type AccountObject, useAccount } from '../../api/accounts.ts'
import { useMayChange } from '../../api/session-context.ts'
import { BudgetBars } from '../../components/budget-bars.tsx'
import { Identifier } from '../../components/copy-field.tsx'
import { Credits } from '../../components/credits.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { BackLink, PendingPage } from '../../components/detail-page.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { useParams } from '../../components/search-params.ts'
import { StateBadge } from '../../components/state-badge.tsx'
import { Timestamp } from '../../components/timestamp.tsx'
import { isZero } from '../../format/decimals.ts'
import { SpendByDay } from '../usage/spend-by-day.tsx'
import { AddCredits } from './add-credits.tsx'
import { EditAccount } from './edit-account.tsx'
import { Ledger } from './ledger.tsx'

export default function AccountDetail({ id }: { readonly id: string }): ReactNode {
  const { data: account, error, refetch } = useAccount(id)
  const back = <BackLink href="/accounts">All accounts</BackLink>
  if (account === undefined) {
    return <PendingPage title="Account" above={back} error={error} onRetry={() => void refetch()} />
  }
  const { balance } = account
  return (
    <Page
      title={account.name}
      above={back}
      about={<StateBadge state={account.state} />}
      actions={<Actions of={account} />}
    >
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <Panel title="Balance" about="In credits">
          <DescriptionList
            of={[
              ['Available', <Credits key="available" value={balance.available} />],
              ['Held by running requests', <Credits key="held" value={balance.held} />],
              ['Owed', isZero(balance.owed) ? 'none' : <Credits key="owed" value={balance.owed} />],
              [
                'Low balance event below',
                account.low_balance === null ? 'never' : <Credits key="low" value={account.low_balance} />,
              ],
              ['Created', <Timestamp key="created" at={account.created_at} />],
              ['ID', <Identifier key="id" id={account.id} label="ID" />],
            ]}
          />
        </Panel>
        <Panel title="Spending" about="In credits">
          <BudgetBars of={account} />
        </Panel>
      </SimpleGrid>
      <Panel
        title="Last 30 days"
        actions={
          <Group gap="md">
            <Anchor component={Link} href={`/keys?account_id=${account.id}`} size="sm">
              View keys
            </Anchor>
            <Anchor component={Link} href={`/usage?account_id=${account.id}`} size="sm">
              View requests
            </Anchor>
          </Group>
        }
      >
        <SpendByDay filter={{ account_id: account.id }} />
      </Panel>
      <Ledger accountId={account.id} />
    </Page>
  )
}

function Actions({ of: account }: { readonly of: AccountObject }): ReactNode {
  const mayChange = useMayChange()
  const [params, setParams] = useParams()
  const opened = params.get('open')
  const [isEditing, editing] = useDisclosure(opened === 'edit', { onClose: () => setParams({ open: '' }) })
  const [booking, setBooking] = useState<'topup' | 'adjustment' | undefined>(opened === 'credits' ? 'topup' : undefined)
  const closeBooking = () => {
    setBooking(undefined)
    setParams({ open: '' })
  }
  if (!mayChange) return null
  return (
    <>
      <Button leftSection={<IconPlus size={16} />} onClick={() => setBooking('topup')}>
        Add credits
      </Button>
      <Button variant="default" leftSection={<IconAdjustments size={16} />} onClick={() => setBooking('adjustment')}>
        Adjust
      </Button>
      <Button variant="default" leftSection={<IconPencil size={16} />} onClick={editing.open}>
        Edit
      </Button>
      {booking !== undefined && <AddCredits of={account} kind={booking} onClose={closeBooking} />}
      {isEditing && <EditAccount of={account} onClose={editing.close} />}
    </>
  )
}
