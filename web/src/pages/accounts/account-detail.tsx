// One account: balance, spending, contact, keys, last failures, ledger, and the actions on it.
import { Anchor, Button, SimpleGrid, Text } from '@mantine/core'
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
import { unit } from '../../format/currency.ts'
import { isZero } from '../../format/decimals.ts'
import { SpendByDay } from '../usage/spend-by-day.tsx'
import { AccountKeys } from './account-keys.tsx'
import { AddCredits } from './add-credits.tsx'
import { CustomerPortal } from './customer-portal.tsx'
import { EditAccount } from './edit-account.tsx'
import { LastFailures } from './last-failures.tsx'
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
        <Panel title="Balance" about={`In ${unit()}`}>
          <Text fz={28} fw={650} lh={1.2} component="div" mb="sm">
            <Credits value={balance.available} hasZero />{' '}
            <Text span size="sm" c="dimmed" fw={400} ml={6}>
              available
            </Text>
          </Text>
          <DescriptionList
            of={[
              ['Held by running requests', <Credits key="held" value={balance.held} />],
              ['Owed', isZero(balance.owed) ? 'none' : <Credits key="owed" value={balance.owed} />],
              [
                'Low balance event below',
                account.low_balance === null ? 'never' : <Credits key="low" value={account.low_balance} />,
              ],
            ]}
          />
        </Panel>
        <Panel title="Spending" about={`In ${unit()}`}>
          <BudgetBars of={account} />
        </Panel>
        <Panel title="Details">
          <DescriptionList of={detailsOf(account)} />
        </Panel>
        <Panel
          title="Last 30 days"
          actions={
            <Anchor component={Link} href={`/usage?account_id=${account.id}`} size="sm">
              View requests
            </Anchor>
          }
        >
          <SpendByDay filter={{ account_id: account.id }} />
        </Panel>
      </SimpleGrid>
      <AccountKeys accountId={account.id} />
      <CustomerPortal of={account} />
      <LastFailures accountId={account.id} />
      <Ledger accountId={account.id} />
    </Page>
  )
}

function detailsOf(account: AccountObject): readonly (readonly [string, ReactNode])[] {
  const { contact_email: email, external_id: external } = account
  return [
    [
      'Contact e-mail',
      email === null ? (
        'none'
      ) : (
        <Anchor key="email" href={`mailto:${encodeURIComponent(email).replaceAll('%40', '@')}`} size="sm">
          <bdi>{email}</bdi>
        </Anchor>
      ),
    ],
    ['External ID', external === null ? 'none' : <Identifier key="external" id={external} label="external ID" />],
    ['Created', <Timestamp key="created" at={account.created_at} />],
    ['ID', <Identifier key="id" id={account.id} label="ID" />],
  ]
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
