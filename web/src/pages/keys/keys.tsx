// The list of keys with search and filters.
import { Anchor, Box, Button, Group, Select, Table } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconKey, IconPlus } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { type KeyObject, useKeys } from '../../api/keys.ts'
import { useMayChange } from '../../api/session-context.ts'
import { AccountName, AccountSelect } from '../../components/account-name.tsx'
import { Credits } from '../../components/credits.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { KeyLink } from '../../components/keys/key-link.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { RowCount } from '../../components/row-count.tsx'
import { useRowLink } from '../../components/row-link.ts'
import { SearchInput } from '../../components/search-input.tsx'
import { useParams } from '../../components/search-params.ts'
import { sortable, sortedBy, sortQuery, useSort } from '../../components/sorting.tsx'
import { SpendOfLimit } from '../../components/spend-of-limit.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { Ago } from '../../components/timestamp.tsx'
import { columnPlaces } from '../../format/amounts.ts'
import { unit } from '../../format/currency.ts'
import { chartHeight } from '../../format/decimals.ts'
import { count } from '../../format/numbers.ts'
import { CreateKey } from './create-key.tsx'

const COLUMNS = [
  { name: 'Name' },
  { name: 'Key', card: 'unnamed' },
  { name: 'Status', card: 'value' },
  { name: 'Account', card: 'unnamed' },
  { name: 'This month', isRight: true },
  { name: 'Spent of limit', isRight: true },
  { name: 'Requests/min', isRight: true, card: 'none' },
  { name: 'Last used', isRight: true },
] as const

const COMPARED = {
  name: (key: KeyObject) => key.name.toLowerCase(),
  status: (key: KeyObject) => key.state,
  'this month': (key: KeyObject) => chartHeight(key.spent_this_month),
  'spent of limit': (key: KeyObject) => chartHeight(key.spent),
  'requests/min': (key: KeyObject) => key.rpm_limit,
  'last used': (key: KeyObject) => key.last_used_at ?? '',
}

// By the server.
const SORTED = { name: 'name', 'spent of limit': 'spent', 'last used': 'last_used' }

export default function Keys(): ReactNode {
  const mayChange = useMayChange()
  const [isCreating, dialog] = useDisclosure(false)
  const [params, setParams] = useParams()
  const filter = {
    q: params.get('q') ?? '',
    status: params.get('status') ?? '',
    account_id: params.get('account_id') ?? '',
  }
  const sorting = useSort('')
  const keys = useKeys(filter, sortQuery(sorting.sort, SORTED))
  const loaded = keys.data?.pages.flatMap(page => page.data) ?? []
  // Only what is loaded can be sorted here.
  const rows = keys.hasNextPage ? loaded : sortedBy(loaded, sorting.sort, COMPARED)
  const isFiltered = Object.values(filter).some(value => value !== '')
  const places = {
    month: columnPlaces(rows.map(({ spent_this_month: month }) => month)),
    spent: columnPlaces(rows.map(({ spent }) => spent)),
  }
  const create = mayChange && (
    <Button leftSection={<IconPlus size={16} />} onClick={dialog.open}>
      Create key
    </Button>
  )

  return (
    <Page
      title="Keys"
      about={`API keys that clients send as a bearer token. Secrets are shown only when created. Amounts are in ${unit()}.`}
      actions={create}
    >
      <Group gap="xs">
        <SearchInput value={filter.q} onSearch={q => setParams({ q })} label="Name, ID or last four" />
        <Select
          aria-label="Status"
          placeholder="Any status"
          w={{ base: '100%', xs: 140 }}
          clearable
          data={['active', 'revoked', 'expired', { value: 'stopped', label: 'limit reached' }]}
          value={filter.status === '' ? null : filter.status}
          onChange={status => setParams({ status: status ?? '' })}
        />
        <Box w={{ base: '100%', xs: 220 }}>
          <AccountSelect value={filter.account_id} onChange={id => setParams({ account_id: id })} />
        </Box>
      </Group>
      {keys.error !== null && <ErrorAlert error={keys.error} onRetry={() => void keys.refetch()} />}
      <Panel flush>
        {rows.length > 0 && (
          <TableFrame
            label="Keys"
            columns={sortable(COLUMNS, COMPARED, sorting, keys.hasNextPage ? SORTED : undefined)}
          >
            {rows.map(key => (
              <Row key={key.id} of={key} places={places} />
            ))}
          </TableFrame>
        )}
        {keys.isSuccess && rows.length === 0 && (
          <EmptyState
            icon={IconKey}
            title={isFiltered ? 'No matching keys' : 'No keys yet'}
            action={(!isFiltered || filter.account_id !== '') && create}
          >
            {isFiltered ? (
              <Anchor component={Link} href="/keys" inherit>
                Clear filters
              </Anchor>
            ) : (
              'Create a key and use its secret as the API key of any OpenAI client.'
            )}
          </EmptyState>
        )}
        <RowCount rows={rows.length} noun="key" hasMore={keys.hasNextPage} isSorted={sorting.sort.by !== ''} />
        <MoreButton of={keys} />
      </Panel>
      <CreateKey isOpen={isCreating} onClose={dialog.close} accountId={filter.account_id} />
    </Page>
  )
}

type Places = { readonly month: number; readonly spent: number }

function Row({ of: key, places }: { readonly of: KeyObject; readonly places: Places }): ReactNode {
  const rowLink = useRowLink()
  const isInGrace = key.previous.length > 0 && key.status === 'active'
  return (
    <Table.Tr {...rowLink(`/keys/${key.id}`)}>
      <Table.Td>
        <KeyLink of={key} maw={170} />
      </Table.Td>
      <Table.Td className="mono">{key.label}</Table.Td>
      <Table.Td>
        <Group gap={4}>
          <StateBadge state={key.state} />
          {isInGrace && <StateBadge state="limited" word={`${key.previous.length} in grace`} />}
        </Group>
      </Table.Td>
      <Table.Td>
        <AccountName id={key.account_id} />
      </Table.Td>
      <Table.Td className="right">
        <Credits value={key.spent_this_month} places={places.month} />
      </Table.Td>
      <Table.Td className="right">
        <SpendOfLimit spent={key.spent} limit={key.credit_limit} places={places.spent} />
      </Table.Td>
      <Table.Td className="right number">{count(key.rpm_limit)}</Table.Td>
      <Table.Td className="right">
        <Ago at={key.last_used_at} />
      </Table.Td>
    </Table.Tr>
  )
}
