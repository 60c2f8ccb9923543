// The keys of an account, with what each has spent, and the dialog that creates one for it.
import { Anchor, Button, Table } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconKey, IconPlus } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useKeys } from '../../api/keys.ts'
import { useMayChange } from '../../api/session-context.ts'
import { Credits } from '../../components/credits.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { KeyLink } from '../../components/keys/key-link.tsx'
import { Panel } from '../../components/panel.tsx'
import { SpendOfLimit } from '../../components/spend-of-limit.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { Ago } from '../../components/timestamp.tsx'
import { columnPlaces } from '../../format/amounts.ts'
import { CreateKey } from '../keys/create-key.tsx'

const SHOWN_MAX = 10

const COLUMNS = [
  { name: 'Name' },
  { name: 'Key', card: 'unnamed' },
  { name: 'Status', card: 'value' },
  { name: 'This month', isRight: true },
  { name: 'Spent of limit', isRight: true },
  { name: 'Last used', isRight: true },
] as const

export function AccountKeys({ accountId }: { readonly accountId: string }): ReactNode {
  const mayChange = useMayChange()
  const [isCreating, dialog] = useDisclosure(false)
  const keys = useKeys({ account_id: accountId })
  const all = keys.data?.pages.flatMap(page => page.data) ?? []
  const rows = all.slice(0, SHOWN_MAX)
  const places = {
    month: columnPlaces(rows.map(({ spent_this_month: month }) => month)),
    spent: columnPlaces(rows.map(({ spent }) => spent)),
  }
  const create = mayChange && (
    <Button size="xs" leftSection={<IconPlus size={15} />} onClick={dialog.open}>
      Create key
    </Button>
  )
  return (
    <Panel title="Keys" flush actions={rows.length > 0 && create}>
      {keys.error !== null && <ErrorAlert error={keys.error} onRetry={() => void keys.refetch()} />}
      {rows.length > 0 && (
        <TableFrame label="Keys" columns={COLUMNS}>
          {rows.map(key => (
            <Table.Tr key={key.id}>
              <Table.Td>
                <KeyLink of={key} />
              </Table.Td>
              <Table.Td className="mono">{key.label}</Table.Td>
              <Table.Td>
                <StateBadge state={key.state} />
              </Table.Td>
              <Table.Td className="right">
                <Credits value={key.spent_this_month} places={places.month} />
              </Table.Td>
              <Table.Td className="right">
                <SpendOfLimit spent={key.spent} limit={key.credit_limit} places={places.spent} />
              </Table.Td>
              <Table.Td className="right">
                <Ago at={key.last_used_at} />
              </Table.Td>
            </Table.Tr>
          ))}
        </TableFrame>
      )}
      {all.length > rows.length && (
        <Anchor component={Link} href={`/keys?account_id=${accountId}`} size="sm" px="md" py="xs" display="block">
          All keys of this account
        </Anchor>
      )}
      {keys.isSuccess && rows.length === 0 && (
        <EmptyState icon={IconKey} title="No keys yet" action={create}>
          Create the first key of this account. Its requests are paid from this balance.
        </EmptyState>
      )}
      <CreateKey isOpen={isCreating} onClose={dialog.close} accountId={accountId} />
    </Panel>
  )
}
