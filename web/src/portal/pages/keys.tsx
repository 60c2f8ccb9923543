// The keys of the account.
import { Button, Group, Select, Table } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconKey, IconPlus } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Credits } from '../../components/credits.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { KeyLink } from '../../components/keys/key-link.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { useRowLink } from '../../components/row-link.ts'
import { useParams } from '../../components/search-params.ts'
import { StateBadge } from '../../components/state-badge.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { Ago } from '../../components/timestamp.tsx'
import { columnPlaces } from '../../format/amounts.ts'
import { count } from '../../format/numbers.ts'
import { CreateKey } from '../create-key.tsx'
import { type PortalKey, useAccount, usePortalKeys } from '../data.ts'
import { useMay } from '../session.ts'

const COLUMNS = [
  { name: 'Name' },
  { name: 'Key', card: 'unnamed' },
  { name: 'Status', card: 'value' },
  { name: 'This month', isRight: true },
  { name: 'Spent', isRight: true },
  { name: 'Credit limit', isRight: true },
  { name: 'Last used', isRight: true },
] as const

export default function Keys(): ReactNode {
  const { data: account } = useAccount()
  const most = account?.portal_key_limits?.max_keys ?? null
  const mayCreate = useMay('keys') && most !== 0
  const [isCreating, dialog] = useDisclosure(false)
  const [params, setParams] = useParams()
  const status = params.get('status') ?? 'active'
  const keys = usePortalKeys(status === 'all' ? {} : { status })
  const rows = keys.data?.pages.flatMap(page => page.data) ?? []
  const create = mayCreate && (
    <Button leftSection={<IconPlus size={16} />} onClick={dialog.open}>
      Create key
    </Button>
  )
  return (
    <Page
      title="Keys"
      about={`Secrets are shown only when they are created. Amounts are in credits.${most === null ? '' : ` At most ${count(most)} active keys.`}`}
      actions={create}
    >
      <Select
        aria-label="Status"
        w={{ base: '100%', xs: 150 }}
        allowDeselect={false}
        data={[
          { value: 'active', label: 'Active' },
          { value: 'stopped', label: 'Limit reached' },
          { value: 'revoked', label: 'Revoked' },
          { value: 'expired', label: 'Expired' },
          { value: 'all', label: 'All keys' },
        ]}
        value={status}
        onChange={next => setParams({ status: next ?? '' })}
      />
      {keys.error !== null && <ErrorAlert error={keys.error} onRetry={() => void keys.refetch()} />}
      <Panel flush>
        {rows.length > 0 && <KeyTable rows={rows} />}
        {keys.isSuccess && rows.length === 0 && (
          <EmptyState icon={IconKey} title={status === 'active' ? 'No keys yet' : 'No keys'} action={create}>
            A key lets your programs use the API.
          </EmptyState>
        )}
        <MoreButton of={keys} />
      </Panel>
      {isCreating && <CreateKey onClose={dialog.close} />}
    </Page>
  )
}

function KeyTable({ rows }: { readonly rows: readonly PortalKey[] }): ReactNode {
  const rowLink = useRowLink()
  const places = {
    month: columnPlaces(rows.map(({ spent_this_month: month }) => month)),
    spent: columnPlaces(rows.map(({ spent }) => spent)),
    limit: columnPlaces(rows.flatMap(({ credit_limit: limit }) => limit ?? [])),
  }
  return (
    <TableFrame label="Keys" columns={COLUMNS}>
      {rows.map(key => (
        <Table.Tr key={key.id} {...rowLink(`/keys/${key.id}`)}>
          <Table.Td>
            <KeyLink of={key} />
          </Table.Td>
          <Table.Td className="mono">{key.label}</Table.Td>
          <Table.Td>
            <Group gap={6} wrap="nowrap">
              <StateBadge state={key.state} />
              {key.previous.length > 0 && key.status === 'active' && (
                <StateBadge state="limited" word={`${key.previous.length} in grace`} />
              )}
            </Group>
          </Table.Td>
          <Table.Td className="right">
            <Credits value={key.spent_this_month} places={places.month} />
          </Table.Td>
          <Table.Td className="right">
            <Credits value={key.spent} places={places.spent} />
          </Table.Td>
          <Table.Td className="right">
            {key.credit_limit === null ? (
              'no limit'
            ) : (
              <Credits value={key.credit_limit} places={places.limit} hasZero />
            )}
          </Table.Td>
          <Table.Td className="right">
            <Ago at={key.last_used_at} />
          </Table.Td>
        </Table.Tr>
      ))}
    </TableFrame>
  )
}
