// The list of accounts with their balances, and the dialog that creates one.
import { Anchor, Button, Table } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPlus, IconWallet } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { type AccountObject, useAccounts } from '../../api/accounts.ts'
import { useMayChange } from '../../api/session-context.ts'
import { Credits } from '../../components/credits.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { RowCount } from '../../components/row-count.tsx'
import { useRowLink } from '../../components/row-link.ts'
import { SearchInput } from '../../components/search-input.tsx'
import { useParams } from '../../components/search-params.ts'
import { sortable, sortedBy, sortQuery, useSort } from '../../components/sorting.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { Timestamp } from '../../components/timestamp.tsx'
import { columnPlaces } from '../../format/amounts.ts'
import { unit } from '../../format/currency.ts'
import { chartHeight, isZero } from '../../format/decimals.ts'
import { withoutControls } from '../../format/isolated.ts'
import { CreateAccount } from './create-account.tsx'

const COLUMNS = [
  { name: 'Name' },
  { name: 'Status', card: 'unnamed' },
  { name: 'Available', isRight: true, card: 'value' },
  { name: 'Held', isRight: true },
  { name: 'This month', isRight: true },
  { name: 'Spent', isRight: true },
  { name: 'Owed', isRight: true },
  { name: 'Created', isRight: true, card: 'none' },
] as const

const COMPARED = {
  name: (account: AccountObject) => account.name.toLowerCase(),
  status: (account: AccountObject) => account.state,
  available: (account: AccountObject) => chartHeight(account.balance.available),
  held: (account: AccountObject) => chartHeight(account.balance.held),
  'this month': (account: AccountObject) => chartHeight(account.spent_this_month),
  spent: (account: AccountObject) => chartHeight(account.balance.spent),
  owed: (account: AccountObject) => chartHeight(account.balance.owed),
  created: (account: AccountObject) => account.created_at,
}

// By the server.
const SORTED = { name: 'name', available: 'available', spent: 'spent' }

export default function Accounts(): ReactNode {
  const mayChange = useMayChange()
  const [isCreating, dialog] = useDisclosure(false)
  const [params, setParams] = useParams()
  const rowLink = useRowLink()
  const q = params.get('q') ?? ''
  const sorting = useSort('')
  const accounts = useAccounts(q, sortQuery(sorting.sort, SORTED))
  const loaded = accounts.data?.pages.flatMap(page => page.data) ?? []
  // Only what is loaded can be sorted here.
  const rows = accounts.hasNextPage ? loaded : sortedBy(loaded, sorting.sort, COMPARED)
  const places = {
    available: columnPlaces(rows.map(({ balance }) => balance.available)),
    held: columnPlaces(rows.map(({ balance }) => balance.held)),
    month: columnPlaces(rows.map(({ spent_this_month: month }) => month)),
    spent: columnPlaces(rows.map(({ balance }) => balance.spent)),
    owed: columnPlaces(rows.map(({ balance }) => balance.owed)),
  }
  const create = mayChange && (
    <Button leftSection={<IconPlus size={16} />} onClick={dialog.open}>
      Create account
    </Button>
  )
  return (
    <Page title="Accounts" about={`Keys draw credits from accounts. Amounts are in ${unit()}.`} actions={create}>
      <SearchInput value={q} onSearch={text => setParams({ q: text })} label="Name, e-mail or ID" />
      {accounts.error !== null && <ErrorAlert error={accounts.error} onRetry={() => void accounts.refetch()} />}
      <Panel flush>
        {rows.length > 0 && (
          <TableFrame
            label="Accounts"
            columns={sortable(COLUMNS, COMPARED, sorting, accounts.hasNextPage ? SORTED : undefined)}
          >
            {rows.map(({ id, name, state, balance, spent_this_month, created_at }) => (
              <Table.Tr key={id} {...rowLink(`/accounts/${id}`)}>
                <Table.Td>
                  <Anchor
                    component={Link}
                    href={`/accounts/${id}`}
                    size="sm"
                    fw={500}
                    className="one-line"
                    maw={300}
                    title={name}
                  >
                    {withoutControls(name)}
                  </Anchor>
                </Table.Td>
                <Table.Td>
                  <StateBadge state={state} />
                </Table.Td>
                <Table.Td className="right">
                  <Credits value={balance.available} places={places.available} hasZero />
                </Table.Td>
                <Table.Td className="right">
                  <Credits value={balance.held} places={places.held} />
                </Table.Td>
                <Table.Td className="right">
                  <Credits value={spent_this_month} places={places.month} />
                </Table.Td>
                <Table.Td className="right">
                  <Credits value={balance.spent} places={places.spent} />
                </Table.Td>
                <Table.Td className="right" c={isZero(balance.owed) ? undefined : 'var(--mantine-color-error)'}>
                  <Credits value={balance.owed} places={places.owed} />
                </Table.Td>
                <Table.Td className="right">
                  <Timestamp at={created_at} />
                </Table.Td>
              </Table.Tr>
            ))}
          </TableFrame>
        )}
        {accounts.isSuccess && rows.length === 0 && (
          <EmptyState
            icon={IconWallet}
            title={q === '' ? 'No accounts yet' : 'No matching accounts'}
            action={q === '' && create}
          >
            {q === ''
              ? 'Create an account, add credits, and create keys for it.'
              : 'Search by part of the name, e-mail, ID or external ID.'}
          </EmptyState>
        )}
        <RowCount rows={rows.length} noun="account" hasMore={accounts.hasNextPage} isSorted={sorting.sort.by !== ''} />
        <MoreButton of={accounts} />
      </Panel>
      {isCreating && <CreateAccount onClose={dialog.close} />}
    </Page>
  )
}
